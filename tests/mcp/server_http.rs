//! The server over Streamable HTTP: eras, headers, sessions, streams and bad clients.

use std::error::Error;
use std::future::IntoFuture;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use futures_util::StreamExt;
use portway::mcp::{Client, Context, Era, HttpService, Level, Server};
use portway::{Limits, RpcError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tower_service::Service;

use crate::remote::{Test, options};
use crate::server::meta;
use crate::test_server::{Outcome, server, text};
use crate::wire::TEST_TIMEOUT;

/// Serves a service, and returns its address.
pub(crate) async fn serve(service: HttpService) -> std::io::Result<SocketAddr> {
    let listener = HttpService::bind(0).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { service.serve(listener).await });
    Ok(address)
}

/// A response, with the beginning of its body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
    stream: TcpStream,
}

impl Answer {
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Reads until the body contains a text.
    pub(crate) async fn read_until(&mut self, text: &str) -> Test {
        let start = Instant::now();
        while !self.body.contains(text) {
            let mut chunk = [0; 4_096];
            let read = timeout(TEST_TIMEOUT, self.stream.read(&mut chunk)).await??;
            if read == 0 || start.elapsed() > TEST_TIMEOUT {
                return Err(format!("the body must contain {text:?}, got {:?}", self.body).into());
            }
            self.body.push_str(&String::from_utf8_lossy(&chunk[..read]));
        }
        Ok(())
    }
}

/// Sends the text of a request. Reads the head of the response, and the body if its length is known.
pub(crate) async fn send(address: SocketAddr, request: &str) -> Result<Answer, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    receive(stream).await
}

async fn receive(mut stream: TcpStream) -> Result<Answer, Box<dyn Error>> {
    let mut received = Vec::new();
    let (head, mut body) = loop {
        let text = String::from_utf8_lossy(&received).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            break (head.to_ascii_lowercase(), body.to_owned());
        }
        let mut chunk = [0; 4_096];
        let read = timeout(TEST_TIMEOUT, stream.read(&mut chunk)).await??;
        if read == 0 {
            return Err(format!("the connection was closed after {text:?}").into());
        }
        received.extend_from_slice(&chunk[..read]);
    };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    while length.is_some_and(|length: usize| body.len() < length) {
        let mut chunk = [0; 4_096];
        let read = timeout(TEST_TIMEOUT, stream.read(&mut chunk)).await??;
        body.push_str(&String::from_utf8_lossy(&chunk[..read]));
    }
    let status = head.split(' ').nth(1).unwrap_or_default().parse()?;
    Ok(Answer { status, head, body, stream })
}

pub(crate) const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";
const JSON: &str = "Content-Type: application/json\r\n";

pub(crate) fn http(method: &str, headers: &str, body: &str) -> String {
    format!("{method} /mcp HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

pub(crate) fn post(headers: &str, message: &Value) -> String {
    http("POST", &format!("Host: localhost\r\n{ACCEPT}{JSON}{headers}"), &message.to_string())
}

pub(crate) fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Returns a request of the modern era with its headers. `name` is the value of `Mcp-Name`.
pub(crate) fn modern(method: &str, name: &str, mut params: Value) -> String {
    params["_meta"] = meta(json!({ "elicitation": {} }));
    let name = if name.is_empty() { String::new() } else { format!("Mcp-Name: {name}\r\n") };
    post(&format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"), &request(method, params))
}

/// Begins a session. Returns the header with its id.
pub(crate) async fn initialize(address: SocketAddr, version: &str) -> Result<String, Box<dyn Error>> {
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": {} });
    let answer = send(address, &post("", &request("initialize", params))).await?;
    assert_eq!((answer.status, &answer.message()["result"]["protocolVersion"]), (200, &json!(version)));
    let id = answer.header("mcp-session-id").ok_or("there must be a session")?;
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    let session = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {version}\r\n");
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let answer = send(address, &post(&session, &initialized)).await?;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    Ok(session)
}

async fn connect(address: SocketAddr, era: Era) -> Result<Client, portway::mcp::Error> {
    let options = options()
        .era(era)
        .method("elicitation/create", |_: Value| async {
            Ok::<_, RpcError>(json!({ "action": "accept", "content": { "name": "Ada" } }))
        })
        .method("roots/list", |_: Value| async {
            Ok::<_, RpcError>(json!({ "roots": [{ "uri": "file:///project" }] }))
        });
    Client::connect_http(&format!("http://{address}/mcp"), options).await
}

#[tokio::test]
async fn a_router_of_axum_serves_clients_of_both_eras() -> Test {
    let (server, cancelled) = server()?;
    let router = axum::Router::new().route_service("/mcp", HttpService::new(&server));
    let listener = HttpService::bind(0).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    for era in [Era::Legacy, Era::Modern] {
        let client = connect(address, era).await?;
        assert_eq!(client.list::<Value>("tools/list", "tools").await?.len(), 5);
        let call = |name: &str, arguments: Value| {
            client.call::<Value>("tools/call", &json!({ "name": name, "arguments": arguments }))
        };
        assert_eq!(call("add", json!({ "a": 2, "b": 3 })).await?["content"][0]["text"], "5");
        assert_eq!(call("greet", json!({})).await?["content"][0]["text"], r#"hello "Ada" of "file:///project""#);
        let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
        call("steps", json!({ "count": 3 }))
            .on_progress(move |value: Value| {
                let _ = sender.send(value["progress"].clone());
            })
            .await?;
        for step in 1..=3 {
            assert_eq!(seen.recv().await, Some(json!(step)));
        }
        assert!(call("panic", json!({})).await.is_err());
        assert!(call("wait", json!({})).timeout(Duration::from_millis(100)).await.is_err());
        timeout(TEST_TIMEOUT, cancelled.notified()).await?;
        assert_eq!(call("add", json!({ "a": 1, "b": 1 })).await?["content"][0]["text"], "2");
        client.close().await;
    }
    Ok(())
}

#[tokio::test]
async fn requests_with_bad_headers_are_refused() -> Test {
    let address = serve(HttpService::new(&server()?.0)).await?;
    let session = initialize(address, "2025-11-25").await?;
    let ping = request("ping", json!({})).to_string();
    let local = "Host: localhost\r\n";
    let long = format!("X-Long: {}\r\n", "x".repeat(8_192 - 6));
    let too_long = format!("X-Long: {}\r\n", "x".repeat(8_192 - 5));
    for (method, headers, status) in [
        ("POST", format!("{local}{ACCEPT}{JSON}{session}"), 200),
        ("POST", format!("{local}{ACCEPT}{JSON}{session}{long}"), 200),
        ("POST", format!("{local}{ACCEPT}{JSON}{session}{too_long}"), 431),
        ("POST", format!("{local}{JSON}{session}Origin: http://localhost:1\r\n"), 200),
        ("POST", format!("Host: evil.example\r\n{ACCEPT}{JSON}{session}"), 421),
        ("POST", format!("Host: localhost\r\nHost: evil.example\r\n{ACCEPT}{JSON}{session}"), 421),
        ("POST", format!("{ACCEPT}{JSON}{session}"), 421),
        ("POST", format!("{local}{ACCEPT}{JSON}{session}Origin: http://evil.example\r\n"), 403),
        ("POST", format!("{local}{ACCEPT}{JSON}{session}Origin: null\r\n"), 403),
        ("GET", format!("{local}{ACCEPT}{session}Origin: null\r\n"), 403),
        ("POST", format!("{local}{ACCEPT}{session}"), 415),
        ("POST", format!("{local}{ACCEPT}{session}Content-Type: text/plain\r\n"), 415),
        ("POST", format!("{local}{ACCEPT}{JSON}{session}Content-Encoding: gzip\r\n"), 415),
        ("POST", format!("{local}{JSON}{session}Accept: application/json\r\n"), 406),
        ("POST", format!("{local}{ACCEPT}{JSON}"), 400),
        ("POST", format!("{local}{ACCEPT}{JSON}Mcp-Session-Id: unknown\r\n"), 404),
        ("POST", format!("{local}{ACCEPT}{JSON}{}", session.replace("2025-11-25", "1999-01-01")), 400),
        ("DELETE", format!("{local}Mcp-Session-Id: unknown\r\n"), 404),
        ("DELETE", local.to_owned(), 400),
        ("GET", format!("{local}{ACCEPT}"), 405),
        ("GET", format!("{local}{ACCEPT}Mcp-Session-Id: unknown\r\n"), 404),
        ("GET", format!("{local}Accept: application/json\r\n{session}"), 406),
        ("GET", format!("{local}{ACCEPT}{session}Last-Event-ID: 0\r\n"), 400),
        ("GET", format!("{local}{ACCEPT}{session}Last-Event-ID: 9-1\r\n"), 400),
        ("GET", format!("{local}{ACCEPT}{session}Last-Event-ID: 0-1\r\n"), 400),
        ("PUT", format!("{local}{ACCEPT}{JSON}{session}"), 405),
        ("OPTIONS", local.to_owned(), 405),
        ("DELETE", format!("{local}{session}"), 204),
        ("POST", format!("{local}{ACCEPT}{JSON}{session}"), 404),
    ] {
        let body = if method == "POST" { ping.as_str() } else { "" };
        let answer = send(address, &http(method, &headers, body)).await?;
        assert_eq!(answer.status, status, "{method} {headers} {}", answer.body);
    }
    Ok(())
}

#[tokio::test]
async fn other_hosts_and_origins_are_accepted_if_the_application_names_them() -> Test {
    let service = HttpService::new(&server()?.0).with_host("Example.com").with_origin("https://App.example");
    let address = serve(service).await?;
    for (headers, status) in [
        ("Host: example.com:8080\r\n", 200),
        ("Host: example.com\r\nOrigin: https://example.com\r\n", 200),
        ("Host: localhost\r\nOrigin: https://app.example\r\n", 200),
        ("Host: localhost\r\nOrigin: http://app.example\r\n", 403),
        ("Host: app.example\r\n", 421),
    ] {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
        let body = request("initialize", params).to_string();
        let answer = send(address, &http("POST", &format!("{headers}{ACCEPT}{JSON}"), &body)).await?;
        assert_eq!(answer.status, status, "{headers}");
    }
    Ok(())
}

#[tokio::test]
async fn bodies_that_are_too_long_too_slow_or_not_messages_are_refused() -> Test {
    let mut limits = Limits::DEFAULT;
    (limits.message_bytes, limits.partial_frame_ms) = (1_000, 200);
    let address = serve(HttpService::new(&server()?.0).with_limits(limits)).await?;
    let headers = format!("Host: localhost\r\n{ACCEPT}{JSON}");
    let head = format!("POST /mcp HTTP/1.1\r\n{headers}");
    let chunks = format!("{head}Transfer-Encoding: chunked\r\n\r\n3e9\r\n{}\r\n", "x".repeat(1_001));
    for (request, status) in [
        (format!("{head}Content-Length: 5368709120\r\n\r\n"), 413),
        (http("POST", &headers, &"x".repeat(1_001)), 413),
        (chunks, 413),
        (format!("{head}Content-Length: 10\r\n\r\n"), 408),
        (format!("{head}Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x1f\x1b\x08\x00\x00"), 415),
    ] {
        assert_eq!(send(address, &request).await?.status, status, "{}", request.get(..200).unwrap_or(&request));
    }
    let exact = format!("{}{}", " ".repeat(1_000 - 60), request("ping", json!({})));
    let answer = send(address, &http("POST", &headers, exact.get(..1_000).unwrap_or(&exact))).await?;
    assert_eq!(answer.status, 400, "a body of 1 000 bytes is read: {}", answer.body);
    for (body, code) in [
        ("", -32_700),
        ("{", -32_700),
        ("[]", -32_600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32_600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32_600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32_600),
        (r#"{"id":1,"method":"ping"}"#, -32_600),
        (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, -32_600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32_600),
        ("7", -32_600),
    ] {
        let answer = send(address, &http("POST", &headers, body)).await?;
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(code)), "{body}: {}", answer.body);
        let reason = body.contains("params").then_some("params-not-object");
        if reason.is_some() {
            assert_eq!(answer.message()["error"]["data"]["reason"].as_str(), reason);
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_headers_of_the_modern_era_must_repeat_the_body() -> Test {
    let address = serve(HttpService::new(&server()?.0)).await?;
    let call = modern("tools/call", "add", json!({ "name": "add", "arguments": { "a": 1, "b": -42 } }));
    let with = |from: &str, to: &str| call.replacen(from, to, 1);
    let (version, name) = ("MCP-Protocol-Version: 2026-07-28\r\n", "Mcp-Name: add\r\n");
    let b = |value: &str| with(name, &format!("{name}Mcp-Param-B: {value}\r\n"));
    for (request, status, code) in [
        (b("-42"), 200, 0),
        (b("=?base64?LTQy?="), 200, 0),
        (b("-42").replace(name, "mcp-name:   add \r\n"), 200, 0),
        (b("-42").replace(name, "Mcp-Name: =?base64?YWRk?=\r\n"), 200, 0),
        (call.clone(), 400, -32_020),
        (b("-43"), 400, -32_020),
        (b("=?base64?LTQ?="), 400, -32_020),
        (b("-42\r\nMcp-Param-B: -42"), 400, -32_020),
        (with(version, ""), 400, -32_020),
        (with(version, "MCP-Protocol-Version: 2025-11-25\r\n"), 400, -32_020),
        (with(version, &format!("{version}{version}")), 400, -32_020),
        (with("Mcp-Method: tools/call", "Mcp-Method: TOOLS/CALL"), 400, -32_020),
        (with("Mcp-Method: tools/call\r\n", ""), 400, -32_020),
        (with(name, ""), 400, -32_020),
        (with(name, "Mcp-Name: Add\r\n"), 400, -32_020),
        (with(name, "Mcp-Name: =?base64?YWR?=\r\n"), 400, -32_020),
        (modern("resources/read", "text://x", json!({ "uri": "text://readme" })), 400, -32_020),
        (modern("resources/read", "text://readme", json!({ "uri": "text://readme" })), 200, 0),
        (modern("server/discover", "", json!({})), 200, 0),
        (modern("ping", "", json!({})), 404, -32_601),
        (modern("initialize", "", json!({})), 404, -32_601),
        (modern("prompts/get", "nothing", json!({ "name": "nothing" })), 400, -32_602),
        (modern("tools/call", "panic", json!({ "name": "panic" })), 200, -32_603),
        (post("MCP-Protocol-Version: 2026-07-28\r\n", &request("tools/list", json!({}))), 400, -32_602),
        (
            post("MCP-Protocol-Version: 2026-07-28\r\n", &json!({ "jsonrpc": "2.0", "method": "notifications/x" })),
            202,
            0,
        ),
        (
            post("MCP-Protocol-Version: v999\r\n", &json!({ "jsonrpc": "2.0", "method": "notifications/x" })),
            400,
            -32_022,
        ),
        (modern("server/discover", "", json!({})).replace("2026-07-28", "v999.00000"), 400, -32_022),
    ] {
        let answer = send(address, &request).await?;
        let found = answer.message()["error"]["code"].as_i64().unwrap_or_default();
        assert_eq!((answer.status, found), (status, code), "{request} {}", answer.body);
    }
    Ok(())
}

#[tokio::test]
async fn a_stream_is_continued_after_its_last_event() -> Test {
    let (server, _) = server()?;
    let proceed = Arc::new(Notify::new());
    let notify = Arc::clone(&proceed);
    server.tool(json!({ "name": "two" }), move |_: Value, context: Context| {
        let notify = Arc::clone(&notify);
        async move {
            context.log(Level::Info, "one")?;
            notify.notified().await;
            context.log(Level::Info, "two")?;
            Outcome::Ok(text("done"))
        }
    })?;
    let address = serve(HttpService::new(&server)).await?;
    for version in ["2025-11-25", "2025-06-18"] {
        let session = initialize(address, version).await?;
        let mut call = send(address, &post(&session, &request("tools/call", json!({ "name": "two" })))).await?;
        assert_eq!((call.status, call.header("content-type")), (200, Some("text/event-stream")));
        call.read_until("one").await?;
        assert!(call.body.contains("id: 1-1\n"), "{}", call.body);
        // Earlier clients would read an event without a message as JSON.
        assert_eq!(call.body.contains("id: 1-0\ndata: \n\n"), version == "2025-11-25", "{}", call.body);
        drop(call);
        proceed.notify_one();
        let get =
            |last: &str| http("GET", &format!("Host: localhost\r\n{ACCEPT}{session}Last-Event-ID: {last}\r\n"), "");
        for (last, has_one) in [("1-1", false), ("1-0", true)] {
            let mut stream = send(address, &get(last)).await?;
            assert_eq!(stream.status, 200);
            stream.read_until("done").await?;
            // The stream ends after the response.
            stream.read_until("\r\n0\r\n").await?;
            assert!(stream.body.contains("two"), "{}", stream.body);
            assert_eq!(stream.body.contains(r#""one""#), has_one, "{}", stream.body);
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_end_of_a_connection_cancels_a_request_only_in_the_modern_era() -> Test {
    let (server, cancelled) = server()?;
    let address = serve(HttpService::new(&server)).await?;
    let call = modern("tools/call", "wait", json!({ "name": "wait" }));
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(call.as_bytes()).await?;
    sleep(Duration::from_millis(50)).await;
    drop(stream);
    timeout(TEST_TIMEOUT, cancelled.notified()).await?;

    let session = initialize(address, "2025-11-25").await?;
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(post(&session, &request("tools/call", json!({ "name": "wait" }))).as_bytes()).await?;
    sleep(Duration::from_millis(50)).await;
    drop(stream);
    assert!(timeout(Duration::from_millis(200), cancelled.notified()).await.is_err());
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(send(address, &post(&session, &cancel)).await?.status, 202);
    timeout(TEST_TIMEOUT, cancelled.notified()).await?;

    // The end of a session cancels its requests, too. Their clients receive no response.
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(post(&session, &request("tools/call", json!({ "name": "wait" }))).as_bytes()).await?;
    sleep(Duration::from_millis(50)).await;
    send(address, &http("DELETE", &format!("Host: localhost\r\n{session}"), "")).await?;
    timeout(TEST_TIMEOUT, cancelled.notified()).await?;
    let answer = receive(stream).await?;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    Ok(())
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_delay_other_clients() -> Test {
    let (server, _) = server()?;
    let ended = Arc::new(Notify::new());
    let notify = Arc::clone(&ended);
    server.tool(json!({ "name": "flood" }), move |_: Value, context: Context| {
        let notify = Arc::clone(&notify);
        async move {
            let line = "x".repeat(1_000);
            for _ in 0..12_000 {
                context.log(Level::Emergency, &line)?;
                tokio::task::yield_now().await;
            }
            notify.notify_one();
            Outcome::Ok(text("done"))
        }
    })?;
    let address = serve(HttpService::new(&server)).await?;
    let session = initialize(address, "2025-11-25").await?;
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(post(&session, &request("tools/call", json!({ "name": "flood" }))).as_bytes()).await?;
    // A handler of the modern era waits for its client.
    let mut waiting = TcpStream::connect(address).await?;
    let flood = modern("tools/call", "flood", json!({ "name": "flood" }));
    let level = r#""io.modelcontextprotocol/logLevel":"debug","#;
    let (head, body) = flood.split_once("\r\n\r\n").ok_or("there must be a body")?;
    let body = body.replace("\"_meta\":{", &format!("\"_meta\":{{{level}"));
    let head = head.split("Content-Length").next().unwrap_or_default();
    waiting.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
    // The handler ends, because notifications beyond the limit are dropped.
    timeout(TEST_TIMEOUT, ended.notified()).await?;
    let add = modern("tools/call", "add", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } }));
    let add = add.replacen("Mcp-Name: add", "Mcp-Name: add\r\nMcp-Param-B: 2", 1);
    assert_eq!(send(address, &add).await?.status, 200);
    // A client that reads again receives the response.
    let mut answer = receive(stream).await?;
    let start = Instant::now();
    while !answer.body.ends_with("\r\n0\r\n\r\n") && start.elapsed() < TEST_TIMEOUT {
        let mut chunk = vec![0; 1 << 20];
        let read = timeout(TEST_TIMEOUT, answer.stream.read(&mut chunk)).await??;
        answer.body.push_str(&String::from_utf8_lossy(&chunk[..read]));
    }
    assert!(answer.body.contains(r#""text":"done""#));
    assert!(answer.body.len() < 10_000_000, "{}", answer.body.len());
    Ok(())
}

#[tokio::test]
async fn too_many_running_requests_are_refused() -> Test {
    let (server, cancelled) = server()?;
    let mut limits = Limits::DEFAULT;
    limits.in_flight = 2;
    let address = serve(HttpService::new(&server).with_limits(limits)).await?;
    let call = modern("tools/call", "wait", json!({ "name": "wait" }));
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(call.as_bytes()).await?;
        streams.push(stream);
    }
    sleep(Duration::from_millis(100)).await;
    let refused = send(address, &call).await?;
    assert_eq!((refused.status, &refused.message()["error"]["data"]["reason"]), (503, &json!("too-many-requests")));
    drop(streams);
    timeout(TEST_TIMEOUT, cancelled.notified()).await?;
    sleep(Duration::from_millis(100)).await;
    assert_eq!(send(address, &modern("server/discover", "", json!({}))).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn the_number_of_connections_is_bounded_in_total_and_per_address() -> Test {
    let discover = modern("server/discover", "", json!({}));
    let service = HttpService::new(&server()?.0).with_max_connections(5).with_max_connections_per_address(2);
    let address = serve(service).await?;
    let first = send(address, &discover).await?;
    let mut second = send(address, &discover).await?;
    assert_eq!((first.status, second.status), (200, 200));
    let refused = send(address, &discover).await?;
    assert_eq!((refused.status, refused.header("connection")), (503, Some("close")));
    assert_eq!(refused.body, "the server has too many connections; try again later\n");
    // The limit for one address does not count the connections from another address.
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind("127.0.0.9:0".parse()?)?;
    let mut other = socket.connect(address).await?;
    other.write_all(discover.as_bytes()).await?;
    assert_eq!(receive(other).await?.status, 200);
    // A client with a connection is served.
    second.stream.write_all(discover.as_bytes()).await?;
    let second = receive(second.stream).await?;
    assert_eq!(second.status, 200);
    drop(first);
    // The server admits another connection once it has noticed the end of the first connection.
    timeout(TEST_TIMEOUT, async {
        while send(address, &discover).await?.status != 200 {}
        Ok::<_, Box<dyn Error>>(())
    })
    .await??;
    drop(second);

    let address = serve(HttpService::new(&server()?.0).with_max_connections(2)).await?;
    let first = send(address, &discover).await?;
    // A connection without a complete request counts, too, until another client needs its place.
    let mut silent = TcpStream::connect(address).await?;
    silent.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").await?;
    sleep(Duration::from_millis(100)).await;
    let second = send(address, &discover).await?;
    assert_eq!(second.status, 200);
    assert_eq!(timeout(TEST_TIMEOUT, silent.read(&mut [0])).await??, 0);
    assert_eq!(send(address, &discover).await?.status, 503);
    drop((first, second));
    Ok(())
}

#[tokio::test]
async fn the_oldest_session_ends_if_there_are_too_many() -> Test {
    let address = serve(HttpService::new(&server()?.0)).await?;
    let first = initialize(address, "2025-11-25").await?;
    let second = initialize(address, "2025-11-25").await?;
    let ping = |session: &str| post(session, &request("ping", json!({})));
    assert_eq!(send(address, &ping(&first)).await?.status, 200);
    for _ in 2..1_025 {
        initialize(address, "2025-11-25").await?;
    }
    assert_eq!(send(address, &ping(&second)).await?.status, 404);
    assert_eq!(send(address, &ping(&first)).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn changes_are_in_the_stream_of_a_session_and_in_subscriptions() -> Test {
    let (server, _) = server()?;
    let address = serve(HttpService::new(&server)).await?;
    let session = initialize(address, "2025-11-25").await?;
    let get = http("GET", &format!("Host: localhost\r\n{ACCEPT}{session}"), "");
    let mut older = send(address, &get).await?;
    let mut stream = send(address, &get).await?;
    // A newer stream ends the older stream, which may belong to a lost connection.
    older.read_until("\r\n0\r\n").await?;
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let mut listening = send(address, &modern("subscriptions/listen", "", wanted)).await?;
    listening.read_until("notifications/subscriptions/acknowledged").await?;
    server.tool(json!({ "name": "new" }), |_: Value, _| async { Outcome::Ok(json!({})) })?;
    for stream in [&mut stream, &mut listening] {
        stream.read_until("notifications/tools/list_changed").await?;
    }
    drop(stream);
    server.remove_tool("new");
    server.remove_prompt("review");
    // A client that has lost its connection continues after the last event that it has received.
    let get = http("GET", &format!("Host: localhost\r\n{ACCEPT}{session}Last-Event-ID: 0-1\r\n"), "");
    let mut stream = send(address, &get).await?;
    stream.read_until("notifications/prompts/list_changed").await?;
    listening.read_until("list_changed").await?;
    assert!(!listening.body.contains("prompts/list_changed"), "{}", listening.body);
    Ok(())
}

#[tokio::test]
async fn an_extension_of_the_request_is_the_identity() -> Test {
    let server = Server::new("test", "1");
    server.tool(json!({ "name": "whoami" }), |_: Value, context: Context| async move {
        Outcome::Ok(text(context.identity::<String>().ok_or_else(|| RpcError::internal("nobody"))?))
    })?;
    let router = axum::Router::new()
        .route_service("/mcp", HttpService::new(&server))
        .layer(axum::Extension(Arc::new("Ada".to_owned())));
    let listener = HttpService::bind(0).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    for era in [Era::Legacy, Era::Modern] {
        let client = connect(address, era).await?;
        let call = client.call::<Value>("tools/call", &json!({ "name": "whoami" }));
        assert_eq!(call.into_future().await?["content"][0]["text"], "Ada");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_has_comments() -> Test {
    let mut service = HttpService::new(&server()?.0);
    let text = modern("tools/call", "wait", json!({ "name": "wait" }));
    let (head, body) = text.split_once("\r\n\r\n").ok_or("there must be a body")?;
    // The tool reports progress, so its response is a stream.
    let body = body.replace("\"_meta\":{", "\"_meta\":{\"progressToken\":1,");
    let mut request = Request::post("/mcp");
    for (name, value) in head.lines().skip(1).filter_map(|line| line.split_once(": ")) {
        if name != "Content-Length" {
            request = request.header(name, value);
        }
    }
    let response = service.call(request.body(Body::from(body))?).await?;
    assert_eq!(response.status(), 200);
    let mut chunks = Body::new(response.into_body()).into_data_stream();
    let first = chunks.next().await.ok_or("there must be progress")??;
    assert!(String::from_utf8_lossy(&first).contains("notifications/progress"));
    for _ in 0..3 {
        let start = tokio::time::Instant::now();
        assert_eq!(chunks.next().await.ok_or("there must be a comment")??.as_ref(), b":\n\n");
        assert!((14_999..15_100).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    }
    Ok(())
}

#[tokio::test]
async fn a_head_that_is_too_long_or_too_slow_ends_the_connection() -> Test {
    let address = serve(HttpService::new(&server()?.0)).await?;
    let headers: String = (0..90).map(|number| format!("X-{number}: {}\r\n", "x".repeat(4_000))).collect();
    let answer = send(address, &http("POST", &headers, "")).await;
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status == 431));
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").await?;
    let start = Instant::now();
    let mut rest = Vec::new();
    // A connection that was used before must not stay open, either.
    let mut used = send(address, &modern("server/discover", "", json!({}))).await?;
    assert_eq!(used.status, 200);
    // The connection may be closed with or without a response.
    let _ = timeout(TEST_TIMEOUT, stream.read_to_end(&mut rest)).await?;
    assert!((9..15).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    let _ = timeout(TEST_TIMEOUT, used.stream.read_to_end(&mut rest)).await?;
    assert!((9..15).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    Ok(())
}
