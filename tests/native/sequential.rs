//! Links whose profile runs one request at a time. The tests cover streams, and links that end while requests run or
//! wait.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use portway::profile::Profile;
use portway::{Closed, Context, Diagnostic, Framing, Limits, Peer, RpcError, Server, Transport};
use serde_json::json;
use tokio::io::{AsyncWrite, DuplexStream, WriteHalf};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot;
use tokio::task::{block_in_place, yield_now};
use tokio::time::{Instant, sleep, timeout};

use crate::serving::ReportsDrop;
use crate::wire::{RemoteEnd, TEST_TIMEOUT, frame, transport_with_remote_end};

type Test = Result<(), Box<dyn Error>>;

/// Returns requests with the ids 1 to `count`, as one sequence of bytes.
fn requests(count: u64) -> Vec<u8> {
    let request = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "work", "params": [id] }).to_string();
    (1..=count).flat_map(|id| frame(&request(id))).collect()
}

/// Checks that the answers to [`requests`] arrive in order, and that no further message arrives until the link ends.
async fn assert_answered_in_order(there: &mut RemoteEnd, count: u64) -> Test {
    for id in 1..=count {
        assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": id, "result": id }));
    }
    assert_eq!(there.rest().await?, "");
    Ok(())
}

#[tokio::test]
async fn a_stopped_server_answers_the_running_request_and_starts_no_queued_request() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (start_sender, mut starts) = unbounded_channel();
    let (open, gate) = oneshot::channel::<()>();
    let gate = std::sync::Mutex::new(Some(gate));
    let server = Server::new(transport.with_profile(Profile::DAEMON));
    let stopper = server.stopper();
    server.method("work", move |(number,): (u64,), _: Context| {
        let _ = start_sender.send(number);
        let gate = gate.lock().ok().and_then(|mut gate| gate.take());
        async move {
            if let Some(gate) = gate {
                let _ = gate.await;
            }
            Ok::<_, RpcError>(number)
        }
    });
    let running = tokio::spawn(server.run());
    there.send_bytes(&requests(5)).await?;
    assert_eq!(timeout(TEST_TIMEOUT, starts.recv()).await?, Some(1));
    stopper.stop();
    // A request that arrives after the stop does not start either.
    there.send_bytes(&requests(1)).await?;
    yield_now().await;
    assert!(open.send(()).is_ok());
    assert_answered_in_order(&mut there, 1).await?;
    assert_eq!(timeout(TEST_TIMEOUT, running).await??, Closed::Local);
    assert_eq!(starts.recv().await, None, "no request may start after the stop");
    Ok(())
}

#[tokio::test]
async fn after_a_handler_has_stopped_its_server_no_other_request_runs() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (start_sender, mut starts) = unbounded_channel();
    let server = Server::new(transport.with_profile(Profile::DAEMON));
    let stopper = server.stopper();
    server.method("work", move |(number,): (u64,), _: Context| {
        let _ = start_sender.send(number);
        let stopper = stopper.clone();
        async move {
            yield_now().await;
            if number == 3 {
                stopper.stop();
            }
            Ok::<_, RpcError>(number)
        }
    });
    let running = tokio::spawn(server.run());
    there.send_bytes(&requests(10)).await?;
    assert_answered_in_order(&mut there, 3).await?;
    assert_eq!(timeout(TEST_TIMEOUT, running).await??, Closed::Local);
    for number in 1..=3 {
        assert_eq!(starts.recv().await, Some(number));
    }
    assert_eq!(starts.recv().await, None, "no request may start after the stop");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_request_that_exceeds_the_grace_period_after_a_stop_is_dropped_without_an_answer() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = unbounded_channel();
    let server = Server::new(transport.with_profile(Profile::DAEMON).with_grace(Duration::from_secs(2)));
    let stopper = server.stopper();
    server.method("work", move |_: (u64,), _: Context| {
        let _ = sender.send("started");
        let guard = ReportsDrop(sender.clone(), "dropped");
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Ok::<_, RpcError>(())
        }
    });
    let running = tokio::spawn(server.run());
    there.send_bytes(&requests(3)).await?;
    assert_eq!(received.recv().await, Some("started"));
    let start = Instant::now();
    stopper.stop();
    assert_eq!(running.await?, Closed::Local);
    assert!((2_000..2_100).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    assert_eq!(received.recv().await, Some("dropped"));
    assert_eq!(received.recv().await, None, "the next request must not start");
    assert_eq!(there.rest().await?, "");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn after_the_end_of_the_input_all_waiting_requests_share_one_grace_period() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport.with_profile(Profile::DAEMON).with_grace(Duration::from_secs(2)));
    server.method("work", |(number,): (u64,), _: Context| async move {
        tokio::time::sleep(Duration::from_millis(450)).await;
        Ok::<_, RpcError>(number)
    });
    let start = Instant::now();
    let running = tokio::spawn(server.run());
    there.send_bytes(&requests(10)).await?;
    there.finish().await?;
    // In 2 seconds, four requests of 450 ms end. The other six are dropped without an answer.
    assert_answered_in_order(&mut there, 4).await?;
    assert_eq!(running.await?, Closed::End);
    assert!((2_000..2_100).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_end_of_the_input_all_waiting_requests_are_answered_in_order() -> Test {
    for round in 0..200 {
        let (transport, mut there) = transport_with_remote_end()?;
        let server = Server::new(transport.with_profile(Profile::DAEMON));
        server.method("work", move |(number,): (u64,), _: Context| async move {
            match (number + round) % 4 {
                0 => tokio::time::sleep(Duration::from_micros(50)).await,
                1 => drop(tokio::spawn(yield_now()).await),
                2 => yield_now().await,
                _ => {}
            }
            Ok::<_, RpcError>(number)
        });
        let running = tokio::spawn(server.run());
        there.send_bytes(&requests(30)).await?;
        there.finish().await?;
        assert_answered_in_order(&mut there, 30).await?;
        assert_eq!(timeout(TEST_TIMEOUT, running).await??, Closed::End);
    }
    Ok(())
}

/// An output whose first write blocks until the server has answered two requests. The channel `answered` receives a
/// message for each answer.
struct SlowOutput {
    output: WriteHalf<DuplexStream>,
    answered: mpsc::Receiver<()>,
    has_waited: bool,
}

impl AsyncWrite for SlowOutput {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !std::mem::replace(&mut self.has_waited, true) {
            let answered = block_in_place(|| (0..2).all(|_| self.answered.recv_timeout(TEST_TIMEOUT).is_ok()));
            assert!(answered, "the second request must run while the first answer is written");
        }
        Pin::new(&mut self.output).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_shutdown(context)
    }
}

/// After the write of the first answer, no request runs for a moment: the third request has not started yet. The link
/// must not take this moment for the end of its work.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_answered_during_the_write_of_an_earlier_answer_does_not_end_the_link() -> Test {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let mut there = RemoteEnd::new(far);
    let (input, output) = tokio::io::split(near);
    let (sender, answered) = mpsc::channel();
    let transport = Transport::new(input, SlowOutput { output, answered, has_waited: false }, Framing::ContentLength)?;
    let server = Server::new(transport.with_profile(Profile::DAEMON).on_diagnostic(move |diagnostic| {
        if let Diagnostic::Answered { .. } = diagnostic {
            // The receiver is dropped with the output.
            let _ = sender.send(());
        }
    }));
    server.method("work", |(number,): (u64,), _: Context| async move {
        // The first request runs until the server has read the end of the input.
        tokio::time::sleep(Duration::from_millis(if number == 1 { 100 } else { 1 })).await;
        Ok::<_, RpcError>(number)
    });
    let running = tokio::spawn(server.run());
    there.send_bytes(&requests(5)).await?;
    there.finish().await?;
    assert_answered_in_order(&mut there, 5).await?;
    assert_eq!(timeout(TEST_TIMEOUT, running).await??, Closed::End);
    Ok(())
}

#[tokio::test]
async fn credit_that_arrives_for_a_queued_stream_is_used_when_the_stream_runs() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport.with_profile(Profile::DAEMON));
    let (open, gate) = oneshot::channel::<()>();
    let gate = std::sync::Mutex::new(Some(gate));
    server.method("wait", move |(): (), _: Context| {
        let gate = gate.lock().ok().and_then(|mut gate| gate.take());
        async move {
            if let Some(gate) = gate {
                let _ = gate.await;
            }
            Ok::<_, RpcError>(())
        }
    });
    server.stream_method("count", |(): (), _: Context| stream::iter(0..3).map(Ok::<_, RpcError>));
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"wait"}"#).await?;
    let request =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "rpc.stream", "params": { "method": "count", "credit": 1 } });
    there.send(&request.to_string()).await?;
    let credit = json!({ "jsonrpc": "2.0", "method": "rpc.credit", "params": { "id": 2, "count": 2 } });
    there.send(&credit.to_string()).await?;
    // The server reads the credit while the first request runs.
    sleep(Duration::from_millis(50)).await;
    let _ = open.send(());
    assert_eq!(there.receive().await?["id"], 1);
    for value in 0..3 {
        let item = json!({ "jsonrpc": "2.0", "method": "rpc.item", "params": { "id": 2, "value": value } });
        assert_eq!(timeout(TEST_TIMEOUT, there.receive()).await??, item);
    }
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 2, "result": null }));
    Ok(())
}

#[tokio::test]
async fn credit_for_the_running_stream_is_read_although_the_queue_of_requests_is_full() -> Test {
    for is_delayed in [false, true] {
        let (transport, mut there) = transport_with_remote_end()?;
        let mut limits = Limits::DEFAULT;
        limits.in_flight = 3;
        let server = Server::new(transport.with_profile(Profile::DAEMON).with_limits(limits));
        server.stream_method("count", move |(): (), _: Context| {
            stream::iter(0..3).then(move |number| async move {
                if is_delayed {
                    // During this pause, the queue becomes full. Then the stream waits for credit.
                    sleep(Duration::from_millis(50)).await;
                }
                Ok::<_, RpcError>(number)
            })
        });
        server.method("work", |(number,): (u64,), _: Context| async move { Ok::<_, RpcError>(number) });
        server.forget();
        let params = json!({ "method": "count", "credit": 1 });
        let mut sent =
            frame(&json!({ "jsonrpc": "2.0", "id": 9, "method": "rpc.stream", "params": params }).to_string());
        sent.extend(requests(4));
        sent.extend(frame(r#"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":9,"count":9}}"#));
        there.send_bytes(&sent).await?;
        let (mut items, mut ids_and_reasons) = (Vec::new(), Vec::new());
        while ids_and_reasons.len() < 5 {
            let message = timeout(TEST_TIMEOUT, there.receive()).await??;
            if message["method"] == "rpc.item" {
                items.push(message["params"]["value"].clone());
            } else {
                ids_and_reasons.push((message["id"].clone(), message["error"]["data"]["reason"].clone()));
            }
        }
        assert_eq!(items, [0, 1, 2]);
        ids_and_reasons.sort_by_key(|(id, _)| id.as_u64());
        let refused = json!("too-many-requests");
        let expected = [(1, json!(null)), (2, json!(null)), (3, refused.clone()), (4, refused), (9, json!(null))];
        assert_eq!(ids_and_reasons, expected.map(|(id, reason)| (json!(id), reason)));
    }
    Ok(())
}

#[tokio::test]
async fn a_response_to_the_running_handler_is_read_although_the_queue_of_requests_is_full() -> Test {
    for is_delayed in [false, true] {
        let (transport, mut there) = transport_with_remote_end()?;
        let mut limits = Limits::DEFAULT;
        limits.in_flight = 3;
        let peer = Peer::new(transport.with_profile(Profile::DAEMON).with_limits(limits));
        let client = peer.client().clone();
        peer.method("ask", move |(): (), _: Context| {
            let client = client.clone();
            async move {
                if is_delayed {
                    // During this pause, the queue becomes full. Then the handler calls the peer.
                    sleep(Duration::from_millis(50)).await;
                }
                Ok::<u64, RpcError>(client.call("answer", &()).timeout(None).await?)
            }
        });
        peer.method("work", |(number,): (u64,), _: Context| async move { Ok::<_, RpcError>(number) });
        peer.forget();
        let mut sent = frame(r#"{"jsonrpc":"2.0","id":9,"method":"ask"}"#);
        sent.extend(requests(4));
        there.send_bytes(&sent).await?;
        let mut ids_and_reasons = Vec::new();
        while ids_and_reasons.len() < 5 {
            let message = timeout(TEST_TIMEOUT, there.receive()).await??;
            if message["method"] == "answer" {
                there.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": 7 }).to_string()).await?;
            } else {
                ids_and_reasons.push((message["id"].clone(), message["error"]["data"]["reason"].clone()));
            }
        }
        ids_and_reasons.sort_by_key(|(id, _)| id.as_u64());
        let refused =
            |id: u64| ids_and_reasons.iter().any(|(found, reason)| *found == id && *reason == "too-many-requests");
        assert_eq!(ids_and_reasons.iter().map(|(id, _)| id.as_u64()).collect::<Vec<_>>(), [1, 2, 3, 4, 9].map(Some));
        assert!(!refused(9) && !refused(1) && !refused(2), "{ids_and_reasons:?}");
    }
    Ok(())
}
