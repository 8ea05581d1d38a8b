//! Calls whose notifications arrive as a stream.

use std::time::Duration;

use futures_util::StreamExt;
use portway::mcp::{Error, Update};
use portway::{CallError, Closed};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::remote::{Remote, Test, connect_legacy, connect_modern, options};
use crate::wire::TEST_TIMEOUT;

/// Returns an update as JSON, for comparison.
fn shown(update: &Update<Value>) -> serde_json::Result<Value> {
    Ok(match update {
        Update::Progress(value) => json!({ "progress": serde_json::from_str::<Value>(value.get())?["progress"] }),
        Update::Notification { method, params } => {
            let params = params.as_ref().map(|params| serde_json::from_str::<Value>(params.get())).transpose()?;
            json!({ "method": method, "params": params })
        }
        Update::Result(value) => json!({ "result": value }),
        other => json!(format!("{other:?}")),
    })
}

async fn notify(remote: &mut Remote, method: &str, params: Value) -> std::io::Result<()> {
    remote.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
}

#[tokio::test]
async fn progress_and_log_messages_arrive_in_order_before_the_result() -> Test {
    for is_modern in [false, true] {
        let (sender, mut logged) = mpsc::unbounded_channel();
        let options = options().on_notify("notifications/message", move |params: Value| {
            let _ = sender.send(params);
        });
        let connected = if is_modern { connect_modern(options).await } else { connect_legacy(options).await };
        let (client, mut remote) = connected?;
        let mut updates = client.stream::<Value>("tools/call", &json!({ "name": "steps" }));
        let answering = tokio::spawn(async move {
            let request = remote.receive().await?;
            let token = request["params"]["_meta"]["progressToken"].clone();
            for step in 1..=2 {
                let progress = json!({ "progressToken": token, "progress": step });
                notify(&mut remote, "notifications/progress", progress).await?;
                notify(&mut remote, "notifications/message", json!({ "data": step })).await?;
            }
            notify(&mut remote, "notifications/unknown", json!({})).await?;
            remote.respond(&request, json!({ "ok": true })).await?;
            std::io::Result::Ok(remote)
        });
        let mut seen = Vec::new();
        while let Some(update) = timeout(TEST_TIMEOUT, updates.next()).await? {
            seen.push(shown(&update?)?);
        }
        let log = |step: u32| json!({ "method": "notifications/message", "params": { "data": step } });
        let expected =
            [json!({ "progress": 1 }), log(1), json!({ "progress": 2 }), log(2), json!({ "result": { "ok": true } })];
        assert_eq!(seen, expected);
        assert!(updates.next().await.is_none());
        // The handler of the options receives the messages, too.
        assert_eq!(
            [logged.recv().await, logged.recv().await],
            [Some(json!({ "data": 1 })), Some(json!({ "data": 2 }))]
        );
        drop(answering.await??);
    }
    Ok(())
}

#[tokio::test]
async fn a_notification_of_a_subscription_is_only_in_its_stream() -> Test {
    let (client, mut remote) = connect_modern(options()).await?;
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let mut streams = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut updates = client.stream::<Value>("subscriptions/listen", &filter).timeout(None);
        // The first poll sends the request.
        assert!(timeout(Duration::from_millis(20), updates.next()).await.is_err());
        ids.push(remote.receive().await?["id"].clone());
        streams.push(updates);
    }
    for id in [&ids[1], &json!("foreign"), &ids[0]] {
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
        notify(&mut remote, "notifications/tools/list_changed", json!({ "_meta": meta })).await?;
    }
    for (updates, id) in streams.iter_mut().zip(&ids) {
        let update = timeout(TEST_TIMEOUT, updates.next()).await?.ok_or("the stream must not end")??;
        let meta = &shown(&update)?["params"]["_meta"];
        assert_eq!(&meta["io.modelcontextprotocol/subscriptionId"], id);
        assert!(timeout(Duration::from_millis(20), updates.next()).await.is_err());
    }
    // A stream that is dropped cancels its request.
    drop(streams.remove(0));
    let cancelled = remote.receive().await?;
    assert_eq!((&cancelled["method"], &cancelled["params"]["requestId"]), (&json!("notifications/cancelled"), &ids[0]));
    Ok(())
}

#[tokio::test]
async fn an_error_ends_the_stream() -> Test {
    let (client, mut remote) = connect_legacy(options()).await?;
    let mut updates = client.stream::<Value>("tools/call", &());
    let request = async {
        let request = remote.receive().await?;
        remote.fail(&request, -32602).await
    };
    let (update, answered) = tokio::join!(updates.next(), request);
    answered?;
    assert!(matches!(update, Some(Err(Error::Call(CallError::Remote(error)))) if error.code.value() == -32602));
    assert!(updates.next().await.is_none());

    let mut updates = client.stream::<Value>("tools/call", &()).timeout(Duration::from_millis(10));
    assert!(matches!(updates.next().await, Some(Err(Error::Call(CallError::TimedOut)))));
    assert_eq!(client.close().await, Closed::Local);
    let mut updates = client.stream::<Value>("tools/call", &());
    assert!(matches!(updates.next().await, Some(Err(Error::Call(_)))));
    assert!(updates.next().await.is_none());
    Ok(())
}
