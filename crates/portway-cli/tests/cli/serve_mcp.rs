//! `portway serve --mcp-http`. `--only mcp` runs the command with official clients and servers.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::command::{TEST_TIMEOUT, Test, run};
use crate::serve::Serving;

/// A server that answers each request with the id of its process.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":{"process":"%s"}}\n' "$id" $$
done"#;

/// A running command.
struct Bridge {
    serving: Serving,
    address: String,
}

impl Bridge {
    async fn start(options: &[&str]) -> Result<Self, Box<dyn std::error::Error>> {
        let arguments = [&["--mcp-http", "0"], options, &["--", "sh", "-c", SERVER]].concat();
        let mut serving = Serving::start(&arguments)?;
        let url = serving.address().await?;
        let address = url.strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp")).ok_or("no URL")?.to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        Ok(Self { serving, address })
    }

    /// Sends a request. Returns the status, the head and the body of the response.
    async fn send(&self, headers: &str, body: &str) -> Result<(u16, String, Value), Box<dyn std::error::Error>> {
        let mut stream = TcpStream::connect(&self.address).await?;
        let headers = format!("Content-Type: application/json\r\nConnection: close\r\n{headers}");
        let request = format!("POST /mcp HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        timeout(TEST_TIMEOUT, stream.read_to_string(&mut response)).await??;
        let (head, body) = response.split_once("\r\n\r\n").ok_or("no head")?;
        let status = head.split(' ').nth(1).unwrap_or_default().parse()?;
        Ok((status, head.to_ascii_lowercase(), serde_json::from_str(body).unwrap_or_default()))
    }

    /// Begins a session. Returns the headers of its further requests, and the id of its process.
    async fn begin(&self) -> Result<(String, String), Box<dyn std::error::Error>> {
        let (status, head, body) = self.send("Host: localhost\r\n", INITIALIZE).await?;
        assert_eq!(status, 200, "{body}");
        let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).ok_or("no session")?;
        let process = body["result"]["process"].as_str().unwrap_or_default();
        Ok((format!("Host: localhost\r\nMcp-Session-Id: {id}\r\n"), process.to_owned()))
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[tokio::test]
async fn a_session_uses_its_process_until_the_command_ends() -> Test {
    let bridge = Bridge::start(&["--host", "mcp.example"]).await?;
    let (session, process) = bridge.begin().await?;
    let (status, _, body) = bridge.send(&session, LIST).await?;
    assert_eq!((status, body), (200, json!({ "jsonrpc": "2.0", "id": 2, "result": { "process": process } })));
    for (headers, status) in [
        ("Host: mcp.example\r\n", 400),
        ("Host: other.example\r\n", 421),
        ("Host: localhost\r\nOrigin: http://other.example\r\n", 403),
    ] {
        assert_eq!(bridge.send(headers, LIST).await?.0, status, "{headers}");
    }
    bridge.serving.signal()?;
    assert_eq!(bridge.serving.code().await?, Some(0));
    assert!(!fs::exists(format!("/proc/{process}"))?, "the process must have ended");
    Ok(())
}

#[tokio::test]
async fn a_further_session_is_refused() -> Test {
    let bridge = Bridge::start(&["--max-sessions", "1"]).await?;
    bridge.begin().await?;
    let (status, _, body) = bridge.send("Host: localhost\r\n", INITIALIZE).await?;
    assert_eq!((status, &body["error"]["code"]), (503, &json!(-32603)));
    Ok(())
}

#[tokio::test]
async fn an_idle_session_ends() -> Test {
    let bridge = Bridge::start(&["--session-idle", "1"]).await?;
    let (session, process) = bridge.begin().await?;
    let start = Instant::now();
    while fs::exists(format!("/proc/{process}"))? {
        assert!(start.elapsed() < TEST_TIMEOUT, "the process must end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(bridge.send(&session, LIST).await?.0, 404);
    Ok(())
}

#[tokio::test]
async fn a_long_body_is_refused() -> Test {
    let bridge = Bridge::start(&["--max-bytes", "100"]).await?;
    let (session, _) = bridge.begin().await?;
    let long = format!("{LIST}{}", " ".repeat(101 - LIST.len()));
    assert_eq!(bridge.send(&session, &long).await?.0, 413);
    assert_eq!(bridge.send(&session, &long[..100]).await?.0, 200);
    Ok(())
}

#[tokio::test]
async fn invalid_combinations_of_options_exit_with_2() -> Test {
    for arguments in [
        &["serve", "--mcp-http", "0", "--ws", "127.0.0.1:0", "--", "cat"][..],
        &["serve", "--mcp-http", "0", "--framing", "newline", "--", "cat"],
        &["serve", "--mcp-http", "0", "--demo"],
        &["serve", "--mcp-http", "http://localhost", "--", "cat"],
        &["serve", "--mcp-http", "0"],
        &["serve", "--mcp-http", "0", "--token-file", "token", "--", "cat"],
        &["serve", "--mcp-http", "0", "--origin", "http://localhost", "--", "cat"],
        &["serve", "--ws", "127.0.0.1:0", "--max-sessions", "1", "--", "cat"],
        &["serve", "--stdio", "--session-idle", "1", "--", "cat"],
    ] {
        let ended = run(arguments).await?;
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
    }
    Ok(())
}
