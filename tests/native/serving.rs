//! Each request is answered exactly once, whatever its handler does.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use portway::profile::Profile;
use portway::{CallError, Client, Context, ErrorCode, Framing, Peer, RpcError, Server, Transport};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::wire::{TEST_TIMEOUT, transport_with_remote_end, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

#[derive(Serialize, Deserialize)]
struct Add {
    a: u32,
    b: u32,
}

fn serve_add_and_version(server: &Server) {
    server.method("add", |Add { a, b }: Add, _: Context| async move {
        a.checked_add(b).ok_or_else(|| RpcError::invalid_params("too large").with_data(&["a", "b"]))
    });
    server.method_sync("version", |(): (), _: Context| Ok::<_, RpcError>("1.0.0"));
}

#[tokio::test]
async fn a_request_is_answered_with_its_unchanged_id() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    serve_add_and_version(&server);
    server.forget();
    for id in ["1", "\"1\"", "1.0", "1e2", "-0", "null", "12345678901234567890123", "\"\""] {
        there.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"version"}}"#)).await?;
        let answer = there.receive().await?;
        assert_eq!(answer["result"], "1.0.0");
        let expected: serde_json::Value = serde_json::from_str(id)?;
        assert_eq!(answer["id"], expected);
    }
    Ok(())
}

#[tokio::test]
async fn the_caller_receives_an_error_for_unknown_methods_bad_params_and_failed_handlers() -> Test {
    let (here, there) = Transport::pair()?;
    let server = Server::new(there);
    serve_add_and_version(&server);
    server.forget();
    let client = Client::new(here);
    let error = |outcome: Result<u32, CallError>| outcome.err().and_then(|error| error.remote().cloned());
    let unknown = error(client.call("subtract", &()).await);
    assert_eq!(unknown, Some(RpcError::new(ErrorCode::METHOD_NOT_FOUND, "Method not found: subtract")));
    let reserved = error(client.call("rpc.anything", &()).await);
    assert_eq!(reserved.map(|error| error.code), Some(ErrorCode::METHOD_NOT_FOUND));
    let invalid = error(client.call("add", &["x"]).await);
    assert_eq!(invalid.map(|error| error.code), Some(ErrorCode::INVALID_PARAMS));
    let failed = error(client.call("add", &Add { a: u32::MAX, b: 1 }).await);
    assert_eq!(failed, Some(RpcError::invalid_params("too large").with_data(&["a", "b"])));
    assert_eq!(client.call::<u32>("add", &Add { a: 1, b: 2 }).await, Ok(3));
    Ok(())
}

#[tokio::test]
async fn an_error_repeats_at_most_100_characters_of_params_of_a_wrong_type() -> Test {
    let (here, there) = Transport::pair()?;
    let server = Server::new(there);
    serve_add_and_version(&server);
    server.forget();
    let client = Client::new(here);
    for a in ["x".repeat(1_000_000), "é".repeat(100_000)] {
        let Err(CallError::Remote(error)) = client.call::<u32>("add", &json!({ "a": a, "b": 1 })).await else {
            return Err("an error is expected".into());
        };
        let repeated = error.message.chars().filter(|&character| a.starts_with(character)).count();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        assert!((50..=100).contains(&repeated), "{repeated} characters: {error}");
    }
    Ok(())
}

#[tokio::test]
async fn the_details_of_a_failed_call_in_a_handler_are_not_sent_to_the_caller() -> Test {
    let (here, there) = Transport::pair()?;
    let server = Server::new(there);
    let (inner, inner_there) = Transport::pair()?;
    let inner_server = Server::new(inner_there);
    inner_server.method_sync("secret", |(): (), _: Context| Ok::<_, RpcError>("s3cret"));
    inner_server.forget();
    let inner = Arc::new(Client::new(inner));
    server.method("deserialize", move |(): (), _: Context| {
        let inner = Arc::clone(&inner);
        async move { Ok::<u32, RpcError>(inner.call("secret", &()).await?) }
    });
    let lost = Client::new(Transport::new(Broken, tokio::io::sink(), Framing::ContentLength)?);
    let closed = timeout(TEST_TIMEOUT, lost.closed()).await?;
    assert!(closed.to_string().contains("/home/s3cret"), "{closed}");
    let lost = Arc::new(lost);
    server.method("lost", move |(): (), _: Context| {
        let lost = Arc::clone(&lost);
        async move { Ok::<u32, RpcError>(lost.call("any", &()).await?) }
    });
    server.forget();
    let client = Client::new(here);
    for (method, message) in [("deserialize", "failed to deserialize the result"), ("lost", "the link is lost")] {
        let error = client.call::<u32>(method, &()).await;
        assert_eq!(error, Err(CallError::Remote(RpcError::internal(message))), "{method}");
    }
    Ok(())
}

/// An input whose reads fail with an error that contains a path.
struct Broken;

impl AsyncRead for Broken {
    fn poll_read(self: Pin<&mut Self>, _: &mut TaskContext<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::Error::other("cannot read /home/s3cret")))
    }
}

#[tokio::test]
async fn a_caller_does_not_receive_the_text_of_a_panic_in_a_handler() -> Test {
    let (here, there) = Transport::pair()?;
    let (sender, mut panic_texts) = mpsc::unbounded_channel();
    let there = there.on_diagnostic(move |diagnostic| {
        if let portway::Diagnostic::Panicked { method, message } = diagnostic {
            let _ = sender.send(format!("{method}: {message}"));
        }
    });
    let server = Server::new(there);
    server.method_sync("at once", |(): (), _: Context| -> Result<(), RpcError> {
        panics("secret 1");
        Ok(())
    });
    server.method("later", |(): (), _: Context| async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        panics("a secret");
        Ok::<_, RpcError>(())
    });
    server.on_notify("notified", |(): (), _: Context| panics("notified"));
    server.forget();
    let client = Client::new(here);
    client.notify("notified", &())?;
    for method in ["at once", "later", "at once"] {
        let error = client.call::<()>(method, &()).await;
        assert_eq!(error, Err(CallError::HandlerPanicked), "{method}");
    }
    let mut texts = Vec::new();
    for _ in 0..4 {
        texts.push(timeout(TEST_TIMEOUT, panic_texts.recv()).await?.unwrap_or_default());
    }
    assert_eq!(texts, ["notified: notified", "at once: secret 1", "later: a secret", "at once: secret 1"]);
    Ok(())
}

#[allow(clippy::panic, reason = "a handler of these tests panics")]
fn panics(text: &str) {
    panic!("{text}");
}

#[tokio::test]
async fn requests_overlap_and_each_is_answered_when_its_handler_ends() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (open, gate) = oneshot::channel::<()>();
    let gate = std::sync::Mutex::new(Some(gate));
    let server = Server::new(transport);
    serve_add_and_version(&server);
    server.method("wait", move |(): (), _: Context| {
        let gate = gate.lock().ok().and_then(|mut gate| gate.take());
        async move {
            if let Some(gate) = gate {
                let _ = gate.await;
            }
            Ok::<_, RpcError>("opened")
        }
    });
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"wait"}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","id":2,"method":"add","params":{"a":1,"b":2}}"#).await?;
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 2, "result": 3 }));
    assert!(open.send(()).is_ok());
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "result": "opened" }));
    Ok(())
}

#[tokio::test]
async fn a_handler_without_params_or_with_defaults_accepts_params_that_are_absent_null_or_empty() -> Test {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Options {
        depth: u32,
    }
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    server.method_sync("none", |(): (), _: Context| Ok::<_, RpcError>("none"));
    server.method_sync("defaults", |options: Options, _: Context| Ok::<_, RpcError>(options.depth));
    server.method_sync("list", |list: Vec<u32>, _: Context| Ok::<_, RpcError>(list.len()));
    server.forget();
    for params in
        ["", r#","params":null"#, r#","params":[]"#, r#","params":{}"#, r#","params":[ ]"#, r#","params":{ }"#]
    {
        for (method, result) in [("none", json!("none")), ("defaults", json!(0)), ("list", json!(0))] {
            there.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#)).await?;
            assert_eq!(there.receive().await?["result"], result, "{method}{params}");
        }
    }
    for params in ["[1]", r#"{"a":1}"#] {
        there.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"none","params":{params}}}"#)).await?;
        assert_eq!(there.receive().await?["error"]["code"], json!(-32602), "{params}");
    }
    Ok(())
}

#[tokio::test]
async fn a_language_server_answers_a_quick_request_while_a_slow_request_runs() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport.with_profile(Profile::LSP));
    server.method("references", |(): (), _: Context| std::future::pending::<Result<(), RpcError>>());
    server.method_sync("hover", |(): (), _: Context| Ok::<_, RpcError>("a word"));
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"references"}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","id":2,"method":"hover"}"#).await?;
    let hover = timeout(TEST_TIMEOUT, there.receive()).await??;
    assert_eq!(hover, json!({ "jsonrpc": "2.0", "id": 2, "result": "a word" }));
    there.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#).await?;
    let cancelled = timeout(TEST_TIMEOUT, there.receive()).await??;
    assert_eq!((&cancelled["id"], &cancelled["error"]["code"]), (&json!(1), &json!(-32800)));
    there.send("[]").await?;
    assert_eq!(there.receive().await?["error"]["data"], json!({ "reason": "batch-not-supported" }));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_sequential_profile_requests_run_one_by_one_and_are_answered_in_order() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let busy = Arc::new(AtomicBool::new(false));
    let server = Server::new(transport.with_profile(Profile::DAEMON));
    server.method("work", move |(number,): (u64,), _: Context| {
        let busy = Arc::clone(&busy);
        async move {
            assert!(!busy.swap(true, Ordering::SeqCst), "only one request may run at a time");
            if number % 3 == 0 {
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            busy.store(false, Ordering::SeqCst);
            Ok::<_, RpcError>(number)
        }
    });
    server.forget();
    // There are more requests than may run at a time without this profile. They wait in a queue, and none is refused.
    let sender = tokio::spawn(async move {
        for number in 0..3_000 {
            there
                .send(&json!({ "jsonrpc": "2.0", "id": number, "method": "work", "params": [number] }).to_string())
                .await?;
        }
        for number in 0..3_000 {
            let answer = there.receive().await?;
            assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": number, "result": number }));
        }
        Ok::<_, std::io::Error>(())
    });
    timeout(TEST_TIMEOUT, sender).await???;
    Ok(())
}

#[tokio::test]
async fn a_cancelled_request_is_answered_and_its_future_is_dropped() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut events) = mpsc::unbounded_channel();
    let server = Server::new(transport);
    server.method("build", move |(): (), context: Context| {
        let sender = sender.clone();
        async move {
            let cancelled = context.cancelled();
            let other_sender = sender.clone();
            tokio::spawn(async move {
                cancelled.await;
                let _ = other_sender.send("elsewhere");
            });
            let _guard = ReportsDrop(sender, "dropped");
            std::future::pending::<()>().await;
            Ok::<_, RpcError>(())
        }
    });
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","id":"b","method":"build"}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"b"}}"#).await?;
    let answer = json!({ "jsonrpc": "2.0", "id": "b", "error": { "code": -32800, "message": "Request cancelled" } });
    assert_eq!(there.receive().await?, answer);
    let mut received = Vec::new();
    for _ in 0..2 {
        received.push(timeout(TEST_TIMEOUT, events.recv()).await?);
    }
    received.sort_unstable();
    assert_eq!(received, [Some("dropped"), Some("elsewhere")]);
    // A second cancellation has no effect.
    there.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"b"}}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","id":2,"method":"none"}"#).await?;
    assert_eq!(there.receive().await?["id"], 2);
    Ok(())
}

/// Sends the text in its second field when it is dropped.
pub(crate) struct ReportsDrop(pub(crate) mpsc::UnboundedSender<&'static str>, pub(crate) &'static str);

impl Drop for ReportsDrop {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

#[tokio::test]
async fn a_batch_is_answered_by_a_batch() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    serve_add_and_version(&server);
    server.forget();
    there.send(r#"[{"jsonrpc":"2.0","id":1,"method":"version"},{"jsonrpc":"2.0","method":"version"},5]"#).await?;
    let answers = there.receive().await?;
    assert_eq!(answers.as_array().map(Vec::len), Some(2));
    there.send("[]").await?;
    assert_eq!(there.receive().await?["error"]["code"], -32600);
    Ok(())
}

#[tokio::test]
async fn a_client_answers_requests_of_its_peer_with_an_error() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"workspace/configuration","params":{}}"#).await?;
    assert_eq!(there.receive().await?["error"]["code"], -32601);
    drop(client);
    Ok(())
}

#[tokio::test]
async fn a_method_with_a_reserved_name_is_not_registered() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut names) = mpsc::unbounded_channel();
    let server = Server::new(transport.on_diagnostic(move |diagnostic| {
        if let portway::Diagnostic::ReservedName { method } = diagnostic {
            let _ = sender.send(method.to_owned());
        }
    }));
    server.method_sync("rpc.mine", |(): (), _: Context| Ok::<_, RpcError>(()));
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"rpc.mine"}"#).await?;
    assert_eq!(there.receive().await?["error"]["code"], -32601);
    assert_eq!(names.try_recv().ok().as_deref(), Some("rpc.mine"));
    Ok(())
}

/// While an agent handles a request of its editor, it calls the editor. If the editor cancels the request, the call of
/// the agent must also be cancelled.
#[tokio::test]
async fn the_cancellation_of_a_request_cancels_the_calls_of_its_handler() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::Newline)?;
    let peer = Peer::new(transport.with_profile(Profile::ACP));
    let client = peer.client().clone();
    peer.method("session/prompt", move |(): (), _: Context| {
        let client = client.clone();
        async move { Ok::<(), RpcError>(client.call("fs/read_text_file", &["a.txt"]).timeout(None).await?) }
    });
    peer.forget();
    there.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/prompt\"}\n").await?;
    let call: Value = serde_json::from_str(&there.receive_line().await?)?;
    assert_eq!((&call["method"], &call["id"]), (&json!("fs/read_text_file"), &json!(1)));
    let cancel = br#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#;
    there.send_bytes(&[&cancel[..], b"\n"].concat()).await?;
    let mut lines = [there.receive_line().await?, there.receive_line().await?];
    lines.sort();
    let answer = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32800,"message":"Request cancelled"}}"#;
    let cancelled_call = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#;
    assert_eq!(lines, [format!("{answer}\n"), format!("{cancelled_call}\n")]);
    Ok(())
}

#[tokio::test]
async fn an_error_repeats_at_most_100_characters_of_a_message() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    serve_add_and_version(&server);
    server.stream_method("count", |(): (), _: Context| futures_util::stream::iter([Ok::<_, RpcError>(1)]));
    server.forget();
    let (name, long) = ("m".repeat(1_024), "m".repeat(1_000_000));
    let stream_of = |method: &str| format!(r#""rpc.stream","params":{{"method":"{method}","credit":1}}"#);
    let quoted = |method: &str| format!("\"{method}\"");
    for (method, code) in [
        (quoted(&name), -32601),
        (stream_of(&name), -32601),
        (quoted(&long), -32600),
        (stream_of(&long), -32600),
        (format!(r#""add","params":["{long}"]"#), -32602),
        (format!(r#""add","params":{{"{long}":1}}"#), -32602),
        (format!(r#""add","params":{{"a":"{long}","b":1}}"#), -32602),
        (format!(r#""add","params":{{"a":{},"b":1}}"#, "9".repeat(300)), -32602),
    ] {
        there.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":{method}}}"#)).await?;
        let answer = there.receive().await?;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(code)), "{answer}");
        let text = answer.to_string();
        assert!(!text.contains(&"m".repeat(101)) && text.len() < 400, "{text}");
        let reason = if code == -32600 { json!("method-too-long") } else { Value::Null };
        assert_eq!(answer["error"]["data"]["reason"], reason);
        if code == -32601 {
            assert_eq!(answer["error"]["message"], format!("Method not found: {}", "m".repeat(100)));
        }
    }
    // A notification whose method name is too long is dropped without an answer, and the next message is served.
    there.send(&format!(r#"{{"jsonrpc":"2.0","method":"{long}"}}"#)).await?;
    there.send(r#"{"jsonrpc":"2.0","id":2,"method":"version"}"#).await?;
    assert_eq!(there.receive().await?["id"], 2);
    Ok(())
}

#[tokio::test]
async fn a_request_whose_id_is_too_long_is_refused_and_sends_no_progress() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    server.method("work", |(): (), context: Context| async move {
        for step in 0..100 {
            context.progress(&step)?;
        }
        Ok::<_, RpcError>("done")
    });
    server.forget();
    let id = "z".repeat(9_000_000);
    there.send(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"work"}}"#)).await?;
    let answer = there.receive().await?;
    assert_eq!((&answer["id"], &answer["error"]["data"]["reason"]), (&Value::Null, &json!("id-too-long")));
    there.send(r#"{"jsonrpc":"2.0","id":"z","method":"work"}"#).await?;
    for step in 0..100 {
        assert_eq!(there.receive().await?["params"], json!({ "token": "z", "value": step }));
    }
    assert_eq!(there.receive().await?["result"], "done");
    Ok(())
}
