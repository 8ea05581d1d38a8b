//! Tests of our peer over a WebSocket with aria2, a download program with a JSON-RPC server.

use std::fs;
use std::net::Ipv4Addr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use portway::{Context, Peer, Transport};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{sleep, timeout};

use crate::program;

const TEST_TIMEOUT: Duration = Duration::from_secs(60);
const CONTENT: &str = "0123456789abcdef";
const TOKEN: &str = "token:s3cret";

/// aria2 with a folder for its downloads. The program is killed when the test ends.
struct Aria2 {
    peer: Peer,
    events: UnboundedReceiver<(&'static str, Value)>,
    folder: TempDir,
    _child: Child,
}

impl Aria2 {
    /// Returns `None` if aria2 is not installed.
    async fn start() -> Option<Self> {
        let aria2 = program("PORTWAY_ARIA2")?;
        let folder = tempfile::tempdir().unwrap();
        // aria2 does not report a port that it chooses itself. So a listener finds a free port, and is dropped at once.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap().port();
        let mut command = Command::new(aria2);
        command.args(["--enable-rpc", "--rpc-secret=s3cret", "--no-conf", "--no-proxy=127.0.0.1"]);
        command.arg(format!("--rpc-listen-port={port}")).arg("--dir").arg(folder.path());
        let child = command.stdout(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        let peer = Peer::new(connect(&format!("ws://127.0.0.1:{port}/jsonrpc")).await).with_timeout(TEST_TIMEOUT);
        let (sender, events) = unbounded_channel();
        for name in ["aria2.onDownloadStart", "aria2.onDownloadComplete", "aria2.onDownloadError"] {
            let sender = sender.clone();
            peer.on_notify(name, move |(event,): (Value,), _: Context| {
                // Sending fails if the test has ended.
                let _ = sender.send((name, event["gid"].clone()));
            });
        }
        Some(Self { peer, events, folder, _child: child })
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        self.peer.call(method, &params).await.unwrap()
    }

    async fn event(&mut self) -> (&'static str, Value) {
        timeout(TEST_TIMEOUT, self.events.recv()).await.unwrap().unwrap()
    }
}

/// Connects to a server that may not listen yet: tries again until it listens.
async fn connect(url: &str) -> Transport {
    let start = Instant::now();
    loop {
        match Transport::websocket(url).await {
            Ok(transport) => return transport,
            Err(error) => assert!(start.elapsed() < TEST_TIMEOUT, "{error}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Starts an HTTP server that returns `CONTENT` for every path. Returns the URL of a file on this server.
async fn serve_file() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/file.txt", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") && stream.read_buf(&mut head).await.is_ok_and(|count| count > 0) {}
            let length = CONTENT.len();
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{CONTENT}");
            let _ = stream.write_all(response.as_bytes()).await;
        }
    });
    url
}

#[tokio::test]
async fn a_completed_download_is_notified() {
    let Some(mut aria2) = Aria2::start().await else { return };
    let gid = aria2.call("aria2.addUri", json!([TOKEN, [serve_file().await]])).await;
    assert_eq!(aria2.event().await, ("aria2.onDownloadStart", gid.clone()));
    assert_eq!(aria2.event().await, ("aria2.onDownloadComplete", gid.clone()));
    assert_eq!(fs::read_to_string(aria2.folder.path().join("file.txt")).unwrap(), CONTENT);
    let status = aria2.call("aria2.tellStatus", json!([TOKEN, gid, ["status"]])).await;
    assert_eq!(status, json!({ "status": "complete" }));
}

#[tokio::test]
async fn a_call_with_a_wrong_token_returns_an_error_of_the_peer() {
    let Some(aria2) = Aria2::start().await else { return };
    let failure = aria2.peer.call::<Value>("aria2.getVersion", &["token:wrong"]).await.unwrap_err();
    let error = failure.remote().unwrap_or_else(|| panic!("{failure:?}"));
    assert_eq!((error.code.value(), error.message.as_str()), (1, "Unauthorized"));
    let version = aria2.call("aria2.getVersion", json!([TOKEN])).await;
    assert!(version["version"].is_string(), "{version}");
}
