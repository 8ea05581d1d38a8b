//! Each way in which a link can end. After the end, no call may be pending.

use std::error::Error;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portway::{CallError, Client, Closed, Context, Diagnostic, Framing, Peer, RpcError, Server, Transport};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::serving::ReportsDrop;
use crate::wire::{TEST_TIMEOUT, frame, transport_with_remote_end, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

#[tokio::test]
async fn the_end_of_the_stream_ends_all_calls_and_later_calls_fail_at_once() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let calls: Vec<_> = (0..100).map(|_| client.call::<()>("wait", &()).start()).collect();
    there.receive().await?;
    drop(there);
    for call in calls {
        assert_eq!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::PeerGone));
    }
    assert_eq!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::End);
    assert_eq!(client.call::<()>("more", &()).await, Err(CallError::PeerGone));
    assert_eq!(client.notify("more", &()), Err(CallError::PeerGone));
    assert_eq!(client.pending(), 0);
    Ok(())
}

#[tokio::test]
async fn an_end_within_a_message_is_distinguished_from_other_ends() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let call = client.call::<()>("wait", &()).start();
    there.receive().await?;
    let cut = frame(r#"{"jsonrpc":"2.0","id":1,"result":1}"#);
    there.send_bytes(cut.get(..40).unwrap_or_default()).await?;
    drop(there);
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::Lost(Closed::Truncated(40))));
    assert_eq!(client.closed().await, Closed::Truncated(40));
    Ok(())
}

#[tokio::test]
async fn a_peer_that_only_stops_reading_is_noticed_at_the_next_write() -> Test {
    let (near, far) = UnixStream::pair()?;
    near.set_nonblocking(true)?;
    let (reader, writer) = tokio::net::UnixStream::from_std(near)?.into_split();
    let client = Client::new(Transport::new(reader, writer, Framing::ContentLength)?);
    let pending_call = client.call::<()>("wait", &()).timeout(None).start();
    far.shutdown(Shutdown::Read)?;
    let next = client.call::<()>("next", &()).timeout(None).start();
    for call in [pending_call, next] {
        let outcome = timeout(TEST_TIMEOUT, call).await?;
        assert!(matches!(outcome, Err(CallError::Lost(Closed::Io(ErrorKind::BrokenPipe, _)))), "{outcome:?}");
    }
    assert_eq!(client.pending(), 0);
    assert!(matches!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::Io(ErrorKind::BrokenPipe, _)));
    // Until this line, the peer has only stopped reading. The socket itself was open.
    drop(far);
    Ok(())
}

#[tokio::test]
async fn destroy_ends_all_calls_and_may_be_called_twice() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let call = client.call::<()>("wait", &()).start();
    there.receive().await?;
    client.destroy();
    client.destroy();
    assert_eq!(call.await, Err(CallError::Destroyed));
    assert_eq!(client.call::<()>("more", &()).await, Err(CallError::Destroyed));
    assert_eq!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::Local);
    assert_eq!(there.rest().await?, "", "the client must close the stream");
    Ok(())
}

#[tokio::test]
async fn messages_sent_before_the_last_client_is_dropped_are_written() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let clone = client.clone();
    client.notify("first", &())?;
    drop(client);
    clone.notify("last", &())?;
    drop(clone);
    assert_eq!(there.receive().await?["method"], "first");
    assert_eq!(there.receive().await?["method"], "last");
    assert_eq!(there.rest().await?, "");
    Ok(())
}

#[tokio::test]
async fn at_the_end_of_the_input_running_requests_are_finished_and_answered() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    server.method("slow", |(): (), _: Context| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, RpcError>("done")
    });
    let running = tokio::spawn(server.run());
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#).await?;
    there.finish().await?;
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "result": "done" }));
    assert_eq!(timeout(TEST_TIMEOUT, running).await??, Closed::End);
    Ok(())
}

#[tokio::test]
async fn a_grace_of_duration_max_is_accepted() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport.with_grace(Duration::MAX));
    server.method("slow", |(): (), _: Context| async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, RpcError>("done")
    });
    let running = tokio::spawn(server.run());
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#).await?;
    there.finish().await?;
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "result": "done" }));
    assert_eq!(timeout(TEST_TIMEOUT, running).await??, Closed::End);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_request_that_exceeds_the_grace_period_is_dropped_without_an_answer() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::new(transport.with_grace(Duration::from_secs(2)));
    server.method("endless", move |(): (), _: Context| {
        let guard = ReportsDrop(sender.clone(), "dropped");
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Ok::<_, RpcError>(())
        }
    });
    let start = tokio::time::Instant::now();
    let running = tokio::spawn(server.run());
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"endless"}"#).await?;
    there.finish().await?;
    assert_eq!(running.await?, Closed::End);
    assert!((2_000..2_100).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    assert_eq!(received.recv().await, Some("dropped"));
    assert_eq!(there.rest().await?, "");
    Ok(())
}

#[tokio::test]
async fn a_stopped_server_stops_reading_and_answers_running_requests() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    let stopper = server.stopper();
    server.method("shutdown", move |(): (), _: Context| {
        let stopper = stopper.clone();
        async move {
            stopper.stop();
            Ok::<_, RpcError>("bye")
        }
    });
    server.method("slow", |(): (), _: Context| async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        Ok::<_, RpcError>("done")
    });
    let running = tokio::spawn(server.run());
    let requests = [
        r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"slow"}"#,
    ];
    let all: Vec<u8> = requests.iter().flat_map(|request| frame(request)).collect();
    there.send_bytes(&all).await?;
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 2, "result": "bye" }));
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "result": "done" }));
    assert_eq!(there.rest().await?, "");
    assert_eq!(timeout(TEST_TIMEOUT, running).await??, Closed::Local);
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_dropped_while_it_runs_ends_its_link_and_drops_its_handlers() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::new(transport);
    let begun_sender = sender.clone();
    server.method("endless", move |(): (), _: Context| {
        let guard = ReportsDrop(sender.clone(), "dropped");
        let _ = begun_sender.send("begun");
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Ok::<_, RpcError>(())
        }
    });
    let running = tokio::spawn(server.run());
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"endless"}"#).await?;
    assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some("begun"));
    running.abort();
    assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some("dropped"));
    assert_eq!(there.rest().await?, "");
    Ok(())
}

#[tokio::test]
async fn the_calls_of_a_dropped_peer_end() -> Test {
    let (here, _there) = transport_with_remote_end()?;
    let peer = Peer::new(here);
    let client = peer.client().clone();
    let call = client.call::<()>("wait", &()).start();
    drop(peer);
    assert_eq!(call.await, Err(CallError::Destroyed));
    Ok(())
}

#[tokio::test]
async fn if_a_handler_destroys_its_own_peer_the_call_ends_with_peer_gone() -> Test {
    let (here, there) = Transport::pair()?;
    let peer = Peer::new(there);
    let client = peer.client().clone();
    peer.method("end", move |(): (), _: Context| {
        client.destroy();
        async { Ok::<_, RpcError>(()) }
    });
    peer.forget();
    let outcome = timeout(TEST_TIMEOUT, Client::new(here).call::<()>("end", &())).await?;
    assert_eq!(outcome, Err(CallError::PeerGone));
    Ok(())
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_abandoned_after_the_grace_period() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(64, Framing::ContentLength)?;
    let client = Client::new(transport.with_grace(Duration::from_millis(50)));
    client.notify("large", &["x".repeat(10_000)])?;
    client.destroy();
    assert_eq!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::Local);
    assert!(there.rest().await?.len() < 10_000);
    Ok(())
}

/// Returns the encoded text of `count` notifications and of the response to the first call.
fn final_messages(framing: Framing, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0..count {
        framing.encode(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":[{number}]}}"), &mut bytes);
    }
    framing.encode("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"the answer\"}", &mut bytes);
    bytes
}

/// Starts a peer whose handler of `note` takes a millisecond. Makes a call, and runs `after_call`, in which the remote
/// end may send its last messages. Expects `count` notifications and the response.
async fn expect_final_messages(transport: Transport, after_call: impl FnOnce() -> Test, count: usize) -> Test {
    let peer = Peer::new(transport);
    let received = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&received);
    let back = peer.client().clone();
    peer.on_notify("note", move |_: Value, _: Context| {
        counted.fetch_add(1, Ordering::Relaxed);
        // This write fails if the remote end has closed the connection. The failure must not end the reading.
        let _ = back.notify("heard", &());
        std::thread::sleep(Duration::from_millis(1));
    });
    let call = peer.client().call::<String>("a", &()).start();
    let running = tokio::spawn(peer.run());
    tokio::time::sleep(Duration::from_millis(20)).await;
    after_call()?;
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok("the answer".to_owned()));
    assert_eq!(received.load(Ordering::Relaxed), count);
    timeout(TEST_TIMEOUT, running).await??;
    Ok(())
}

#[tokio::test]
async fn a_slow_handler_handles_all_messages_before_the_end_of_the_stream() -> Test {
    const COUNT: usize = 800;
    // This remote end sends its messages, and closes its socket before it has read all of its input.
    let (here, mut there) = UnixStream::pair()?;
    here.set_nonblocking(true)?;
    let (reader, writer) = tokio::net::UnixStream::from_std(here)?.into_split();
    let transport = Transport::new(reader, writer, Framing::Newline)?;
    let send_final_messages = move || {
        there.write_all(&final_messages(Framing::Newline, COUNT))?;
        let mut call = [0; 1_000];
        let _ = there.read(&mut call)?;
        Ok(())
    };
    expect_final_messages(transport, send_final_messages, COUNT).await?;

    // This remote end is a process that exits after its messages.
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("words");
    std::fs::write(&file, final_messages(Framing::ContentLength, COUNT))?;
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", "read line; cat \"$0\""]).arg(&file);
    expect_final_messages(Transport::child(&mut command, Framing::ContentLength)?, || Ok(()), COUNT).await
}

#[tokio::test]
async fn a_listener_of_progress_that_panics_does_not_end_its_call() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (report, mut reported) = mpsc::unbounded_channel();
    let client = Client::new(transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Panicked { method, .. } = diagnostic {
            let _ = report.send(method.to_owned());
        }
    }));
    let call = client.call::<u32>("a", &()).on_progress(|value: Value| assert!(value.is_u64(), "not a number")).start();
    there.receive().await?;
    there.send(r#"{"jsonrpc":"2.0","method":"$/progress","params":{"token":1,"value":"x"}}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","id":1,"result":5}"#).await?;
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok(5));
    assert_eq!(reported.recv().await.as_deref(), Some("$/progress"));
    Ok(())
}
