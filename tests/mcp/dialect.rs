//! `Profile::MCP`: cancellation, progress, results and refusals, as MCP 2025-11-25 specifies them.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use portway::profile::Profile;
use portway::{CallError, Context, Peer, RpcError, Transport};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::remote::{Remote, Test, transport_with_remote};
use crate::wire::TEST_TIMEOUT;

/// Returns a peer that reads, and its remote end.
fn peer() -> std::io::Result<(Peer, Remote)> {
    let (transport, remote) = transport_with_remote()?;
    Ok((Peer::new(transport), remote))
}

fn request(id: &Value, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn cancelled(params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
}

fn progressed(params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
}

/// Registers a handler that never ends by itself. Returns the receiver of the contexts of its requests.
fn hold_requests(peer: &Peer, method: &str) -> mpsc::UnboundedReceiver<Context> {
    let (sender, contexts) = mpsc::unbounded_channel();
    peer.method(method, move |_: IgnoredAny, context| {
        let _ = sender.send(context);
        pending::<Result<(), RpcError>>()
    });
    contexts
}

/// Starts to read. A peer starts to read when it first sends a message.
async fn start(peer: &Peer, remote: &mut Remote) -> Test {
    peer.notify("notifications/started", &())?;
    remote.receive().await?;
    Ok(())
}

#[tokio::test]
async fn a_ping_without_a_handler_is_answered_with_an_empty_object() -> Test {
    let (peer, mut remote) = peer()?;
    start(&peer, &mut remote).await?;
    remote.send(request(&json!(1), "ping", &json!({}))).await?;
    assert_eq!(remote.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    remote.send(request(&json!(2), "pong", &json!({}))).await?;
    assert_eq!(remote.receive().await?["error"]["code"], -32601);
    peer.method_sync("ping", |_: IgnoredAny, _: Context| Ok::<_, RpcError>(json!({ "own": true })));
    remote.send(request(&json!(3), "ping", &json!({}))).await?;
    assert_eq!(remote.receive().await?["result"], json!({ "own": true }));
    Ok(())
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_by_its_id_without_a_reason() -> Test {
    let (peer, mut remote) = peer()?;
    let call = peer.call::<Value>("tools/call", &json!({ "name": "sum" })).start();
    let id = remote.receive().await?["id"].clone();
    drop(call);
    assert_eq!(remote.receive().await?, cancelled(json!({ "requestId": id })));
    // The late response is ignored.
    remote.respond(&json!({ "id": id }), json!({})).await?;
    assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    assert_eq!(peer.pending(), 0);
    Ok(())
}

#[tokio::test]
async fn a_call_that_times_out_is_cancelled_with_the_reason_timeout() -> Test {
    let (peer, mut remote) = peer()?;
    let call = peer.call::<Value>("tools/call", &()).timeout(Duration::from_millis(10));
    assert_eq!(call.await, Err(CallError::TimedOut));
    let id = remote.receive().await?["id"].clone();
    assert_eq!(remote.receive().await?, cancelled(json!({ "requestId": id, "reason": "timeout" })));
    Ok(())
}

#[tokio::test]
async fn initialize_and_discover_are_not_cancelled() -> Test {
    let (peer, mut remote) = peer()?;
    for method in ["initialize", "server/discover"] {
        let dropped = peer.call::<Value>(method, &json!({})).start();
        assert_eq!(
            peer.call::<Value>(method, &json!({})).timeout(Duration::from_millis(10)).await,
            Err(CallError::TimedOut)
        );
        drop(dropped);
        for _ in 0..2 {
            assert_eq!(remote.receive().await?["method"], method);
        }
        assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    }
    assert_eq!(peer.pending(), 0);
    // Calls of other methods are still cancelled.
    drop(peer.call::<Value>("tools/list", &()).start());
    remote.receive().await?;
    assert_eq!(remote.receive().await?["method"], "notifications/cancelled");
    Ok(())
}

#[tokio::test]
async fn a_call_with_progress_has_its_id_as_the_token_and_receives_the_progress() -> Test {
    let (peer, mut remote) = peer()?;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let progress = Arc::clone(&seen);
    let call = peer
        .call::<Value>("tools/call", &json!({ "name": "sum", "_meta": { "trace": "x", "progressToken": "replaced" } }))
        .on_progress(move |value: Value| progress.lock().unwrap_or_else(PoisonError::into_inner).push(value))
        .start();
    let sent = remote.receive().await?;
    let id = &sent["id"];
    assert_eq!(sent["params"], json!({ "name": "sum", "_meta": { "trace": "x", "progressToken": id } }));
    let reports = [
        json!({ "progressToken": id, "progress": 1 }),
        json!({ "progressToken": id, "progress": 2.5, "total": 5, "message": "half" }),
    ];
    for report in &reports {
        remote.send(progressed(report.clone())).await?;
    }
    remote.respond(&sent, json!({ "ok": true })).await?;
    assert_eq!(call.await, Ok(json!({ "ok": true })));
    assert_eq!(*seen.lock().unwrap_or_else(PoisonError::into_inner), reports);
    Ok(())
}

#[tokio::test]
async fn params_have_a_token_only_if_the_call_has_progress() -> Test {
    let (peer, mut remote) = peer()?;
    let _with = peer.call::<Value>("tools/list", &()).on_progress(|_: Value| {}).start();
    let sent = remote.receive().await?;
    assert_eq!(sent["params"], json!({ "_meta": { "progressToken": sent["id"] } }));
    let _without = peer.call::<Value>("tools/list", &json!({ "cursor": "x" })).start();
    assert_eq!(remote.receive().await?["params"], json!({ "cursor": "x" }));
    let _bare = peer.call::<Value>("tools/list", &()).start();
    assert_eq!(remote.receive().await?.get("params"), None);
    Ok(())
}

#[tokio::test]
async fn a_call_whose_meta_is_not_an_object_fails_if_it_has_progress() -> Test {
    let (peer, mut remote) = peer()?;
    let call = peer.call::<Value>("tools/call", &json!({ "_meta": 1 })).on_progress(|_: Value| {});
    assert!(matches!(call.await, Err(CallError::Params(text)) if text.contains("_meta")));
    start(&peer, &mut remote).await
}

#[tokio::test]
async fn progress_restarts_the_timeout_of_a_call() -> Test {
    let (peer, mut remote) = peer()?;
    let call = peer.call::<Value>("tools/call", &()).timeout(Duration::from_millis(700)).on_progress(|_: Value| {});
    let call = tokio::spawn(call);
    let sent = remote.receive().await?;
    for progress in 1..=8 {
        tokio::time::sleep(Duration::from_millis(120)).await;
        remote.send(progressed(json!({ "progressToken": sent["id"], "progress": progress }))).await?;
    }
    remote.respond(&sent, json!({ "n": 8 })).await?;
    assert_eq!(call.await?, Ok(json!({ "n": 8 })));
    Ok(())
}

#[tokio::test]
async fn progress_with_another_token_is_an_ordinary_notification() -> Test {
    let (peer, mut remote) = peer()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    peer.on_notify("notifications/progress", move |params: Value, _| {
        let _ = sender.send(params);
    });
    let _call = peer.call::<Value>("tools/call", &()).start();
    let id = remote.receive().await?["id"].clone();
    for token in [json!("x"), json!(99), id] {
        let params = json!({ "progressToken": token, "progress": 1 });
        remote.send(progressed(params.clone())).await?;
        assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some(params));
    }
    Ok(())
}

#[tokio::test]
async fn params_that_are_an_array_and_methods_of_portway_are_refused_and_nothing_is_sent() -> Test {
    let (peer, mut remote) = peer()?;
    let is_refused = |error: &CallError, part: &str| matches!(error, CallError::Params(text) if text.contains(part));
    let array = "params of \"tools/call\" must be an object in MCP, got an array";
    assert!(peer.call::<Value>("tools/call", &[1]).await.is_err_and(|error| is_refused(&error, array)));
    assert!(peer.notify("tools/call", &[1]).is_err_and(|error| is_refused(&error, array)));
    assert!(peer.call::<Value>("rpc.hello", &()).await.is_err_and(|error| is_refused(&error, "rpc.")));
    assert!(peer.notify("rpc.bye", &()).is_err_and(|error| is_refused(&error, "rpc.")));
    let item = peer.stream::<Value>("tools/call", &()).next().await;
    assert!(item.is_some_and(|item| item.is_err_and(|error| is_refused(&error, "MCP has no streams"))));
    assert_eq!(peer.pending(), 0);
    start(&peer, &mut remote).await
}

#[tokio::test]
async fn incoming_requests_whose_params_are_an_array_are_refused_with_a_reason() -> Test {
    let (peer, mut remote) = peer()?;
    peer.method("tools/call", |_: IgnoredAny, _| async { Err::<(), _>(RpcError::internal("the handler has run")) });
    let (sender, mut notified) = mpsc::unbounded_channel();
    peer.on_notify("notifications/x", move |params: Value, _| {
        let _ = sender.send(params);
    });
    start(&peer, &mut remote).await?;
    let error = json!({ "code": -32600, "message": "Invalid Request", "data": { "reason": "params-not-object" } });
    let reversed = json!({ "params": [1], "method": "tools/call", "id": "a", "jsonrpc": "2.0" });
    // The first form is decoded by a function of its own.
    let usual = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}"#;
    remote.send_line(usual).await?;
    assert_eq!(remote.receive().await?, json!({ "jsonrpc": "2.0", "id": 7, "error": error }));
    remote.send(reversed).await?;
    assert_eq!(remote.receive().await?, json!({ "jsonrpc": "2.0", "id": "a", "error": error }));
    remote.send(json!({ "jsonrpc": "2.0", "method": "notifications/x", "params": [1] })).await?;
    remote.send(json!({ "jsonrpc": "2.0", "method": "notifications/x", "params": {} })).await?;
    assert_eq!(timeout(TEST_TIMEOUT, notified.recv()).await?, Some(json!({})));
    Ok(())
}

#[tokio::test]
async fn a_request_that_was_cancelled_is_not_answered_and_its_handler_ends() -> Test {
    let (peer, mut remote) = peer()?;
    let mut contexts = hold_requests(&peer, "tools/call");
    start(&peer, &mut remote).await?;
    for id in [json!(0), json!("0"), json!("a")] {
        remote.send(request(&id, "tools/call", &json!({ "_meta": { "progressToken": 1 } }))).await?;
    }
    remote.send(cancelled(json!({ "requestId": "0", "reason": "the user has left" }))).await?;
    remote.send(cancelled(json!({ "requestId": 0 }))).await?;
    assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    let mut states = Vec::new();
    for _ in 0..3 {
        let context = contexts.recv().await.ok_or("there must be a context")?;
        context.progress(&1)?;
        states.push((context.is_cancelled(), context.id().is_some()));
    }
    assert_eq!(states, [(true, false), (true, false), (false, true)]);
    // Only the request that was not cancelled sends its progress.
    assert_eq!(remote.unread_before_response().await?, [progressed(json!({ "progressToken": 1, "progress": 1 }))]);
    Ok(())
}

#[tokio::test]
async fn a_cancelled_initialize_is_still_answered() -> Test {
    let (peer, mut remote) = peer()?;
    let (finish, finished) = tokio::sync::oneshot::channel::<()>();
    let finished = Arc::new(Mutex::new(Some(finished)));
    peer.method("initialize", move |_: IgnoredAny, _| {
        let finished = finished.lock().unwrap_or_else(PoisonError::into_inner).take();
        async move {
            if let Some(finished) = finished {
                let _ = finished.await;
            }
            Ok::<_, RpcError>(json!({ "done": true }))
        }
    });
    start(&peer, &mut remote).await?;
    remote.send(request(&json!(1), "initialize", &json!({}))).await?;
    remote.send(cancelled(json!({ "requestId": 1 }))).await?;
    assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    let _ = finish.send(());
    assert_eq!(remote.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "result": { "done": true } }));
    Ok(())
}

#[tokio::test]
async fn the_notifications_of_other_protocols_cancel_nothing() -> Test {
    let (peer, mut remote) = peer()?;
    let mut contexts = hold_requests(&peer, "tools/call");
    start(&peer, &mut remote).await?;
    remote.send(request(&json!(1), "tools/call", &json!({}))).await?;
    for (method, member) in [("$/cancelRequest", "id"), ("$/cancel_request", "requestId"), ("rpc.credit", "id")] {
        remote.send(json!({ "jsonrpc": "2.0", "method": method, "params": { member: 1, "count": 1 } })).await?;
    }
    for params in [json!({}), json!({ "requestId": null }), json!({ "requestId": {} }), json!([1])] {
        remote.send(cancelled(params)).await?;
    }
    assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    assert!(!contexts.recv().await.ok_or("there must be a context")?.is_cancelled());
    Ok(())
}

#[tokio::test]
async fn a_result_is_an_object_and_nothing_becomes_an_empty_object() -> Test {
    let (peer, mut remote) = peer()?;
    peer.method_sync("echo", |params: Value, _| Ok::<_, RpcError>(params["result"].clone()));
    peer.method("nothing", |_: IgnoredAny, _| async { Ok::<_, RpcError>(()) });
    start(&peer, &mut remote).await?;
    remote.send(json!({ "jsonrpc": "2.0", "id": 0, "method": "nothing" })).await?;
    assert_eq!(remote.receive().await?, json!({ "jsonrpc": "2.0", "id": 0, "result": {} }));
    for result in [json!({}), json!({ "a": [1] })] {
        remote.send(request(&json!(1), "echo", &json!({ "result": result }))).await?;
        assert_eq!(remote.receive().await?["result"], result);
    }
    remote.send(request(&json!(1), "echo", &json!({}))).await?;
    assert_eq!(remote.receive().await?["result"], json!({}));
    for (result, kind) in
        [(json!([1]), "an array"), (json!("x"), "a string"), (json!(true), "a boolean"), (json!(-1.5), "a number")]
    {
        remote.send(request(&json!(1), "echo", &json!({ "result": result }))).await?;
        let error = json!({ "code": -32603, "message": format!("the result must be an object in MCP, got {kind}") });
        assert_eq!(remote.receive().await?["error"], error);
    }
    Ok(())
}

#[tokio::test]
async fn a_handler_sends_its_progress_with_the_token_of_the_caller() -> Test {
    let (peer, mut remote) = peer()?;
    peer.method_sync("work", |_: IgnoredAny, context| {
        context.progress(&1)?;
        context.progress(&json!({ "progress": 2.5, "total": 4, "message": "half" }))?;
        Ok::<_, RpcError>(())
    });
    start(&peer, &mut remote).await?;
    for token in [json!("t"), json!(0), json!(7)] {
        remote.send(request(&json!(3), "work", &json!({ "_meta": { "progressToken": token } }))).await?;
        assert_eq!(remote.receive().await?, progressed(json!({ "progressToken": token, "progress": 1 })));
        let second = json!({ "progressToken": token, "progress": 2.5, "total": 4, "message": "half" });
        assert_eq!(remote.receive().await?, progressed(second));
        assert_eq!(remote.receive().await?["result"], json!({}));
    }
    for params in [
        json!({}),
        json!({ "_meta": null }),
        json!({ "_meta": {} }),
        json!({ "_meta": { "progressToken": null } }),
        json!({ "_meta": { "progressToken": {} } }),
        json!({ "_meta": [1] }),
    ] {
        remote.send(request(&json!(3), "work", &params)).await?;
        assert_eq!(remote.receive().await?["result"], json!({}), "{params}");
    }
    Ok(())
}

#[tokio::test]
async fn progress_that_is_not_a_number_is_an_error_with_and_without_a_token() -> Test {
    let (peer, mut remote) = peer()?;
    peer.method_sync("report", |params: Value, context| {
        let error = context.progress(&params["value"]).err().map(|error| error.to_string());
        let nan = context.progress(&f64::NAN).is_err();
        Ok::<_, RpcError>(json!({ "error": error, "nan": nan }))
    });
    start(&peer, &mut remote).await?;
    for value in [
        json!(null),
        json!("half"),
        json!({}),
        json!({ "progress": "1" }),
        json!([1]),
        json!({ "progress": 1, "progressToken": 5 }),
    ] {
        for meta in [json!({}), json!({ "progressToken": 1 })] {
            remote.send(request(&json!(1), "report", &json!({ "value": value, "_meta": meta }))).await?;
            let result = &remote.receive().await?["result"];
            let error = result["error"].as_str().unwrap_or_default();
            assert!(error.contains("progress must be a finite number"), "{value}: {result}");
            assert_eq!(result["nan"], true);
        }
    }
    Ok(())
}

#[tokio::test]
async fn batches_and_requests_with_the_id_null_are_refused() -> Test {
    let (peer, mut remote) = peer()?;
    peer.method_sync("echo", |params: Value, _| Ok::<_, RpcError>(params));
    start(&peer, &mut remote).await?;
    let invalid = |message: &Value| message["error"]["code"] == -32600 && message["id"].is_null();
    for line in [
        r#"{"jsonrpc":"2.0","id":null,"method":"echo","params":{}}"#,
        r#"{"method":"echo","jsonrpc":"2.0","params":{"a":1},"id":null}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}]"#,
        "[]",
    ] {
        remote.send_line(line).await?;
        let message = remote.receive().await?;
        assert!(invalid(&message), "{line}: {message}");
    }
    // The responses of a batch still end their calls.
    let call = peer.call::<Value>("tools/list", &()).start();
    let sent = remote.receive().await?;
    remote.send(json!([{ "jsonrpc": "2.0", "id": sent["id"], "result": { "tools": [] } }])).await?;
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok(json!({ "tools": [] })));
    Ok(())
}

#[tokio::test]
async fn a_request_for_a_stream_has_an_unknown_method() -> Test {
    let (peer, mut remote) = peer()?;
    peer.stream_method("count", |_: IgnoredAny, _| futures_util::stream::iter([Ok::<_, RpcError>(1)]));
    start(&peer, &mut remote).await?;
    remote.send(request(&json!(1), "rpc.stream", &json!({ "method": "count", "credit": 1 }))).await?;
    assert_eq!(remote.receive().await?["error"]["code"], -32601);
    remote.send(request(&json!(2), "count", &json!({}))).await?;
    assert_eq!(remote.receive().await?["error"]["code"], -32603);
    Ok(())
}

#[tokio::test]
async fn two_peers_cancel_each_other_s_requests_and_exchange_progress() -> Test {
    let (near, far) = Transport::pair()?;
    let near = Peer::new(near.with_profile(Profile::MCP));
    let far = Peer::new(far.with_profile(Profile::MCP));
    let (mut near_contexts, mut far_contexts) = (hold_requests(&near, "tools/call"), hold_requests(&far, "tools/call"));
    far.method_sync("work", |_: IgnoredAny, context| context.progress(&json!({ "progress": 1 })));
    for (caller, contexts) in [(&near, &mut far_contexts), (&far, &mut near_contexts)] {
        let other = if std::ptr::eq(caller, &near) { &far } else { &near };
        other.notify("notifications/started", &())?;
        let call = caller.call::<Value>("tools/call", &json!({})).start();
        let context = timeout(TEST_TIMEOUT, contexts.recv()).await?.ok_or("there must be a context")?;
        drop(call);
        timeout(TEST_TIMEOUT, context.cancelled()).await?;
    }
    let (sender, mut seen) = mpsc::unbounded_channel();
    let call = near.call::<Value>("work", &()).on_progress(move |value: Value| {
        let _ = sender.send(value["progress"].clone());
    });
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok(json!({})));
    assert_eq!(seen.recv().await, Some(json!(1)));
    Ok(())
}
