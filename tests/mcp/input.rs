//! Servers of the modern era that need input to complete a request (MCP 2026-07-28, basic/patterns/mrtr).

use portway::mcp::{Error, Options};
use portway::{CallError, RpcError};
use serde_json::{Value, json};

use crate::remote::{Test, connect_legacy, connect_modern, options};

/// Returns options whose handler for elicitation accepts with the asked message.
fn with_elicitation() -> Options {
    options().method("elicitation/create", |params: Value| async move {
        Ok::<_, RpcError>(json!({ "action": "accept", "content": params["message"] }))
    })
}

fn elicit(message: &str) -> Value {
    json!({ "method": "elicitation/create", "params": { "message": message } })
}

#[tokio::test]
async fn a_call_that_needs_input_is_sent_again_under_a_new_id_with_the_state_of_the_server() -> Test {
    let (client, mut remote) = connect_modern(with_elicitation()).await?;
    let params = json!({ "name": "deploy", "arguments": { "to": "x" } });
    let call = tokio::spawn(client.call::<Value>("tools/call", &params).into_future());
    let first = remote.receive().await?;
    // The text of the state is repeated exactly, even with escapes.
    let id = &first["id"];
    remote
        .send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"\u0061/==","inputRequests":{{"b":{},"a":{}}}}}}}"#,
            elicit("one"),
            elicit("two"),
        ))
        .await?;
    let second = remote.receive().await?;
    assert_ne!(second["id"], first["id"]);
    let mut expected = first["params"].clone();
    expected["requestState"] = json!("a/==");
    expected["inputResponses"] =
        json!({ "b": { "action": "accept", "content": "one" }, "a": { "action": "accept", "content": "two" } });
    assert_eq!(second["params"], expected);

    // The next round has no state and no requests, so the next request has neither state nor responses.
    remote.respond(&second, json!({ "resultType": "input_required" })).await?;
    let third = remote.receive().await?;
    assert_eq!(third["params"], first["params"]);
    remote.respond(&third, json!({ "resultType": "complete", "content": [] })).await?;
    assert_eq!(call.await??, json!({ "resultType": "complete", "content": [] }));
    Ok(())
}

#[tokio::test]
async fn the_state_keeps_its_exact_text() -> Test {
    let (client, mut remote) = connect_modern(options()).await?;
    let call = tokio::spawn(client.call::<Value>("tools/call", &()).into_future());
    let first = remote.receive().await?;
    let state = "é\u{2028}\"\\ =?".repeat(1000);
    remote.respond(&first, json!({ "resultType": "input_required", "requestState": state })).await?;
    let second = remote.receive().await?;
    assert_eq!(second["params"]["requestState"], state);
    remote.respond(&second, json!({})).await?;
    assert_eq!(call.await??, json!({}));
    Ok(())
}

#[tokio::test]
async fn input_without_a_handler_or_with_a_failed_handler_ends_the_call_and_nothing_is_sent() -> Test {
    let options = with_elicitation()
        .method("roots/list", |_: Value| async { Err::<Value, _>(RpcError::internal("no roots")) })
        .method("sampling/createMessage", |_: Value| async { Ok::<_, RpcError>("not an object") });
    let (client, mut remote) = connect_modern(options).await?;
    for (method, code) in [("roots/list", -32603), ("sampling/createMessage", -32603), ("unknown", -32601)] {
        let call = tokio::spawn(client.call::<Value>("tools/call", &()).into_future());
        let request = remote.receive().await?;
        let requests = json!({ "a": { "method": method } });
        remote.respond(&request, json!({ "resultType": "input_required", "inputRequests": requests })).await?;
        let error = call.await?.err().ok_or("the call must fail")?;
        assert!(
            matches!(&error, Error::Input { method: failed, error } if failed == method && error.code.value() == code),
            "{error}"
        );
        assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn requests_for_input_that_cannot_be_read_end_the_call() -> Test {
    let (client, mut remote) = connect_modern(with_elicitation()).await?;
    for requests in [json!([]), json!({ "a": 1 }), json!({ "a": { "method": 1 } }), json!("x")] {
        let call = tokio::spawn(client.call::<Value>("tools/call", &()).into_future());
        let request = remote.receive().await?;
        remote.respond(&request, json!({ "resultType": "input_required", "inputRequests": requests })).await?;
        assert!(matches!(call.await?, Err(Error::Call(CallError::Deserialize(_)))), "{requests}");
        assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn a_call_has_at_most_sixteen_requests() -> Test {
    let (client, mut remote) = connect_modern(with_elicitation()).await?;
    for (rounds, is_error) in [(15, false), (16, true)] {
        let call = tokio::spawn(client.call::<Value>("tools/call", &()).into_future());
        for _ in 0..rounds {
            let request = remote.receive().await?;
            let requests = json!({ "a": elicit("again") });
            remote.respond(&request, json!({ "resultType": "input_required", "inputRequests": requests })).await?;
        }
        if !is_error {
            let request = remote.receive().await?;
            remote.respond(&request, json!({ "resultType": "complete" })).await?;
        }
        let outcome = call.await?;
        assert_eq!(matches!(outcome, Err(Error::TooManyRounds)), is_error, "{outcome:?}");
        assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn an_unknown_result_type_is_an_error() -> Test {
    let (client, mut remote) = connect_modern(options()).await?;
    for (result_type, name) in [(json!("task"), "task"), (json!(1), "1"), (json!(null), "null")] {
        let call = tokio::spawn(client.call::<Value>("tools/call", &()).into_future());
        let request = remote.receive().await?;
        remote.respond(&request, json!({ "resultType": result_type })).await?;
        assert!(matches!(call.await?, Err(Error::UnknownResultType(found)) if found == name));
    }
    Ok(())
}

#[tokio::test]
async fn a_legacy_result_may_have_any_member_result_type() -> Test {
    let (client, mut remote) = connect_legacy(with_elicitation()).await?;
    let call = tokio::spawn(client.call::<Value>("tools/call", &()).into_future());
    let request = remote.receive().await?;
    let result = json!({ "resultType": "input_required", "inputRequests": { "a": elicit("x") } });
    remote.respond(&request, result.clone()).await?;
    assert_eq!(call.await??, result);
    Ok(())
}
