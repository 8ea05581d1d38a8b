//! Each call ends exactly once, with the answer to its own request.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use portway::Limits;
use portway::{CallError, Client, Closed, Context, ErrorCode, Peer, RpcError, Server, Transport};
use serde_json::{Value, json};

use crate::wire::{TEST_TIMEOUT, limits, transport_with_remote_end};

type Test = Result<(), Box<dyn Error>>;

#[tokio::test]
async fn a_call_has_the_form_of_the_specification_and_returns_its_result() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let call = client.call::<u32>("add", &[1, 2]).start();
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "method": "add", "params": [1, 2] }));
    there.send(r#"{"jsonrpc":"2.0","id":1,"result":3}"#).await?;
    assert_eq!(call.await, Ok(3));
    assert_eq!(client.pending(), 0);
    Ok(())
}

#[tokio::test]
async fn a_call_without_params_has_no_member_params() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let _call = client.call::<()>("ready", &()).start();
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "method": "ready" }));
    Ok(())
}

#[tokio::test]
async fn params_that_are_neither_object_nor_array_are_an_error_and_nothing_is_sent() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    assert!(matches!(client.call::<()>("add", "text").await, Err(CallError::Params(_))));
    assert!(matches!(client.notify("add", &5), Err(CallError::Params(_))));
    client.notify("next", &())?;
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "method": "next" }));
    Ok(())
}

#[tokio::test]
async fn answers_in_any_order_reach_their_calls() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let calls: Vec<_> = (0..1_000).map(|number| client.call::<u64>("echo", &[number]).start()).collect();
    let mut requests = Vec::new();
    for _ in &calls {
        requests.push(there.receive().await?);
    }
    requests.sort_by_key(|request| request.get("id").and_then(Value::as_u64).map(|id| id.wrapping_mul(7919) % 1_009));
    for request in &requests {
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": request["params"][0] });
        there.send(&answer.to_string()).await?;
    }
    for (number, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await, Ok(number as u64));
    }
    Ok(())
}

#[tokio::test]
async fn an_error_has_the_code_message_and_data_that_the_peer_has_sent() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let call = client.call::<()>("build", &()).start();
    there.receive().await?;
    there.send(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no","data":{"line":1.0}}}"#).await?;
    let expected = RpcError::new(ErrorCode::new(-32001), "no").with_data(&json!({ "line": 1.0 }));
    assert_eq!(call.await, Err(CallError::Remote(expected)));
    Ok(())
}

#[tokio::test]
async fn the_errors_of_a_crashed_peer_and_a_panicked_handler_are_distinguished_from_other_errors() -> Test {
    let reason = |reason: &str| json!({ "code": -32603, "message": "m", "data": { "reason": reason } });
    let remote = |code: i64| RpcError::new(ErrorCode::new(code), "m");
    for (error, expected) in [
        (reason("peer-died"), CallError::PeerDied),
        (reason("handler-panicked"), CallError::HandlerPanicked),
        (reason("destroyed"), CallError::Remote(remote(-32603).with_data(&json!({ "reason": "destroyed" })))),
        (json!({ "code": -32603, "message": "m" }), CallError::Remote(remote(-32603))),
        // An error of an application may have the same `reason`, but a different code.
        (
            json!({ "code": 5, "message": "m", "data": { "reason": "peer-died" } }),
            CallError::Remote(remote(5).with_data(&json!({ "reason": "peer-died" }))),
        ),
    ] {
        let (transport, mut there) = transport_with_remote_end()?;
        let client = Client::new(transport);
        let call = client.call::<()>("work", &()).start();
        there.receive().await?;
        there.send(&json!({ "jsonrpc": "2.0", "id": 1, "error": error }).to_string()).await?;
        assert_eq!(call.await, Err(expected.clone()));
        // A program may forward this error to its own caller. This program has not died, so the forwarded error must
        // not have the reason `peer-died`.
        if expected.remote().is_none() {
            assert_eq!(RpcError::from(expected).reason(), None);
        }
    }
    Ok(())
}

/// Returns the texts of an error and of each of its sources.
fn chain(error: &dyn Error) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(error) = next {
        texts.push(error.to_string());
        next = error.source();
    }
    texts
}

#[test]
fn no_error_of_a_chain_repeats_its_source() {
    let remote = RpcError::new(ErrorCode::new(1), "disk full");
    let error = CallError::Remote(remote.clone());
    assert_eq!(chain(&error), ["disk full (1)"]);
    // The text of the peer's error is already written, so this error is not a source.
    assert!(error.source().is_none());
    assert_eq!(error.remote(), Some(&remote));
    let lost = CallError::Lost(Closed::Truncated(3));
    assert_eq!(chain(&lost), ["the link is lost", "the stream ended within a message, after 3 bytes"]);
    assert_eq!(chain(&CallError::Params("no".into())), ["the params cannot be sent: no"]);
}

#[tokio::test]
async fn a_result_of_an_unexpected_type_is_an_error() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let call = client.call::<u32>("count", &()).start();
    there.receive().await?;
    there.send(r#"{"jsonrpc":"2.0","id":1,"result":"three"}"#).await?;
    assert!(matches!(call.await, Err(CallError::Deserialize(_))));
    Ok(())
}

#[tokio::test]
async fn an_answer_with_neither_result_nor_error_ends_its_call() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let call = client.call::<u32>("count", &()).start();
    there.receive().await?;
    there.send(r#"{"jsonrpc":"2.0","id":1}"#).await?;
    assert_eq!(call.await, Err(CallError::InvalidResponse));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_timeout() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let start = tokio::time::Instant::now();
    let call = client.call::<u32>("slow", &());
    assert_eq!(call.await, Err(CallError::TimedOut));
    assert!((10_000..10_050).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    let start = tokio::time::Instant::now();
    let call = client.call::<u32>("slow", &()).timeout(Duration::from_millis(70));
    assert_eq!(call.await, Err(CallError::TimedOut));
    assert!((70..100).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    // An answer that arrives after the timeout is dropped.
    there.send(r#"{"jsonrpc":"2.0","id":1,"result":1}"#).await?;
    let call = client.call::<u32>("next", &()).start();
    for _ in 0..3 {
        there.receive().await?;
    }
    there.send(r#"{"jsonrpc":"2.0","id":3,"result":3}"#).await?;
    assert_eq!(call.await, Ok(3));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_short_timeout_ends_before_an_earlier_call_with_a_long_timeout() -> Test {
    let (transport, _there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let long = client.call::<()>("long", &()).timeout(Duration::from_secs(3_600)).start();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let start = tokio::time::Instant::now();
    assert_eq!(client.call::<()>("short", &()).timeout(Duration::from_millis(20)).await, Err(CallError::TimedOut));
    assert!(start.elapsed() < Duration::from_millis(50), "{:?}", start.elapsed());
    assert_eq!(long.await, Err(CallError::TimedOut));
    assert!(start.elapsed() < Duration::from_secs(3_601), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_timeout_waits() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport).with_timeout(None);
    let call = client.call::<u32>("slow", &()).start();
    there.receive().await?;
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    there.send(r#"{"jsonrpc":"2.0","id":1,"result":7}"#).await?;
    assert_eq!(call.await, Ok(7));
    Ok(())
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    drop(client.call::<()>("never sent", &()));
    drop(client.call::<()>("build", &()).start());
    assert_eq!(client.pending(), 0);
    assert_eq!(there.receive().await?["method"], "build");
    let cancel = json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 1 } });
    assert_eq!(there.receive().await?, cancel);
    // A call that has ended with its answer is not cancelled.
    let call = client.call::<()>("quick", &()).start();
    there.receive().await?;
    there.send(r#"{"jsonrpc":"2.0","id":2,"result":null}"#).await?;
    call.await?;
    client.notify("last", &())?;
    assert_eq!(there.receive().await?["method"], "last");
    Ok(())
}

#[tokio::test]
async fn a_handler_that_only_computes_is_cancelled_when_it_yields() -> Test {
    let (here, there) = Transport::pair()?;
    let steps = Arc::new(AtomicU32::new(0));
    let server = Server::new(there);
    let count = Arc::clone(&steps);
    server.method("compute", move |(): (), context: Context| {
        let count = Arc::clone(&count);
        async move {
            while count.fetch_add(1, Ordering::Relaxed) < u32::MAX {
                context.yield_now().await;
            }
            Ok::<_, RpcError>(())
        }
    });
    server.forget();
    let client = Client::new(here);
    let call = client.call::<()>("compute", &()).start();
    while steps.load(Ordering::Relaxed) < 10 {
        tokio::task::yield_now().await;
    }
    drop(call);
    // The test, the registered method and the future of the handler have one reference each.
    tokio::time::timeout(TEST_TIMEOUT, async {
        while Arc::strong_count(&steps) > 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn progress_is_passed_to_the_listener_of_its_call() -> Test {
    let (here, there) = Transport::pair()?;
    let server = Server::new(there);
    server.method("build", |(): (), context: Context| async move {
        for percent in [10, 50] {
            context.progress(&percent)?;
        }
        Ok::<_, RpcError>("done")
    });
    server.forget();
    let client = Client::new(here);
    let seen = Arc::new(AtomicU32::new(0));
    let sum = Arc::clone(&seen);
    let result: String = client
        .call("build", &())
        .on_progress(move |percent: u32| {
            sum.fetch_add(percent, Ordering::Relaxed);
        })
        .await?;
    assert_eq!((result.as_str(), seen.load(Ordering::Relaxed)), ("done", 60));
    // Without a listener, the call completes in the same way.
    let result: String = client.call("build", &()).await?;
    assert_eq!(result, "done");
    Ok(())
}

/// A listener of progress may own the last client of its link, or a second call. The drop of such a listener locks the
/// link. So the link must not hold its lock when it drops the listener. Otherwise, the drop would be a deadlock.
#[test]
fn a_refused_call_drops_its_listener_without_a_deadlock() -> Test {
    async fn calls() -> Test {
        // This call is refused because the link has ended.
        let (transport, there) = transport_with_remote_end()?;
        let client = Client::new(transport);
        drop(there);
        client.closed().await;
        let call = client.call::<u32>("a", &());
        let call = call.on_progress(move |_: Value| drop(client.notify("heard", &())));
        assert_eq!(call.await, Err(CallError::PeerGone));

        // This call is refused because of the limit of pending calls.
        let (transport, _there) = transport_with_remote_end()?;
        let client = Client::new(transport.with_limits(limits(|limits: &mut Limits| limits.pending_calls = 1)));
        let first = client.call::<u32>("a", &()).start();
        let call = client.call::<u32>("b", &());
        let owned = (first, client);
        let call = call.on_progress(move |_: Value| {
            let _ = &owned;
        });
        assert_eq!(call.await, Err(CallError::TooManyCalls));
        Ok(())
    }
    // A separate thread runs the calls, since a deadlock would block the thread for ever.
    let (report, ended) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let outcome = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(calls()));
        report.send(outcome.map_err(|error| error.to_string()))
    });
    Ok(ended.recv_timeout(TEST_TIMEOUT)??)
}

#[tokio::test]
async fn calls_beyond_the_limit_are_refused_and_the_pending_calls_continue() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport.with_limits(limits(|limits: &mut Limits| limits.pending_calls = 2)));
    let first = client.call::<u32>("a", &()).start();
    let _second = client.call::<u32>("b", &()).start();
    assert_eq!(client.call::<u32>("c", &()).await, Err(CallError::TooManyCalls));
    there.send(r#"{"jsonrpc":"2.0","id":1,"result":1}"#).await?;
    assert_eq!(first.await, Ok(1));
    Ok(())
}

#[tokio::test]
async fn large_integers_and_the_digits_of_numbers_are_not_changed() -> Test {
    let (here, there) = Transport::pair()?;
    let server = Server::new(there);
    server
        .method("echo", |value: Box<serde_json::value::RawValue>, _: Context| async move { Ok::<_, RpcError>(value) });
    server.forget();
    let client = Client::new(here);
    let sent = serde_json::value::RawValue::from_string(
        "[18446744073709551615, -0, 1E+2, 0.1, 12345678901234567890123]".into(),
    )?;
    let got: Box<serde_json::value::RawValue> = client.call("echo", &sent).await?;
    assert_eq!(got.get(), sent.get());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_many_tasks_on_many_threads_return_their_own_results() -> Test {
    let (here, there) = Transport::pair()?;
    let server = Server::new(there);
    server.method("double", |(number,): (u64,), _: Context| async move { Ok::<_, RpcError>(number * 2) });
    server.forget();
    let client = Client::new(here);
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let client = client.clone();
            tokio::spawn(async move {
                for number in 0..200 {
                    let number = task * 1_000 + number;
                    assert_eq!(client.call::<u64>("double", &(number,)).await, Ok(number * 2));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await?;
    }
    assert_eq!(client.pending(), 0);
    Ok(())
}

#[tokio::test]
async fn a_handler_of_a_peer_calls_a_method_of_its_caller() -> Test {
    let (here, there) = Transport::pair()?;
    let near = Peer::new(here);
    let far = Peer::new(there);
    near.method("name", |(): (), _: Context| async { Ok::<_, RpcError>("Ada") });
    let back = far.client().clone();
    far.method("greet", move |(): (), _: Context| {
        let back = back.clone();
        async move {
            let name: String = back.call("name", &()).await?;
            Ok::<_, RpcError>(format!("Hello, {name}"))
        }
    });
    far.forget();
    let greeting: String = near.call("greet", &()).await?;
    assert_eq!(greeting, "Hello, Ada");
    Ok(())
}
