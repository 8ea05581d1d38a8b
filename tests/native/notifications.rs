//! Notifications arrive in order, and are never answered.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Wake, Waker};
use std::time::{Duration, Instant};

use portway::{Client, Context, Diagnostic, Peer, RpcError, Server, Transport};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::wire::{TEST_TIMEOUT, transport_with_remote_end};

type Test = Result<(), Box<dyn Error>>;

#[tokio::test]
async fn notifications_are_handled_in_the_order_in_which_they_arrive() -> Test {
    let (here, there) = Transport::pair()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::new(there);
    let method_sender = sender.clone();
    server.on_notify("line", move |(number,): (u32,), _: Context| {
        let _ = sender.send(number);
    });
    // A notification without a listener of `on_notify` runs the method of the same name. The server does not answer the
    // notification.
    server.method("count", move |(number,): (u32,), _: Context| {
        let method_sender = method_sender.clone();
        async move {
            let _ = method_sender.send(number);
            Ok::<_, RpcError>(())
        }
    });
    server.forget();
    let client = Client::new(here);
    for number in 0..1_000 {
        client.notify("line", &(number,))?;
    }
    client.notify("count", &(1_000,))?;
    for number in 0..=1_000 {
        assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some(number));
    }
    Ok(())
}

#[tokio::test]
async fn a_faulty_notification_is_reported_as_a_diagnostic_and_not_to_the_peer() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::new(transport.on_diagnostic(move |diagnostic| {
        let line = match diagnostic {
            Diagnostic::UnknownNotification { method } => format!("unknown {method}"),
            Diagnostic::InvalidNotification { method, .. } => format!("invalid {method}"),
            _ => return,
        };
        let _ = sender.send(line);
    }));
    server.on_notify("line", |(_,): (u32,), _: Context| {});
    server.method_sync("last", |(): (), _: Context| Ok::<_, RpcError>(()));
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","method":"nothing"}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","method":"line","params":{"a":1}}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"last","params":null}"#).await?;
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "result": null }));
    assert_eq!(received.try_recv().ok().as_deref(), Some("unknown nothing"));
    assert_eq!(received.try_recv().ok().as_deref(), Some("invalid line"));
    Ok(())
}

#[tokio::test]
async fn a_panic_in_the_handler_of_a_notification_is_reported() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::new(transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Panicked { method, message } = diagnostic {
            let _ = sender.send(format!("{method}: {message}"));
        }
    }));
    server.method("count", |(number,): (u32,), _: Context| async move {
        yield_now().await;
        Ok::<_, RpcError>(10 / number)
    });
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","method":"count","params":[0]}"#).await?;
    assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?.as_deref(), Some("count: attempt to divide by zero"));
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"count","params":[2]}"#).await?;
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "result": 5 }));
    Ok(())
}

#[tokio::test]
async fn a_handler_may_send_a_notification_to_the_caller() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    server.method_sync("open", |(): (), context: Context| {
        context.notify("opened", &(context.method(),))?;
        Ok::<_, RpcError>(())
    });
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"open"}"#).await?;
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "method": "opened", "params": ["open"] }));
    assert_eq!(there.receive().await?["id"], 1);
    Ok(())
}

#[tokio::test]
async fn the_end_of_the_link_cancels_the_context_of_a_notification() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::new(transport);
    server.on_notify("watch", move |(): (), context: Context| {
        let sender = sender.clone();
        tokio::spawn(async move {
            let _ = sender.send(context.is_cancelled());
            context.cancelled().await;
            let _ = sender.send(context.is_cancelled());
        });
    });
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","method":"watch"}"#).await?;
    assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some(false));
    drop(there);
    assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some(true));
    Ok(())
}

#[tokio::test]
async fn params_of_a_wrong_type_are_reported_without_a_position_in_the_text() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    server.method_sync("add", |_: (u32, u32), _: Context| Ok::<_, RpcError>(()));
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"add","params":["x",2]}"#).await?;
    let message = "Invalid params: invalid type: string \"x\", expected u32";
    assert_eq!(there.receive().await?["error"]["message"], message);
    Ok(())
}

/// A value that increases a count when it is created, and decreases the count when it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns a server with the method "hang", whose handlers never end. The server stores the number of its running
/// handlers in `count`.
fn hanging_server(transport: Transport, count: &Arc<AtomicUsize>) -> Server {
    let server = Server::new(transport);
    let count = Arc::clone(count);
    server.method("hang", move |_: Value, _: Context| {
        let counted = Counted::new(&count);
        async move {
            let _counted = counted;
            std::future::pending::<()>().await;
            Ok::<_, RpcError>(())
        }
    });
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_end_of_a_link_drops_the_handlers_of_notifications() -> Test {
    for end in ["the peer ends", "the server is dropped", "the server stops"] {
        let (transport, mut there) = transport_with_remote_end()?;
        let running_handlers = Arc::new(AtomicUsize::new(0));
        let server = hanging_server(transport.with_grace(Duration::from_millis(100)), &running_handlers);
        let stopper = server.stopper();
        let serving = tokio::spawn(server.run());
        for _ in 0..100 {
            there.send(r#"{"jsonrpc":"2.0","method":"hang","params":[1]}"#).await?;
        }
        there.send(r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#).await?;
        there.receive().await?;
        assert_eq!(running_handlers.load(Ordering::SeqCst), 100);
        match end {
            "the peer ends" => drop(there),
            "the server is dropped" => serving.abort(),
            _ => stopper.stop(),
        }
        let start = Instant::now();
        while running_handlers.load(Ordering::SeqCst) > 0 {
            assert!(
                start.elapsed() < TEST_TIMEOUT,
                "{end}: {} handlers are still running",
                running_handlers.load(Ordering::SeqCst)
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    Ok(())
}

#[tokio::test]
async fn after_the_end_of_the_input_the_handler_of_a_notification_completes_within_the_grace_period() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::new(transport);
    server.method("save", move |(): (), _: Context| {
        let sender = sender.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let _ = sender.send("saved");
            Ok::<_, RpcError>(())
        }
    });
    there.send(r#"{"jsonrpc":"2.0","method":"save"}"#).await?;
    drop(there);
    let start = Instant::now();
    timeout(TEST_TIMEOUT, server.run()).await?;
    assert_eq!(received.try_recv(), Ok("saved"));
    // The link does not use the whole grace period. It ends once the handler has ended.
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    Ok(())
}

/// A waker that does nothing.
struct NoopWaker;

impl Wake for NoopWaker {
    fn wake(self: Arc<Self>) {}
}

/// Tests `cancelled`, which waits for the end of a request, and `closed`, which waits for the end of a link.
#[tokio::test]
async fn a_dropped_future_removes_its_waker() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let peer = Peer::new(transport.with_grace(Duration::from_millis(100)));
    let client = peer.client().clone();
    let (contexts_sender, mut contexts) = mpsc::unbounded_channel();
    let second_sender = contexts_sender.clone();
    peer.on_notify("note", move |(): (), context: Context| drop(contexts_sender.send(context)));
    peer.method("hang", move |(): (), context: Context| {
        let _ = second_sender.send(context);
        std::future::pending::<Result<(), RpcError>>()
    });
    peer.forget();
    there.send(r#"{"jsonrpc":"2.0","method":"note"}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"hang"}"#).await?;
    let (note, request) = (
        contexts.recv().await.ok_or("a handler must have sent its context")?,
        contexts.recv().await.ok_or("a handler must have sent its context")?,
    );
    for _ in 0..100 {
        // Each round has a new waker, so that the futures cannot reuse a registered waker.
        let task = Arc::new(NoopWaker);
        let weak_task = Arc::downgrade(&task);
        let waker = Waker::from(task);
        let mut context = TaskContext::from_waker(&waker);
        let mut futures: [Pin<Box<dyn Future<Output = ()> + Send>>; 3] = [
            Box::pin(note.cancelled()),
            Box::pin(request.cancelled()),
            Box::pin({
                let client = client.clone();
                async move { drop(client.closed().await) }
            }),
        ];
        for future in &mut futures {
            assert!(future.as_mut().poll(&mut context).is_pending());
            assert!(future.as_mut().poll(&mut context).is_pending());
        }
        assert!(weak_task.strong_count() > 1);
        drop(futures);
        assert_eq!(weak_task.strong_count(), 1, "the dropped futures must release the waker");
    }
    // The end of the link wakes the futures that are not dropped.
    let ends = tokio::spawn(async move { tokio::join!(note.cancelled(), request.cancelled(), client.closed()) });
    tokio::task::yield_now().await;
    drop(there);
    timeout(TEST_TIMEOUT, ends).await??;
    Ok(())
}
