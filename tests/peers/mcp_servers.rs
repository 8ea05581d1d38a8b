//! Tests of our client of MCP with official servers: `server-everything`, which begins with `initialize`, and a server
//! on the Python package `mcp`, which serves both eras. The command `portway serve --mcp-http` also serves their
//! standard streams over HTTP.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use portway::mcp::{Client, Era, Error, Options, Update};
use portway::{CallError, RpcError};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::{file, mcp_clients, program};

/// Maximum time of one wait. A server needs some seconds to start.
const MAX_WAIT: Duration = Duration::from_secs(60);

pub(crate) fn options() -> Options {
    Options::new("portway-tests", "1.0.0")
        .discover_timeout(MAX_WAIT)
        .method("elicitation/create", |params: Value| async move {
            assert_eq!(params["message"], "name?");
            Ok::<_, RpcError>(json!({ "action": "accept", "content": { "name": "Ada" } }))
        })
        .method("roots/list", |_: Value| async {
            Ok::<_, RpcError>(json!({ "roots": [{ "uri": "file:///project", "name": "a project" }] }))
        })
}

/// Connects to a server on the Python package `mcp`. Without an era, the era is detected.
async fn python(era: Option<Era>) -> Option<Client> {
    let mut command = Command::new(program("PORTWAY_PYGLS_PYTHON")?);
    command.arg(file("mcp/server.py"));
    let options = era.into_iter().fold(options(), Options::era).on_stderr(|line| println!("{line}"));
    Some(Client::connect(command, options).await.unwrap())
}

/// Connects to `server-everything`.
async fn everything() -> Option<Client> {
    let mut command = Command::new(program("PORTWAY_NODE")?);
    command.arg(everything_script()?).arg("stdio");
    Some(Client::connect(command, options().on_stderr(|line| println!("{line}"))).await.unwrap())
}

/// A server over HTTP. Its process ends when this value is dropped.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    _process: tokio::process::Child,
}

impl HttpServer {
    /// Starts a server, and waits until its port is open.
    async fn start(mut command: tokio::process::Command, port: u16) -> Self {
        let process = command.kill_on_drop(true).spawn().unwrap();
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(start.elapsed() < MAX_WAIT, "the server must open the port {port}");
            sleep(Duration::from_millis(50)).await;
        }
        Self { url: format!("http://127.0.0.1:{port}/mcp"), _process: process }
    }

    pub(crate) async fn python() -> Option<Self> {
        let (program, port) = (program("PORTWAY_PYGLS_PYTHON")?, free_port());
        let mut command = tokio::process::Command::new(program);
        command.arg(file("mcp/server.py")).arg(port.to_string());
        Some(Self::start(command, port).await)
    }

    pub(crate) async fn everything() -> Option<Self> {
        let (node, script, port) = (program("PORTWAY_NODE")?, everything_script()?, free_port());
        let mut command = tokio::process::Command::new(node);
        command.arg(script).arg("streamableHttp").env("PORT", port.to_string());
        Some(Self::start(command, port).await)
    }

    async fn connect(&self, era: Option<Era>) -> Client {
        let options = era.into_iter().fold(options(), Options::era).on_warning(|text| println!("{text}"));
        Client::connect_http(&self.url, options).await.unwrap()
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) fn everything_script() -> Option<PathBuf> {
    Some(program("PORTWAY_PEERS")?.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js"))
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    let call = client.call::<Value>("tools/call", &json!({ "name": tool, "arguments": arguments }));
    timeout(MAX_WAIT, call.into_future()).await.unwrap().unwrap()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// Calls a tool that reports its progress. Returns the progress.
async fn progress_of(client: &Client, tool: &str, arguments: Value) -> Vec<u64> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let progress = Arc::clone(&seen);
    let params = json!({ "name": tool, "arguments": arguments });
    let call = client.call::<Value>("tools/call", &params).on_progress(move |value: Value| {
        let step = value["progress"].as_f64().unwrap_or_default() as u64;
        progress.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    });
    timeout(MAX_WAIT, call.into_future()).await.unwrap().unwrap();
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.clone()
}

async fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < MAX_WAIT, "{} must exist", path.display());
        sleep(Duration::from_millis(20)).await;
    }
}

/// Uses each function of a server on the Python package `mcp`.
async fn use_python(client: &Client, era: Era) {
    let version = if era == Era::Modern { "2026-07-28" } else { "2025-11-25" };
    assert_eq!((client.era(), client.protocol_version()), (era, version));
    let tools: Vec<Value> = client.list("tools/list", "tools").await.unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "add"), "{tools:?}");
    assert_eq!(text(&call(client, "add", json!({ "a": 2, "b": 3 })).await), "5");
    assert_eq!(progress_of(client, "steps", json!({ "count": 3 })).await, [1, 2, 3]);
    let read: Value = client.call("resources/read", &json!({ "uri": "text://readme" })).await.unwrap();
    assert_eq!(read["contents"][0]["text"], "é😀");
    let unknown = client.call::<Value>("unknown/method", &json!({})).await;
    assert!(matches!(unknown, Err(Error::Call(CallError::Remote(_)))), "{unknown:?}");
    let greeting = if era == Era::Modern { "greet_later" } else { "greet" };
    let greeted = call(client, greeting, json!({})).await;
    assert!(text(&greeted).starts_with("hello Ada"), "{greeted}");
    client.close().await;
}

/// Cancels a tool of a server on the Python package `mcp`, and waits until the tool has ended.
async fn cancel_python(client: &Client) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cancelled");
    let params = json!({ "name": "wait", "arguments": { "file": path } });
    let cancelled = client.call::<Value>("tools/call", &params).timeout(Duration::from_millis(500));
    assert!(matches!(cancelled.await, Err(Error::Call(CallError::TimedOut))));
    wait_for(&path).await;
    assert_eq!(text(&call(client, "add", json!({ "a": 1, "b": 1 })).await), "2");
}

async fn use_everything(client: &Client) {
    assert_eq!((client.era(), client.protocol_version()), (Era::Legacy, "2025-11-25"));
    assert_eq!(client.call::<Value>("ping", &()).await.unwrap(), json!({}));
    let tools: Vec<Value> = client.list("tools/list", "tools").await.unwrap();
    assert!(tools.len() > 5, "{tools:?}");
    let templates: Vec<Value> = client.list("resources/templates/list", "resourceTemplates").await.unwrap();
    assert!(!templates.is_empty());
    let sum = call(client, "get-sum", json!({ "a": 2, "b": 3 })).await;
    assert!(text(&sum).contains('5'), "{sum}");
    let arguments = json!({ "duration": 0.3, "steps": 3 });
    assert_eq!(progress_of(client, "trigger-long-running-operation", arguments).await, [1, 2, 3]);
    let roots = call(client, "get-roots-list", json!({})).await;
    assert!(roots.to_string().contains("file:///project"), "{roots}");
    client.close().await;
}

#[tokio::test]
async fn a_python_server_is_used_in_both_eras() {
    for (requested, era) in [(None, Era::Modern), (Some(Era::Modern), Era::Modern), (Some(Era::Legacy), Era::Legacy)] {
        let Some(client) = python(requested).await else { return };
        use_python(&client, era).await;
    }
}

#[tokio::test]
async fn a_python_server_is_used_in_both_eras_over_http() {
    let Some(server) = HttpServer::python().await else { return };
    for (requested, era) in [(None, Era::Modern), (Some(Era::Modern), Era::Modern), (Some(Era::Legacy), Era::Legacy)] {
        use_python(&server.connect(requested).await, era).await;
    }
}

#[tokio::test]
async fn a_cancellation_ends_the_tool_of_a_python_server_in_both_eras() {
    for era in [Era::Modern, Era::Legacy] {
        let Some(client) = python(Some(era)).await else { return };
        cancel_python(&client).await;
    }
}

#[tokio::test]
async fn a_cancellation_ends_the_tool_of_a_python_server_in_both_eras_over_http() {
    let Some(server) = HttpServer::python().await else { return };
    for era in [Era::Modern, Era::Legacy] {
        cancel_python(&server.connect(Some(era)).await).await;
    }
}

#[tokio::test]
async fn server_everything_is_initialized_and_asks_the_client() {
    let Some(client) = everything().await else { return };
    use_everything(&client).await;
}

#[tokio::test]
async fn server_everything_is_initialized_and_asks_the_client_over_http() {
    let Some(server) = HttpServer::everything().await else { return };
    use_everything(&server.connect(None).await).await;
}

/// Connects to a server behind `portway serve --mcp-http`.
async fn through_command(server: &mcp_clients::HttpServer, era: Option<Era>) -> Client {
    let options = era.into_iter().fold(options(), Options::era).on_warning(|text| println!("{text}"));
    Client::connect_http(&server.url, options).await.unwrap()
}

fn python_behind_command() -> Option<mcp_clients::HttpServer> {
    let (portway, python) = (program("PORTWAY_CLI")?, program("PORTWAY_PYGLS_PYTHON")?);
    Some(mcp_clients::HttpServer::of_program(&portway, &[&python, &file("mcp/server.py")]))
}

#[tokio::test]
async fn a_python_server_is_used_in_both_eras_behind_the_command() {
    let Some(server) = python_behind_command() else { return };
    for (requested, era) in [(None, Era::Modern), (Some(Era::Modern), Era::Modern), (Some(Era::Legacy), Era::Legacy)] {
        use_python(&through_command(&server, requested).await, era).await;
    }
}

#[tokio::test]
async fn a_cancellation_ends_the_tool_of_a_python_server_in_both_eras_behind_the_command() {
    let Some(server) = python_behind_command() else { return };
    for era in [Era::Modern, Era::Legacy] {
        cancel_python(&through_command(&server, Some(era)).await).await;
    }
}

#[tokio::test]
async fn server_everything_is_initialized_and_asks_the_client_behind_the_command() {
    let (Some(portway), Some(node)) = (program("PORTWAY_CLI"), program("PORTWAY_NODE")) else { return };
    let Some(script) = everything_script() else { return };
    let server = mcp_clients::HttpServer::of_program(&portway, &[&node, &script, Path::new("stdio")]);
    // Each client has its own session, with its own process.
    let clients = [through_command(&server, None).await, through_command(&server, None).await];
    for client in clients {
        use_everything(&client).await;
    }
}

#[tokio::test]
async fn the_progress_of_a_python_server_is_a_stream_in_both_eras() {
    let Some(server) = HttpServer::python().await else { return };
    for era in [Era::Modern, Era::Legacy] {
        let Some(over_stdio) = python(Some(era)).await else { return };
        for client in [over_stdio, server.connect(Some(era)).await] {
            let params = json!({ "name": "steps", "arguments": { "count": 3 } });
            let updates: Vec<_> = client.stream::<Value>("tools/call", &params).collect().await;
            let [progress @ .., Ok(Update::Result(result))] = &updates[..] else { panic!("{updates:?}") };
            assert_eq!(text(result), "done");
            let steps = progress.iter().filter(|update| matches!(update, Ok(Update::Progress(_))));
            assert_eq!((steps.count(), progress.len()), (3, 3), "{progress:?}");
        }
    }
}
