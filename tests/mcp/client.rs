//! Calls, lists and notifications of a client of MCP, and its answers to the requests of the server.

use std::time::Duration;

use portway::mcp::{Client, Error};
use portway::{CallError, Closed, RpcError};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::remote::{Remote, Test, connect, connect_legacy, connect_modern, options};
use crate::wire::TEST_TIMEOUT;

/// Answers the pages of a list. Returns the cursors of the requests.
async fn answer_pages(remote: &mut Remote, pages: &[Value]) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let mut cursors = Vec::new();
    for page in pages {
        let request = remote.receive().await?;
        assert_eq!(request["method"], "tools/list");
        cursors.push(request["params"]["cursor"].clone());
        remote.respond(&request, page.clone()).await?;
    }
    Ok(cursors)
}

#[tokio::test]
async fn a_list_has_the_items_of_all_pages() -> Test {
    for is_modern in [false, true] {
        let connected = if is_modern { connect_modern(options()).await } else { connect_legacy(options()).await };
        let (client, mut remote) = connected?;
        let list = tokio::spawn(async move { client.list::<u32>("tools/list", "tools").await });
        // The empty string is a cursor, too.
        let pages = [
            json!({ "tools": [1, 2], "nextCursor": "" }),
            json!({ "tools": [], "nextCursor": "b\"" }),
            json!({ "tools": [3], "nextCursor": null }),
        ];
        assert_eq!(answer_pages(&mut remote, &pages).await?, [json!(null), json!(""), json!("b\"")]);
        assert_eq!(list.await??, [1, 2, 3]);
    }
    Ok(())
}

#[tokio::test]
async fn a_list_has_at_most_sixteen_pages() -> Test {
    for (count, is_error) in [(16, false), (17, true)] {
        let (client, mut remote) = connect_legacy(options()).await?;
        let list = tokio::spawn({
            let client = client.clone();
            async move { client.list::<u32>("tools/list", "tools").await }
        });
        let page = |index| match index {
            _ if index == count => json!({ "tools": [index] }),
            _ => json!({ "tools": [index], "nextCursor": "same" }),
        };
        let pages: Vec<Value> = (1..=count.min(16)).map(page).collect();
        answer_pages(&mut remote, &pages).await?;
        let outcome = list.await?;
        assert_eq!(matches!(outcome, Err(Error::TooManyPages)), is_error, "{outcome:?}");
        assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn a_list_that_is_not_one_is_an_error() -> Test {
    let (client, mut remote) = connect_legacy(options()).await?;
    for result in [json!({}), json!({ "tools": 1 }), json!({ "tools": ["x"] }), json!([1])] {
        let client = client.clone();
        let list = tokio::spawn(async move { client.list::<u32>("tools/list", "tools").await });
        answer_pages(&mut remote, &[result]).await?;
        assert!(matches!(list.await?, Err(Error::Call(CallError::Deserialize(_)))));
    }
    Ok(())
}

#[tokio::test]
async fn a_call_returns_the_result_or_the_error_of_the_server() -> Test {
    let (client, mut remote) = connect_legacy(options()).await?;
    let call = tokio::spawn(client.call::<Value>("tools/call", &json!({ "name": "add" })).into_future());
    let request = remote.receive().await?;
    assert_eq!(request["params"], json!({ "name": "add" }));
    remote.respond(&request, json!({ "content": [] })).await?;
    assert_eq!(call.await??, json!({ "content": [] }));

    let call = tokio::spawn(client.call::<Value>("tools/call", &json!({ "name": "sub" })).into_future());
    let request = remote.receive().await?;
    remote.fail(&request, -32602).await?;
    let error = call.await?.err().ok_or("the call must fail")?;
    assert!(matches!(&error, Error::Call(CallError::Remote(error)) if error.code.value() == -32602), "{error}");
    assert!(matches!(client.call::<Value>("tools/call", &[1]).await, Err(Error::Call(CallError::Params(_)))));
    Ok(())
}

#[tokio::test]
async fn a_call_has_progress_and_is_cancelled_when_it_is_dropped_or_times_out() -> Test {
    for is_modern in [false, true] {
        let connected = if is_modern { connect_modern(options()).await } else { connect_legacy(options()).await };
        let (client, mut remote) = connected?;
        let (sender, mut seen) = mpsc::unbounded_channel();
        let call = client.call::<Value>("tools/call", &json!({ "name": "add" })).on_progress(move |value: Value| {
            let _ = sender.send(value["progress"].clone());
        });
        let call = tokio::spawn(call.into_future());
        let request = remote.receive().await?;
        let params = json!({ "progressToken": request["params"]["_meta"]["progressToken"], "progress": 3 });
        remote.send(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })).await?;
        assert_eq!(timeout(TEST_TIMEOUT, seen.recv()).await?, Some(json!(3)));
        call.abort();
        let cancelled = remote.receive().await?;
        assert_eq!(
            (&cancelled["method"], &cancelled["params"]["requestId"]),
            (&json!("notifications/cancelled"), &request["id"])
        );

        let call = client.call::<Value>("tools/call", &()).timeout(Duration::from_millis(10));
        assert!(matches!(call.await, Err(Error::Call(CallError::TimedOut))));
        let id = remote.receive().await?["id"].clone();
        assert_eq!(remote.receive().await?["params"], json!({ "requestId": id, "reason": "timeout" }));
    }
    Ok(())
}

#[tokio::test]
async fn the_timeout_of_the_options_applies_to_calls() -> Test {
    let (client, _remote) = connect_legacy(options().timeout(Duration::from_millis(10))).await?;
    let call = client.call::<Value>("tools/call", &()).into_future();
    assert!(matches!(timeout(TEST_TIMEOUT, call).await?, Err(Error::Call(CallError::TimedOut))));
    Ok(())
}

#[tokio::test]
async fn requests_of_a_legacy_server_are_answered_by_their_handlers() -> Test {
    let options = options()
        .method("elicitation/create", |params: Value| async move {
            Ok::<_, RpcError>(json!({ "action": "accept", "content": { "asked": params["message"] } }))
        })
        .method("roots/list", |_: Value| async { Err::<Value, _>(RpcError::internal("no roots")) });
    let (connecting, mut remote) = connect(options)?;
    let discover = remote.receive().await?;
    // The handlers determine the capabilities.
    let capabilities = json!({ "elicitation": {}, "roots": {} });
    assert_eq!(discover["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"], capabilities);
    remote.fail(&discover, -32601).await?;
    let initialize = remote.receive().await?;
    assert_eq!(initialize["params"]["capabilities"], capabilities);
    // A server may send `ping` before it answers `initialize`.
    remote.send(json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" })).await?;
    assert_eq!(remote.receive().await?, json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
    remote.respond(&initialize, json!({ "protocolVersion": "2025-11-25" })).await?;
    remote.receive().await?;
    let _client = connecting.await??;
    for (method, member, expected) in [
        ("elicitation/create", "result", json!({ "action": "accept", "content": { "asked": "name?" } })),
        ("roots/list", "error", json!({ "code": -32603, "message": "no roots" })),
        ("ping", "result", json!({})),
        (
            "sampling/createMessage",
            "error",
            json!({ "code": -32601, "message": "Method not found: sampling/createMessage" }),
        ),
    ] {
        remote.send(json!({ "jsonrpc": "2.0", "id": 5, "method": method, "params": { "message": "name?" } })).await?;
        assert_eq!(remote.receive().await?[member], expected);
    }
    Ok(())
}

#[tokio::test]
async fn notifications_go_both_ways() -> Test {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let options = options().on_notify("notifications/message", move |params: Value| {
        let _ = sender.send(params);
    });
    let (client, mut remote) = connect_legacy(options).await?;
    let message = |params: Value| json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
    remote.send(message(json!({ "level": "info" }))).await?;
    assert_eq!(timeout(TEST_TIMEOUT, seen.recv()).await?, Some(json!({ "level": "info" })));
    client.notify("notifications/roots/list_changed", &())?;
    let sent = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    assert_eq!(remote.receive().await?, sent);
    assert!(matches!(client.notify("notifications/x", &[1]), Err(Error::Call(CallError::Params(_)))));
    Ok(())
}

#[tokio::test]
async fn calls_end_when_the_client_is_closed_or_the_link_ends() -> Test {
    let (client, mut remote) = connect_legacy(options()).await?;
    let call = tokio::spawn(client.call::<Value>("tools/call", &()).into_future());
    remote.receive().await?;
    assert_eq!(timeout(TEST_TIMEOUT, client.close()).await?, Closed::Local);
    assert!(matches!(call.await?, Err(Error::Call(CallError::Destroyed))));

    let (client, mut remote) = connect_legacy(options()).await?;
    let call = tokio::spawn(client.call::<Value>("tools/call", &()).into_future());
    remote.receive().await?;
    remote.finish().await?;
    assert!(matches!(timeout(TEST_TIMEOUT, call).await??, Err(Error::Call(CallError::PeerGone))));
    assert_eq!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::End);
    Ok(())
}

#[tokio::test]
async fn the_link_closes_when_the_last_clone_of_the_client_is_dropped() -> Test {
    let (client, mut remote) = connect_legacy(options()).await?;
    let other = client.clone();
    drop(client);
    assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    drop::<Client>(other);
    assert!(remote.receive().await.is_err_and(|error| error.kind() == std::io::ErrorKind::UnexpectedEof));
    Ok(())
}
