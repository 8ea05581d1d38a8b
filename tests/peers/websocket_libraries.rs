//! Tests of WebSockets with other programs: the npm packages `ws` and Portway, and the Python package `websockets`.

use std::process::Stdio;
use std::time::Duration;

use portway::{CallError, Closed, Context, ErrorCode, Listener, Peer, RpcError, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use crate::{file, program};

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs a script of the folder `websocket` with the program that `variable` names. Returns `None` if the variable is
/// not set. The process is killed when the test ends.
fn start(variable: &str, script: &str, words: &[&str]) -> Option<Child> {
    let mut command = Command::new(program(variable)?);
    command.arg(file("websocket").join(script)).args(words).stdout(Stdio::piped()).kill_on_drop(true);
    Some(command.spawn().unwrap())
}

/// Returns the first line of the program's output.
async fn line(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    timeout(TEST_TIMEOUT, lines.next_line()).await.unwrap().unwrap().unwrap()
}

async fn connect(child: &mut Child) -> Peer {
    let line = line(child).await;
    let port = line.strip_prefix("listening on port ").unwrap_or_else(|| panic!("{line}"));
    let transport = Transport::websocket(&format!("ws://127.0.0.1:{port}/")).await.unwrap();
    let peer = Peer::new(transport).with_timeout(TEST_TIMEOUT);
    peer.method_sync("name", |_: Value, _: Context| Ok::<_, RpcError>("Ada"));
    peer
}

/// Serves `add`, and `ask`, which calls `name` of the client. Returns the URL.
async fn serve() -> String {
    let listener = Listener::websocket("127.0.0.1:0").await.unwrap();
    let address = listener.address().unwrap();
    tokio::spawn(listener.serve(|peer| {
        let client = peer.client().clone();
        peer.method_sync("add", |(a, b): (i64, i64), _: Context| Ok::<_, RpcError>(a + b));
        peer.method("ask", move |(text,): (String,), _: Context| {
            let client = client.clone();
            async move {
                let name: String = client.call("name", &()).await?;
                Ok::<_, CallError>((name, text.encode_utf16().count()))
            }
        });
    }));
    format!("ws://{address}/")
}

/// Checks that a server sends three notifications, refuses an unknown method, and ends the connection. `end` returns
/// whether the link has ended in the expected way.
async fn assert_ticks_errors_and_end(peer: &Peer, end: impl Fn(&Closed) -> bool) {
    let (sender, mut ticks) = unbounded_channel();
    peer.on_notify("ticked", move |(tick,): (u32,), _: Context| {
        // Sending fails if the test has ended.
        let _ = sender.send(tick);
    });
    peer.call::<()>("tick", &()).await.unwrap();
    for expected in 0..3 {
        assert_eq!(timeout(TEST_TIMEOUT, ticks.recv()).await.unwrap(), Some(expected));
    }
    let failure = peer.call::<Value>("nope", &()).await.unwrap_err();
    assert_eq!(failure.remote().map(|error| error.code), Some(ErrorCode::METHOD_NOT_FOUND), "{failure:?}");
    assert!(peer.call::<Value>("drop", &()).await.is_err());
    let closed = timeout(TEST_TIMEOUT, peer.closed()).await.unwrap();
    assert!(end(&closed), "{closed:?}");
}

#[tokio::test]
async fn a_ws_server_answers_calls_and_notifies_our_client() {
    let Some(mut server) = start("PORTWAY_NODE", "ws-server.mjs", &[]) else { return };
    let peer = connect(&mut server).await;
    let text = "é€😀".repeat(50_000);
    assert_eq!(peer.call::<Value>("ask", &(&text,)).await.unwrap(), json!(["Ada", 200_000]));
    assert_ticks_errors_and_end(&peer, |closed| !matches!(closed, Closed::WebSocket { .. })).await;
}

#[tokio::test]
async fn a_websockets_server_answers_calls_and_notifies_our_client() {
    let Some(mut server) = start("PORTWAY_PYGLS_PYTHON", "websockets_server.py", &[]) else { return };
    let peer = connect(&mut server).await;
    let text = "é€😀".repeat(50_000);
    assert_eq!(peer.call::<Value>("echo", &(&text,)).await.unwrap(), json!([text]));
    assert_eq!(peer.call::<Value>("ask", &()).await.unwrap(), json!(["héllo 😀", "Ada"]));
    let restart = Closed::WebSocket { code: 1012, reason: "restart".to_owned() };
    assert_ticks_errors_and_end(&peer, |closed| *closed == restart).await;
}

#[tokio::test]
async fn a_ws_client_calls_our_server() {
    let Some(mut client) = start("PORTWAY_NODE", "ws-client.mjs", &[&serve().await]) else { return };
    let answers: Value = serde_json::from_str(&line(&mut client).await).unwrap();
    assert_eq!(answers, json!({ "added": 3, "unknown": -32601, "asked": ["Ada", 200_000], "inOrder": true }));
}

#[tokio::test]
async fn a_websockets_client_calls_our_server() {
    let Some(mut client) = start("PORTWAY_PYGLS_PYTHON", "websockets_client.py", &[&serve().await]) else { return };
    let answers: Value = serde_json::from_str(&line(&mut client).await).unwrap();
    let expected = json!({
        "added": { "jsonrpc": "2.0", "result": 3, "id": 1 },
        "unknown": ["ü", -32601],
        "garbage": [null, -32700],
        "fragments": 42,
        "question": "name",
        "asked": ["Ada", 200_000],
        "closed": 1000,
    });
    assert_eq!(answers, expected);
}
