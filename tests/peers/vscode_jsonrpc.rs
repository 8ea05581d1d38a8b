//! Tests with the npm package `vscode-jsonrpc`: Portway calls a server that uses the package, and serves a client that
//! uses the package.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portway::{Closed, Context, ErrorCode, Framing, Listener, Peer, RpcError, Transport};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::{file, program};

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts a server with vscode-jsonrpc. Returns a peer that calls the server, or `None` if Node is not installed.
fn server() -> Option<Peer> {
    let mut command = Command::new(program("PORTWAY_NODE")?);
    let transport = Transport::child(command.arg(file("node/server.mjs")), Framing::ContentLength).unwrap();
    let peer = Peer::new(transport);
    peer.method("answer", |params: Value, _: Context| async move {
        Ok::<_, RpcError>(if params["question"] == "how many?" { 42 } else { 0 })
    });
    Some(peer)
}

async fn call(peer: &Peer, method: &str, params: Value) -> Value {
    peer.call(method, &params).timeout(TEST_TIMEOUT).await.unwrap()
}

async fn failure(peer: &Peer, method: &str) -> RpcError {
    let failure = peer.call::<Value>(method, &()).timeout(TEST_TIMEOUT).await.unwrap_err();
    failure.remote().unwrap_or_else(|| panic!("{failure:?}")).clone()
}

/// Notifies the server to exit, and checks that its process exits successfully.
async fn end(peer: Peer) {
    peer.notify("exit", &()).unwrap();
    let closed = timeout(TEST_TIMEOUT, peer.client().closed()).await.unwrap();
    assert!(matches!(closed, Closed::Exited(status) if status.success()), "{closed:?}");
}

#[tokio::test]
async fn a_vscode_jsonrpc_server_answers_with_results() {
    let Some(peer) = server() else { return };
    let params = json!({ "text": "é€😀", "list": [1, null, { "a": true }] });
    assert_eq!(call(&peer, "echo", params.clone()).await, params);
    assert_eq!(call(&peer, "add", json!([1, 2])).await, 3);
    let nothing: Option<Value> = peer.call("nothing", &()).timeout(TEST_TIMEOUT).await.unwrap();
    assert_eq!(nothing, None);
    end(peer).await;
}

#[tokio::test]
async fn a_vscode_jsonrpc_server_answers_with_errors() {
    let Some(peer) = server() else { return };
    let error = failure(&peer, "fail").await;
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::new(-32001), "no such file"));
    assert_eq!(error.data(), Some(Ok(["main.rs".to_owned()])));
    assert_eq!(failure(&peer, "nope").await.code, ErrorCode::METHOD_NOT_FOUND);
    let error = failure(&peer, "crash").await;
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
    assert!(error.message.contains("an accident"), "{error:?}");
    end(peer).await;
}

#[tokio::test]
async fn a_vscode_jsonrpc_server_calls_the_client_during_a_call() {
    let Some(peer) = server() else { return };
    assert_eq!(call(&peer, "ask", json!({ "question": "how many?" })).await, "how many? 42");
    end(peer).await;
}

#[tokio::test]
async fn notifications_reach_a_vscode_jsonrpc_server_in_order() {
    let Some(peer) = server() else { return };
    let lines: Vec<String> = (0..100).map(|number| format!("line {number}")).collect();
    for line in &lines {
        peer.notify("log", &(line,)).unwrap();
    }
    assert_eq!(call(&peer, "lines", json!([])).await, json!(lines));
    end(peer).await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_a_vscode_jsonrpc_server() {
    let Some(peer) = server() else { return };
    let pending_call = peer.call::<Value>("wait", &json!({})).start();
    assert_eq!(call(&peer, "lines", json!([])).await, json!([]));
    drop(pending_call);
    assert_eq!(call(&peer, "lines", json!([])).await, json!(["cancelled"]));
    assert_eq!(peer.client().pending(), 0);
    end(peer).await;
}

#[tokio::test]
async fn a_vscode_jsonrpc_server_answers_a_thousand_pending_calls_and_a_large_call() {
    let Some(peer) = server() else { return };
    let calls: Vec<_> = (0..1_000)
        .map(|number| peer.call::<Value>("echo", &json!({ "number": number })).timeout(TEST_TIMEOUT).start())
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap()["number"], number);
    }
    let text = "é€😀".repeat(500_000);
    assert_eq!(call(&peer, "echo", json!({ "text": text })).await["text"], text);
    end(peer).await;
}

#[tokio::test]
async fn calls_end_when_a_vscode_jsonrpc_server_exits() {
    let Some(peer) = server() else { return };
    let pending_call = peer.call::<Value>("wait", &json!({})).start();
    call(&peer, "lines", json!([])).await;
    peer.notify("exit", &()).unwrap();
    let failure = timeout(TEST_TIMEOUT, pending_call).await.unwrap().unwrap_err();
    assert_eq!(failure, portway::CallError::PeerGone);
}

/// The state that the handlers of our server share.
#[derive(Default)]
struct Seen {
    lines: Mutex<Vec<String>>,
    started: Notify,
    was_dropped: AtomicBool,
}

/// Records that the handler that owns this guard was dropped.
struct Guard(Arc<Seen>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.was_dropped.store(true, Ordering::SeqCst);
    }
}

#[derive(Deserialize)]
struct Logged {
    line: String,
}

/// Registers the methods that tests/peers/node/client.mjs calls.
fn register(peer: &Peer) {
    let seen = Arc::<Seen>::default();
    let clone_seen = || Arc::clone(&seen);
    peer.method("echo", |params: Value, _: Context| async move { Ok::<_, RpcError>(params) });
    peer.method("add", |(a, b): (u32, u32), _: Context| async move { Ok::<_, RpcError>(a + b) });
    peer.method("nothing", |_: Value, _: Context| async { Ok::<_, RpcError>(()) });
    peer.method("fail", |_: Value, _: Context| async {
        Err::<(), _>(RpcError::new(ErrorCode::new(-32001), "no such file").with_data(&["main.rs"]))
    });
    peer.method("crash", |_: Value, _: Context| async { Err::<(), _>(RpcError::internal("an accident")) });
    let client = peer.client().clone();
    peer.method("ask", move |params: Value, _: Context| {
        let client = client.clone();
        async move {
            let answer: u32 = client.call("answer", &params).await?;
            Ok::<_, RpcError>(format!("{} {answer}", params["question"].as_str().unwrap_or_default()))
        }
    });
    let shared = clone_seen();
    peer.on_notify("log", move |Logged { line }: Logged, _: Context| {
        shared.lines.lock().unwrap().push(line);
    });
    let shared = clone_seen();
    peer.method("lines", move |_: Value, _: Context| {
        let lines = shared.lines.lock().unwrap().clone();
        async move { Ok::<_, RpcError>(lines) }
    });
    let shared = clone_seen();
    peer.method("wait", move |_: Value, _: Context| {
        let guard = Guard(Arc::clone(&shared));
        async move {
            guard.0.started.notify_one();
            std::future::pending::<()>().await;
            drop(guard);
            Ok::<_, RpcError>(())
        }
    });
    let shared = clone_seen();
    peer.method("started", move |_: Value, _: Context| {
        let shared = Arc::clone(&shared);
        async move {
            shared.started.notified().await;
            Ok::<_, RpcError>(())
        }
    });
    peer.method("dropped", move |_: Value, _: Context| {
        let was_dropped = seen.was_dropped.load(Ordering::SeqCst);
        async move { Ok::<_, RpcError>(was_dropped) }
    });
}

#[tokio::test]
async fn a_vscode_jsonrpc_client_calls_our_server() {
    let Some(node) = program("PORTWAY_NODE") else { return };
    let path = std::env::temp_dir().join(format!("portway-vscode-{}.sock", std::process::id()));
    let listener = Listener::unix(&path, Framing::ContentLength).await.unwrap();
    tokio::spawn(listener.serve(register));
    let run = Command::new(node).arg(file("node/client.mjs")).arg(&path).kill_on_drop(true).output();
    let output = timeout(TEST_TIMEOUT, run).await.unwrap().unwrap();
    let text_of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text_of(&output.stdout), text_of(&output.stderr));
    assert_eq!(text_of(&output.stdout).trim(), "all is well");
}
