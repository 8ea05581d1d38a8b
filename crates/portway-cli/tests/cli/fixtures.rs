//! The peers that the tests call: a server that uses the library, and shell scripts.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use portway::{Context, ErrorCode, Framing, Listener, Peer, RpcError};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// A server on a Unix domain socket and on TCP.
pub(crate) struct Server {
    _folder: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) address: String,
    /// Receives the params of each `log` notification. Receives `waiting` when a call of `wait` begins, and `cancelled`
    /// after the call is cancelled.
    pub(crate) received: mpsc::UnboundedReceiver<String>,
}

impl Server {
    pub(crate) async fn start(framing: Framing) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("server.sock");
        let (sender, received) = mpsc::unbounded_channel();
        let unix = Listener::unix(&path, framing).await?;
        let tcp = Listener::tcp("127.0.0.1:0", framing).await?;
        let address = tcp.address().ok_or("no address")?.to_string();
        let reported = sender.clone();
        tokio::spawn(unix.serve(move |peer| set_up(peer, &reported)));
        tokio::spawn(tcp.serve(move |peer| set_up(peer, &sender)));
        Ok(Self { _folder: folder, path, address, received })
    }

    pub(crate) fn path(&self) -> &str {
        self.path.to_str().unwrap_or_default()
    }
}

fn set_up(peer: &Peer, report: &mpsc::UnboundedSender<String>) {
    peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
    peer.method("echo", |params: Box<RawValue>, _: Context| async move { Ok::<_, RpcError>(params) });
    peer.method("fail", |data: Option<Value>, _: Context| async move {
        let error = RpcError::new(ErrorCode::new(-32001), "it \u{1b}[31mbroke");
        Err::<(), _>(if let Some(data) = data { error.with_data(&data) } else { error })
    });
    peer.method("large", |(bytes,): (usize,), _: Context| async move { Ok::<_, RpcError>("x".repeat(bytes)) });
    peer.method("advance", |(): (), context: Context| async move {
        context.progress(&json!({ "percent": 50 }))?;
        context.notify("$/progress", &json!({ "token": "mine", "value": 1 }))?;
        Ok::<_, RpcError>("done")
    });
    let sender = report.clone();
    peer.method("wait", move |(): (), context: Context| {
        // Another task sends `cancelled`, since the future of a cancelled handler is dropped.
        let (sender, cancelled) = (sender.clone(), context.cancelled());
        let _ = sender.send("waiting".to_owned());
        tokio::spawn(async move {
            cancelled.await;
            let _ = sender.send("cancelled".to_owned());
        });
        async {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            Ok::<_, RpcError>(())
        }
    });
    let sender = report.clone();
    peer.on_notify("log", move |params: Option<Value>, _: Context| {
        let _ = sender.send(params.unwrap_or_default().to_string());
    });
}

/// Returns arguments that start a shell script. The script reads lines, runs `action` for each request or notification,
/// and ignores other lines.
pub(crate) fn line_script(action: &str) -> Vec<String> {
    let script =
        format!(r#"while IFS= read -r line; do case "$line" in '{{"jsonrpc'*'"method"'*) {action} ;; esac; done"#);
    ["--", "sh", "-c", &script].map(str::to_owned).to_vec()
}

/// Returns arguments that start a shell script. The script reads the first line of a frame, and runs `action` if the
/// line is a header `Content-Length`. The script discards all further input.
pub(crate) fn frame_script(action: &str) -> Vec<String> {
    let script = format!(r#"read -r header; case "$header" in Content-Length*) {action} ;; esac; cat >/dev/null"#);
    ["--", "sh", "-c", &script].map(str::to_owned).to_vec()
}

/// Returns a shell command that prints a frame.
pub(crate) fn printed_frame(body: &str) -> String {
    format!(r"printf 'Content-Length: {}\r\n\r\n%s' '{body}'", body.len())
}
