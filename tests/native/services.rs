//! Services: several listeners and transports for one service, and the end of a service.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use portway::{CallError, Client, Context, Framing, Listener, RpcError, Service, Transport};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use crate::wire::TEST_TIMEOUT;

type Test = Result<(), Box<dyn Error>>;

/// The state of the handlers of `wait`. These handlers run until the test releases them.
#[derive(Default)]
struct Gate {
    waiting: Notify,
    release: Notify,
    started: AtomicUsize,
}

/// Returns a service with the methods `add` and `wait`.
fn service(gate: &Arc<Gate>) -> Service {
    let gate = Arc::clone(gate);
    Service::new(move |peer| {
        peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
        let gate = Arc::clone(&gate);
        peer.method("wait", move |(): (), _: Context| {
            let gate = Arc::clone(&gate);
            async move {
                let released = gate.release.notified();
                gate.started.fetch_add(1, Ordering::Relaxed);
                gate.waiting.notify_one();
                released.await;
                Ok::<_, RpcError>("finished")
            }
        });
    })
}

#[tokio::test]
async fn a_stopped_service_finishes_the_running_requests_of_all_its_transports() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("service.sock");
    let tcp =
        Listener::tcp("127.0.0.1:0", Framing::Newline).await?.with(|transport| transport.with_grace(TEST_TIMEOUT));
    let unix =
        Listener::unix(&path, Framing::ContentLength).await?.with(|transport| transport.with_grace(TEST_TIMEOUT));
    let address = tcp.address().ok_or("the listener must have an address")?;
    let (near, far) = Transport::pair()?;
    let gate = Arc::new(Gate::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let service = service(&gate).listen(tcp).listen(unix).connect(far.with_grace(TEST_TIMEOUT));
    let serving = tokio::spawn(service.serve_until(async {
        let _ = stopped.await;
    }));
    let clients = [
        Client::new(Transport::tcp(address, Framing::Newline).await?),
        Client::new(Transport::unix(&path, Framing::ContentLength).await?),
        Client::new(near),
    ];
    let mut waiting = Vec::new();
    for client in &clients {
        assert_eq!(client.call::<i64>("add", &(1, 2)).await, Ok(3));
        waiting.push(tokio::spawn(client.call::<String>("wait", &()).timeout(TEST_TIMEOUT).into_future()));
    }
    timeout(TEST_TIMEOUT, async {
        while gate.started.load(Ordering::Relaxed) < clients.len() {
            gate.waiting.notified().await;
        }
    })
    .await?;
    stop.send(()).map_err(|()| "the service has ended")?;
    // The service must close its listeners.
    timeout(TEST_TIMEOUT, async {
        while Transport::tcp(address, Framing::Newline).await.is_ok() || path.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await?;
    assert!(!serving.is_finished(), "the service must wait for its running requests");
    gate.release.notify_waiters();
    for call in waiting {
        assert_eq!(timeout(TEST_TIMEOUT, call).await??, Ok("finished".to_owned()));
    }
    timeout(TEST_TIMEOUT, serving).await???;
    for client in &clients {
        assert_eq!(client.call::<i64>("add", &(1, 2)).await, Err(CallError::PeerGone));
    }
    Ok(())
}

#[tokio::test]
async fn a_request_that_exceeds_the_grace_of_a_stopped_service_is_dropped() -> Test {
    let gate = Arc::new(Gate::default());
    let (near, far) = Transport::pair()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let service = service(&gate).connect(far.with_grace(Duration::from_millis(300)));
    let serving = tokio::spawn(service.serve_until(async {
        let _ = stopped.await;
    }));
    let client = Client::new(near);
    let call = tokio::spawn(client.call::<String>("wait", &()).timeout(TEST_TIMEOUT).into_future());
    timeout(TEST_TIMEOUT, gate.waiting.notified()).await?;
    let start = Instant::now();
    stop.send(()).map_err(|()| "the service has ended")?;
    timeout(TEST_TIMEOUT, serving).await???;
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
    assert_eq!(timeout(TEST_TIMEOUT, call).await??, Err(CallError::PeerGone));
    Ok(())
}

#[tokio::test]
async fn without_listeners_a_service_ends_with_its_last_link() -> Test {
    let gate = Arc::new(Gate::default());
    let (near, far) = Transport::pair()?;
    let (other_near, other_far) = Transport::pair()?;
    let serving = tokio::spawn(service(&gate).connect(far).connect(other_far).serve_until(std::future::pending()));
    let (first, second) = (Client::new(near), Client::new(other_near));
    assert_eq!(first.call::<i64>("add", &(1, 2)).await, Ok(3));
    drop(first);
    assert_eq!(second.call::<i64>("add", &(1, 2)).await, Ok(3));
    assert!(!serving.is_finished());
    drop(second);
    timeout(TEST_TIMEOUT, serving).await???;
    Ok(())
}

/// The tests of the commands `portway serve` and `kaiak serve` cover a write that fails for another reason.
#[tokio::test]
async fn without_listeners_a_peer_that_reads_no_more_is_not_an_error_of_the_service() -> Test {
    let (_, closed) = std::io::pipe()?;
    let closed = tokio::net::unix::pipe::Sender::from_owned_fd(closed.into())?;
    let (mut input, reader) = tokio::io::duplex(1024);
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":[1,2]}\n").await?;
    let service = service(&Arc::default()).connect(Transport::new(reader, closed, Framing::Newline)?);
    timeout(TEST_TIMEOUT, service.serve_until(std::future::pending())).await??;
    Ok(())
}

#[tokio::test]
async fn dropping_the_future_of_a_service_closes_its_links() -> Test {
    let gate = Arc::new(Gate::default());
    let listener = Listener::tcp("127.0.0.1:0", Framing::Newline).await?;
    let address = listener.address().ok_or("the listener must have an address")?;
    let serving = tokio::spawn(service(&gate).listen(listener).serve_until(std::future::pending()));
    let client = Client::new(Transport::tcp(address, Framing::Newline).await?);
    assert_eq!(client.call::<i64>("add", &(1, 2)).await, Ok(3));
    let call = tokio::spawn(client.call::<String>("wait", &()).timeout(TEST_TIMEOUT).into_future());
    timeout(TEST_TIMEOUT, gate.waiting.notified()).await?;
    serving.abort();
    let outcome = timeout(TEST_TIMEOUT, call).await??;
    assert!(matches!(outcome, Err(CallError::PeerGone | CallError::Lost(_))), "{outcome:?}");
    Ok(())
}

#[tokio::test]
async fn a_panic_in_the_set_up_of_a_connection_ends_only_this_connection() -> Test {
    let count = Arc::new(AtomicUsize::new(0));
    let service = Service::new(move |peer| {
        assert!(count.fetch_add(1, Ordering::Relaxed) > 0, "a panic on purpose");
        peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
    });
    let listener = Listener::tcp("127.0.0.1:0", Framing::Newline).await?;
    let address = listener.address().ok_or("the listener must have an address")?;
    let serving = tokio::spawn(service.listen(listener).serve_until(std::future::pending()));
    let client = Client::new(Transport::tcp(address, Framing::Newline).await?);
    assert!(timeout(TEST_TIMEOUT, client.call::<i64>("add", &(1, 2))).await?.is_err());
    let client = Client::new(Transport::tcp(address, Framing::Newline).await?);
    assert_eq!(client.call::<i64>("add", &(1, 2)).await, Ok(3));
    serving.abort();
    Ok(())
}
