//! Transports of whole messages. Instead of bytes, such a transport has a sink and a stream of texts.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_channel::mpsc::{self, Receiver, Sender};
use futures_util::{SinkExt, StreamExt};
use portway::{CallError, Client, Closed, Context, Framing, Limits, Peer, RpcError, Server, Transport};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::wire::TEST_TIMEOUT;

type Test = Result<(), Box<dyn Error>>;

/// The remote end of a transport. The test uses it to exchange texts with the link.
struct Remote {
    to_link: Sender<String>,
    from_link: Receiver<String>,
}

/// Returns a transport whose sink can buffer `capacity` messages, and its remote end.
fn channel(capacity: usize) -> io::Result<(Transport, Remote)> {
    let (to_link, input) = mpsc::channel(16);
    let (output, from_link) = mpsc::channel(capacity);
    Ok((Transport::messages(output, input.map(Ok::<String, Infallible>))?, Remote { to_link, from_link }))
}

impl Remote {
    async fn send(&mut self, text: impl Into<String>) -> Test {
        Ok(timeout(TEST_TIMEOUT, self.to_link.send(text.into())).await??)
    }

    async fn next(&mut self) -> Result<Option<Value>, Box<dyn Error>> {
        let text = timeout(TEST_TIMEOUT, self.from_link.next()).await?;
        Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
    }
}

fn echo_server(transport: Transport) -> Server {
    let server = Server::new(transport);
    server.method_sync("echo", |value: Value, _: Context| Ok::<_, RpcError>(value));
    server
}

#[tokio::test]
async fn each_message_is_one_text_without_a_frame() -> Test {
    let (transport, mut remote) = channel(4)?;
    echo_server(transport).forget();
    remote.send(r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}"#).await?;
    let text = timeout(TEST_TIMEOUT, remote.from_link.next()).await?.ok_or("the link must not end here")?;
    assert_eq!(text, r#"{"jsonrpc":"2.0","id":1,"result":[1]}"#);
    Ok(())
}

#[tokio::test]
async fn each_text_that_is_not_json_is_answered_and_the_link_stays_open() -> Test {
    let (transport, mut remote) = channel(4)?;
    echo_server(transport).forget();
    for text in ["{", "", "Content-Length: 2\r\n\r\n{}", "WIPC", "{}{}"] {
        remote.send(text).await?;
        let response = remote.next().await?.ok_or("the link must not end here")?;
        assert_eq!(response["error"]["code"], -32700, "{text:?}");
        assert!(response["id"].is_null());
    }
    remote.send(r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}"#).await?;
    assert_eq!(remote.next().await?.ok_or("the link must not end here")?["result"], json!([1]));
    Ok(())
}

#[tokio::test]
async fn a_batch_is_answered_in_one_message_and_a_batch_over_the_limit_is_refused() -> Test {
    let (transport, mut remote) = channel(4)?;
    let mut limits = Limits::DEFAULT;
    limits.batch_items = 300;
    echo_server(transport.with_limits(limits)).forget();
    let batch = |count: u64| {
        let requests: Vec<Value> =
            (0..count).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "echo", "params": [id]})).collect();
        json!(requests).to_string()
    };
    remote.send(batch(300)).await?;
    let responses = remote.next().await?.ok_or("the link must not end here")?;
    assert_eq!(responses.as_array().map(Vec::len), Some(300));
    remote.send(batch(301)).await?;
    assert_eq!(remote.next().await?.ok_or("the link must not end here")?["error"]["data"]["reason"], "batch-too-large");
    Ok(())
}

#[tokio::test]
async fn a_request_over_the_limit_is_refused_and_a_response_over_the_limit_ends_its_call() -> Test {
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = 1_000;
    let (transport, mut remote) = channel(4)?;
    let peer = Peer::new(transport.with_limits(limits));
    let client = peer.client().clone();
    peer.forget();
    let call = tokio::spawn(async move { client.call::<String>("large", &()).await });
    let id = remote.next().await?.ok_or("the link must not end here")?["id"].clone();
    remote.send(json!({"jsonrpc": "2.0", "id": id, "result": "x".repeat(1_000)}).to_string()).await?;
    let outcome = timeout(TEST_TIMEOUT, call).await??;
    assert!(matches!(outcome, Err(CallError::Unreadable(_))), "{outcome:?}");

    let (transport, mut remote) = channel(4)?;
    echo_server(transport.with_limits(limits)).forget();
    remote.send(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":["{}"]}}"#, "x".repeat(1_000))).await?;
    assert_eq!(remote.next().await?.ok_or("the link must not end here")?["error"]["data"]["reason"], "oversize");
    remote.send(r#"{"jsonrpc":"2.0","id":2,"method":"echo","params":[1]}"#).await?;
    assert_eq!(remote.next().await?.ok_or("the link must not end here")?["result"], json!([1]));
    Ok(())
}

#[tokio::test]
async fn the_server_stops_reading_when_its_unwritten_responses_reach_the_limit() -> Test {
    let (transport, mut remote) = channel(0)?;
    let mut limits = Limits::DEFAULT;
    limits.unwritten_bytes = 100_000;
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let server = Server::new(transport.with_limits(limits));
    server.method_sync("large", move |(): (), _: Context| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, RpcError>("x".repeat(1_000))
    });
    server.forget();
    // This loop ends when a message cannot be sent, because the server has stopped reading.
    for id in 0..10_000 {
        let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"large"}}"#);
        if timeout(Duration::from_secs(1), remote.to_link.send(request)).await.is_err() {
            break;
        }
    }
    let started = started.load(Ordering::Relaxed);
    assert!((50..200).contains(&started), "{started} responses of 1 KB wait");
    // Once the peer reads, it receives the responses to all requests that have run.
    for id in 0..started {
        assert_eq!(remote.next().await?.ok_or("the link must not end here")?["id"], id);
    }
    Ok(())
}

#[tokio::test]
async fn notifications_fail_while_the_sink_is_full() -> Test {
    let (transport, mut remote) = channel(0)?;
    let mut limits = Limits::DEFAULT;
    limits.unwritten_bytes = 10_000;
    let client = Client::new(transport.with_limits(limits));
    let sent = (0..1_000).take_while(|number| client.notify("tick", &(number,)).is_ok()).count();
    assert!((20..300).contains(&sent), "{sent} notifications");
    assert_eq!(client.notify("tick", &(0,)), Err(CallError::Congested));
    for number in 0..sent {
        assert_eq!(remote.next().await?.ok_or("the link must not end here")?["params"], json!([number]));
    }
    timeout(TEST_TIMEOUT, client.ready()).await?;
    assert_eq!(client.notify("tick", &(0,)), Ok(()));
    Ok(())
}

#[tokio::test]
async fn the_end_or_an_error_of_the_stream_ends_all_calls() -> Test {
    let (transport, remote) = channel(4)?;
    let client = Client::new(transport);
    let call = client.call::<()>("never", &());
    let call = tokio::spawn(call.into_future());
    drop(remote);
    assert_eq!(timeout(TEST_TIMEOUT, call).await??, Err(CallError::PeerGone));

    let (output, _kept) = mpsc::channel(4);
    let input = futures_util::stream::iter([Err::<String, _>(io::Error::new(io::ErrorKind::BrokenPipe, "torn"))]);
    let client = Client::new(Transport::messages(output, input)?);
    let torn = Closed::Io(io::ErrorKind::BrokenPipe, "torn".into());
    assert_eq!(client.call::<()>("never", &()).await, Err(CallError::Lost(torn.clone())));
    assert_eq!(timeout(TEST_TIMEOUT, client.closed()).await?, torn);
    Ok(())
}

#[tokio::test]
async fn a_stopped_server_finishes_its_requests_and_closes_the_sink() -> Test {
    let (transport, mut remote) = channel(4)?;
    let (release, released) = tokio::sync::oneshot::channel::<()>();
    let released = Arc::new(std::sync::Mutex::new(Some(released)));
    let server = Server::new(transport.with_grace(TEST_TIMEOUT));
    server.method("wait", move |(): (), _: Context| {
        let released = released.lock().ok().and_then(|mut released| released.take());
        async move {
            if let Some(released) = released {
                let _ = released.await;
            }
            Ok::<_, RpcError>("done")
        }
    });
    server.on_notify("ready", |(): (), _: Context| {});
    let stopper = server.stopper();
    let running = tokio::spawn(server.run());
    remote.send(r#"{"jsonrpc":"2.0","id":1,"method":"wait"}"#).await?;
    remote.send(r#"{"jsonrpc":"2.0","id":2,"method":"unknown"}"#).await?;
    assert_eq!(remote.next().await?.ok_or("the link must not end here")?["id"], 2);
    stopper.stop();
    release.send(()).map_err(|()| "the handler has ended")?;
    assert_eq!(remote.next().await?.ok_or("the link must not end here")?["result"], "done");
    assert_eq!(remote.next().await?, None);
    assert_eq!(timeout(TEST_TIMEOUT, running).await??, Closed::Local);
    Ok(())
}

#[tokio::test]
async fn a_transport_of_whole_messages_cannot_send_frames() -> Test {
    let (transport, _remote) = channel(4)?;
    let client = Client::new(transport);
    let refused = client.send_frame(portway::codec::wipc::FrameType::Data, b"x");
    assert_eq!(refused, Err(CallError::NoFrames(None)));
    assert_ne!(refused, Err(CallError::NoFrames(Some(Framing::Newline))));
    Ok(())
}
