//! `portway serve`, and `portway call --ws`.

use std::fs;
use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use portway::{CallError, Client, Closed, Framing, Peer, Transport, WebSocketOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr};
use tokio::time::timeout;

use crate::command::{TEST_TIMEOUT, Test, portway, run};

/// A shell script that answers each line with a response. The response has the id 1, and its result is the line.
const ECHO: &str = r#"while IFS= read -r line; do printf '{"jsonrpc":"2.0","id":1,"result":%s}\n' "$line"; done"#;

/// A running `portway serve`.
pub(crate) struct Serving {
    child: Child,
    stderr: Lines<BufReader<ChildStderr>>,
}

impl Serving {
    pub(crate) fn start(arguments: &[&str]) -> io::Result<Self> {
        let mut child = portway(["serve"]).args(arguments).spawn()?;
        let stderr = child.stderr.take().ok_or_else(|| io::Error::other("no standard error"))?;
        Ok(Self { child, stderr: BufReader::new(stderr).lines() })
    }

    /// Waits for the next line `portway: listening on ADDRESS`, and returns the address.
    pub(crate) async fn address(&mut self) -> io::Result<String> {
        let line = timeout(TEST_TIMEOUT, self.stderr.next_line()).await??.unwrap_or_default();
        let address = line.strip_prefix("portway: listening on ").map(str::to_owned);
        address.ok_or_else(|| io::Error::other(format!("not an address: {line:?}")))
    }

    /// Sends SIGTERM to the command.
    pub(crate) fn signal(&self) -> io::Result<()> {
        let process = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id as i32));
        let process = process.ok_or_else(|| io::Error::other("the command has ended"))?;
        Ok(rustix::process::kill_process(process, rustix::process::Signal::TERM)?)
    }

    /// Waits until the command exits, and returns its exit code.
    pub(crate) async fn code(mut self) -> io::Result<Option<i32>> {
        Ok(timeout(TEST_TIMEOUT, self.child.wait()).await??.code())
    }
}

#[tokio::test]
async fn each_connection_on_any_socket_has_its_own_process_of_the_program() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("serve.sock");
    let path = path.to_str().ok_or("no path")?;
    let program = r#"while IFS= read -r line; do printf '{"jsonrpc":"2.0","id":1,"result":"%s"}\n' $$; done"#;
    let sockets = ["--unix", path, "--tcp", "127.0.0.1:0", "--ws", "127.0.0.1:0", "--framing", "newline"];
    let mut serving = Serving::start(&[&sockets[..], &["--", "sh", "-c", program]].concat())?;
    assert_eq!(serving.address().await?, path);
    let tcp = serving.address().await?;
    let tcp = tcp.strip_prefix("tcp://").ok_or("no TCP")?.to_owned();
    let ws = serving.address().await?;
    let clients = [
        Client::new(Transport::unix(path, Framing::Newline).await?),
        Client::new(Transport::tcp(&tcp, Framing::Newline).await?),
        Client::new(Transport::websocket(&ws).await?),
        Client::new(Transport::websocket(&ws).await?),
    ];
    let mut processes = Vec::new();
    for client in &clients {
        processes.push(client.call::<String>("which", &()).timeout(TEST_TIMEOUT).await?);
    }
    processes.sort_unstable();
    processes.dedup();
    assert_eq!(processes.len(), clients.len(), "each client must have its own process: {processes:?}");
    serving.signal()?;
    let end = timeout(TEST_TIMEOUT, clients[2].closed()).await?;
    assert_eq!(end, Closed::WebSocket { code: 1001, reason: String::new() });
    assert_eq!(serving.code().await?, Some(0));
    assert!(!fs::exists(path)?, "the socket file must be removed");
    for process in processes {
        assert!(!fs::exists(format!("/proc/{process}"))?, "the process {process} must have ended");
    }
    Ok(())
}

#[tokio::test]
async fn a_connection_and_its_process_end_together() -> Test {
    let program = r#"read -r line; printf '{"jsonrpc":"2.0","id":1,"result":"%s"}\n' $$; cat >/dev/null"#;
    let mut serving = Serving::start(&["--ws", "127.0.0.1:0", "--framing", "newline", "--", "sh", "-c", program])?;
    let url = serving.address().await?;
    let client = Client::new(Transport::websocket(&url).await?);
    let process = client.call::<String>("which", &()).timeout(TEST_TIMEOUT).await?;
    assert!(fs::exists(format!("/proc/{process}"))?);
    drop(client);
    timeout(TEST_TIMEOUT, async {
        while fs::exists(format!("/proc/{process}"))? {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        io::Result::Ok(())
    })
    .await??;
    let mut serving =
        Serving::start(&["--ws", "127.0.0.1:0", "--framing", "newline", "--", "sh", "-c", "read -r line; exit 3"])?;
    let client = Client::new(Transport::websocket(&serving.address().await?).await?);
    let error = client.call::<Value>("x", &()).timeout(TEST_TIMEOUT).await;
    assert_eq!(error, Err(CallError::PeerGone));
    let line = timeout(TEST_TIMEOUT, serving.stderr.next_line()).await??;
    assert_eq!(line.as_deref(), Some("portway: the program ended (exit status: 3)"));
    Ok(())
}

#[tokio::test]
async fn messages_from_a_websocket_reach_a_program_as_content_length_frames() -> Test {
    // This program answers with the header of the request.
    let program = r#"read -r header; read -r blank; header=$(printf %s "$header" | tr -d '\r')
        body="{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"$header\"}"
        printf 'Content-Length: %s\r\n\r\n%s' "${#body}" "$body"; cat >/dev/null"#;
    let mut serving = Serving::start(&["--ws", "127.0.0.1:0", "--", "sh", "-c", program])?;
    let client = Client::new(Transport::websocket(&serving.address().await?).await?);
    let header = client.call::<String>("initialize", &()).timeout(TEST_TIMEOUT).await?;
    let sent = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
    assert_eq!(header, format!("Content-Length: {}", sent.len()));
    Ok(())
}

#[tokio::test]
async fn the_demo_serves_its_methods_and_a_heartbeat() -> Test {
    let mut serving = Serving::start(&["--ws", "127.0.0.1:0", "--demo"])?;
    let url = serving.address().await?;
    let peer = Peer::new(Transport::websocket(&url).await?);
    let (sender, mut heartbeats) = tokio::sync::mpsc::unbounded_channel();
    peer.on_notify("stream.heartbeat", move |params: Value, _: portway::Context| {
        let _ = sender.send(params);
    });
    let client = peer.client().clone();
    peer.forget();
    assert_eq!(client.call::<Value>("ping", &()).await?, json!({ "pong": true }));
    assert_eq!(client.call::<Value>("echo", &json!({"a": [1, "ä"]})).await?, json!({"a": [1, "ä"]}));
    assert_eq!(client.call::<Value>("slow", &json!({"ms": 5})).await?, json!({ "ms": 5 }));
    assert_eq!(client.call::<Value>("slow", &(0,)).await?, json!({ "ms": 0 }));
    let problem = client.call::<Value>("slow", &(-1,)).await;
    let problem = problem.err().ok_or("-1 was accepted")?.to_string();
    assert_eq!(problem, "ms must be a non-negative integer, got -1 (-32602)");
    let items: Vec<_> = client.stream::<u64>("count", &(5,)).collect().await;
    assert_eq!(items.into_iter().collect::<Result<Vec<_>, _>>()?, [1, 2, 3, 4, 5]);
    for _ in 0..2 {
        let heartbeat = timeout(TEST_TIMEOUT, heartbeats.recv()).await?.ok_or("the end")?;
        assert!(heartbeat["t"].as_u64().is_some_and(|time| time > 1_600_000_000_000), "{heartbeat}");
    }
    // After the signal, the command must finish the running request.
    let call = tokio::spawn(client.call::<Value>("slow", &(300,)).timeout(TEST_TIMEOUT).into_future());
    assert_eq!(client.call::<Value>("ping", &()).await?, json!({ "pong": true }));
    serving.signal()?;
    assert_eq!(timeout(TEST_TIMEOUT, call).await??, Ok(json!({ "ms": 300 })));
    assert_eq!(serving.code().await?, Some(0));
    Ok(())
}

#[tokio::test]
async fn the_command_serves_standard_streams_and_exits_at_the_end_of_its_input() -> Test {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for arguments in [
        &["--stdio", "--demo", "--framing", "newline"][..],
        &["--stdio", "--framing", "newline", "--", "sh", "-c", ECHO],
    ] {
        let mut child = portway(["serve"]).args(arguments).stdin(std::process::Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().ok_or("no input")?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        stdin.write_all(format!("{request}\n").as_bytes()).await?;
        let response = loop {
            let line = timeout(TEST_TIMEOUT, lines.next_line()).await??.ok_or("the end")?;
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == 1 {
                break message;
            }
        };
        assert!(response["result"].is_object(), "{response}");
        drop(stdin);
        let status = timeout(TEST_TIMEOUT, child.wait()).await??;
        assert_eq!(status.code(), Some(0), "{arguments:?}");
    }
    Ok(())
}

/// Writes a token to a file. Returns the folder and the path of the file.
fn token_file() -> io::Result<(TempDir, String)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("token");
    fs::write(&file, "s3cret-token\n")?;
    let name = file.to_str().unwrap_or_default().to_owned();
    Ok((folder, name))
}

#[tokio::test]
async fn only_connections_with_an_allowed_origin_host_and_token_are_admitted() -> Test {
    let (_folder, file) = token_file()?;
    let admission = ["--origin", "https://app.example.org", "--host", "rpc.example.org", "--token-file", &file];
    let mut serving = Serving::start(&[&["--ws", "127.0.0.1:0", "--demo"][..], &admission].concat())?;
    let url = serving.address().await?;
    let refused = async |options: WebSocketOptions| options.connect(&url).await.err().map(|error| error.to_string());
    let token = || WebSocketOptions::new().header("Authorization", "Bearer s3cret-token");
    assert_eq!(refused(token()).await, None);
    assert_eq!(refused(token().header("Origin", "https://app.example.org")).await, None);
    assert_eq!(refused(token().header("Host", "rpc.example.org")).await, None);
    let page = WebSocketOptions::new().subprotocol("jsonrpc-2.0").subprotocol("ticket.s3cret-token");
    assert_eq!(refused(page).await, None);
    for (options, status) in [
        (WebSocketOptions::new(), "401 Unauthorized"),
        (WebSocketOptions::new().header("Authorization", "Bearer other"), "401 Unauthorized"),
        (token().header("Origin", "https://evil.example"), "403 Forbidden"),
        (token().header("Host", "evil.example"), "403 Forbidden"),
    ] {
        let error = refused(options).await.ok_or("it was admitted")?;
        assert!(error.ends_with(status), "{error}");
    }
    // `portway call` sends the token in a header, whose value is an argument or in a file.
    let call = ["call", "ping", "--ws", &url];
    let outcome = run(call).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), ""));
    assert!(outcome.stderr.contains("the server refused the WebSocket: 401 Unauthorized"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--header NAME:VALUE"), "{}", outcome.stderr);
    let outcome = run(call.iter().chain(&["--header", "Authorization: Bearer s3cret-token"])).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "{\"pong\":true}\n", ""));
    let folder = tempfile::tempdir()?;
    let header = folder.path().join("header");
    fs::write(&header, "Bearer s3cret-token\n")?;
    let header = format!("Authorization:@{}", header.display());
    let outcome = run(call.iter().chain(&["--header", &header])).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "{\"pong\":true}\n"));
    Ok(())
}

#[tokio::test]
async fn a_call_over_a_websocket_has_the_exit_codes_of_other_calls() -> Test {
    let mut serving = Serving::start(&["--ws", "127.0.0.1:0", "--demo"])?;
    let url = serving.address().await?;
    let outcome = run(["call", "echo", r#"{"a": "ä"}"#, "--ws", &url]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "{\"a\":\"ä\"}\n", ""));
    let outcome = run(["call", "unknown", "--ws", &url]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
    let outcome = run(["call", "slow", "[60000]", "--timeout", "0.3", "--ws", &url]).await?;
    assert_eq!(outcome.code, Some(4));
    assert!(!outcome.stderr.contains("framing"), "{}", outcome.stderr);
    let outcome = run(["call", "ping", "--notify", "--ws", &url]).await?;
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let outcome = run(["call", "ping", "--ws", "ws://127.0.0.1:1/?key=secret"]).await?;
    assert_eq!(outcome.code, Some(3));
    assert!(outcome.stderr.starts_with("portway: cannot connect: 127.0.0.1:1: "), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("secret"), "{}", outcome.stderr);
    for (arguments, problem) in [
        (&["--ws", "http://localhost"][..], "it must begin with ws:// or wss://"),
        (&["--ws", "ws://localhost", "--framing", "newline"], "cannot be used with"),
        (&["--tcp", "localhost:1", "--header", "A:b"], "--header is for --ws URL"),
        (&["--ws", "ws://localhost", "--header", "no colon"], "--header must be NAME:VALUE"),
    ] {
        let outcome = run(["call", "ping"].iter().chain(arguments)).await?;
        assert_eq!(outcome.code, Some(2), "{arguments:?}");
        assert!(outcome.stderr.contains(problem), "{arguments:?}: {}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn wrong_arguments_and_used_ports_are_reported() -> Test {
    let used = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = used.local_addr()?.to_string();
    let empty = tempfile::NamedTempFile::new()?;
    let empty = empty.path().to_str().ok_or("no path")?;
    for (arguments, code, problem) in [
        (&["--demo"][..], 2, "required"),
        (&["--ws", "127.0.0.1:0"], 2, "required"),
        (&["--ws", "127.0.0.1:0", "--demo", "--", "cat"], 2, "cannot be used with"),
        (&["--ws", "8080", "--demo"], 2, "it must be ADDRESS:PORT"),
        (&["--ws", "ws://127.0.0.1:0", "--demo"], 2, "without ws://"),
        (&["--ws", "127.0.0.1:0", "--demo", "--origin", "app.example.org"], 2, "as browsers write it"),
        (&["--tcp", "127.0.0.1:0", "--demo", "--origin", "https://app.example.org"], 2, "--ws"),
        (&["--ws", "127.0.0.1:0", "--demo", "--token-file", "/nowhere/token"], 2, "cannot read /nowhere/token"),
        (&["--ws", "127.0.0.1:0", "--demo", "--token-file", empty], 2, "must have one token"),
        (&["--ws", &address, "--demo"], 3, "cannot listen on "),
        (&["--tcp", &address, "--demo"], 3, "cannot listen on "),
    ] {
        let outcome = run(["serve"].iter().chain(arguments)).await?;
        assert_eq!(outcome.code, Some(code), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(problem), "{arguments:?}: {}", outcome.stderr);
    }
    // If the program cannot be started, the command prints a message and closes the connection.
    let mut serving = Serving::start(&["--ws", "127.0.0.1:0", "--", "/nowhere/program"])?;
    let client = Client::new(Transport::websocket(&serving.address().await?).await?);
    assert!(client.call::<Value>("x", &()).timeout(TEST_TIMEOUT).await.is_err());
    let line = timeout(TEST_TIMEOUT, serving.stderr.next_line()).await??.unwrap_or_default();
    assert!(line.starts_with("portway: cannot start /nowhere/program: "), "{line}");
    Ok(())
}

#[tokio::test]
async fn the_number_of_processes_is_bounded() -> Test {
    let mut serving = Serving::start(&["--ws", "127.0.0.1:0", "--framing", "newline", "--", "cat"])?;
    let url = serving.address().await?;
    let mut clients = Vec::new();
    for _ in 0..64 {
        clients.push(Client::new(Transport::websocket(&url).await?));
    }
    let refused = Transport::websocket(&url).await.err().ok_or("a 65th connection was served")?.to_string();
    assert!(refused.ends_with("503 Service Unavailable"), "{refused}");
    clients.pop();
    timeout(TEST_TIMEOUT, async {
        while Transport::websocket(&url).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await?;
    Ok(())
}
