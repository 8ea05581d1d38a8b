//! The client over Streamable HTTP: eras, headers, sessions, streams and bad servers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Method, Request, Response};
use futures_util::stream;
use portway::mcp::{Client, Era, EraCache, Error};
use portway::{CallError, RpcError};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::http_site::{
    Recorded, Site, endless_events, error, events, legacy, modern, response, result, status, watched_events,
};
use crate::remote::{Test, options};
use crate::wire::TEST_TIMEOUT;

fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

fn answer(request: &Recorded, value: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": request.message["id"], "result": value })
}

/// The status, the challenge and the problem of an error of HTTP.
type HttpError = (Option<u16>, Option<String>, String);

type Answer = fn(&Recorded) -> Response<Body>;

fn http_error(error: Option<Error>) -> Result<HttpError, Box<dyn std::error::Error>> {
    match error {
        Some(Error::Http { status, challenge, problem }) => Ok((status, challenge, problem)),
        other => Err(format!("the error must be of HTTP, got {other:?}").into()),
    }
}

#[tokio::test]
async fn each_request_of_the_modern_era_has_the_headers_of_its_body() -> Test {
    let site =
        Site::start(|request| modern(request).unwrap_or_else(|| result(request, &json!({ "ok": true })))).await?;
    let client = Client::connect_http(&site.url, options()).await?;
    assert_eq!(client.era(), Era::Modern);
    for (method, params, name) in [
        ("tools/call", json!({ "name": "add" }), "add"),
        ("prompts/get", json!({ "name": "Grüße" }), "=?base64?R3LDvMOfZQ==?="),
        ("resources/read", json!({ "uri": "file:///a b" }), "file:///a b"),
        ("tools/list", json!({ "name": "x" }), ""),
    ] {
        assert_eq!(client.call::<Value>(method, &params).await?, json!({ "ok": true }));
        let sent = site.request(method).await?;
        assert_eq!((sent.header("mcp-method"), sent.header("mcp-name")), (method, name));
    }
    for request in site.requests() {
        assert_eq!(request.method, Method::POST);
        assert_eq!(request.header("mcp-protocol-version"), "2026-07-28");
        assert_eq!(request.header("content-type"), "application/json");
        assert_eq!(request.header("accept"), "application/json, text/event-stream");
        assert_eq!(request.header("mcp-session-id"), "");
        let version = &request.message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        assert_eq!(version, "2026-07-28");
    }
    client.close().await;
    // A server without a session receives no DELETE.
    assert_eq!(site.names().len(), 5);
    Ok(())
}

#[tokio::test]
async fn a_session_of_the_legacy_era_is_kept_sent_and_deleted() -> Test {
    let site =
        Site::start(|request| legacy(request, "session-1").unwrap_or_else(|| result(request, &json!({ "tools": [] }))))
            .await?;
    let client = Client::connect_http(&site.url, options()).await?;
    assert_eq!((client.era(), client.protocol_version()), (Era::Legacy, "2025-11-25"));
    assert_eq!(client.list::<Value>("tools/list", "tools").await?, [Value::Null; 0]);
    site.request("GET").await?;
    client.close().await;
    let initialize = site.request("initialize").await?;
    assert_eq!((initialize.header("mcp-session-id"), initialize.header("mcp-protocol-version")), ("", ""));
    for name in ["notifications/initialized", "tools/list", "GET", "DELETE"] {
        let request = site.request(name).await?;
        assert_eq!(request.header("mcp-session-id"), "session-1", "{name}");
        assert_eq!(request.header("mcp-protocol-version"), "2025-11-25", "{name}");
        assert_eq!(request.header("mcp-method"), "", "{name}");
    }
    let debug = format!("{client:?}");
    assert!(!debug.contains("session-1") && !debug.contains("secret"), "{debug}");
    Ok(())
}

#[tokio::test]
async fn any_other_answer_to_discover_means_legacy() -> Test {
    let answers: [(&str, Answer); 8] = [
        ("400 and text", |_| response(400, "text/plain", "Bad Request")),
        ("404 and HTML", |_| response(404, "text/html", "<html>")),
        ("405", |_| status(405)),
        ("400 and -32000 with the id null", |_| error(400, &Value::Null, -32000)),
        ("200 and -32601", |request| error(200, &request.message["id"], -32601)),
        ("404 and -32601", |request| error(404, &request.message["id"], -32601)),
        ("500", |_| status(500)),
        ("a result of another kind", |request| result(request, &json!({}))),
    ];
    for (name, discover) in answers {
        let site = Site::start(move |request| match request.name().as_str() {
            "server/discover" => discover(request),
            _ => legacy(request, "s").unwrap_or_else(|| status(500)),
        })
        .await?;
        let client = Client::connect_http(&site.url, options()).await.map_err(|error| format!("{name}: {error}"))?;
        assert_eq!(client.era(), Era::Legacy, "{name}");
        site.request("notifications/initialized").await?;
        let names = site.names();
        assert_eq!(names.get(..3).unwrap_or_default(), ["server/discover", "initialize", "notifications/initialized"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_modern_error_with_a_status_means_modern() -> Test {
    let site = Site::start(|request| match request.name().as_str() {
        "server/discover" => error(400, &Value::Null, -32021),
        _ => result(request, &json!({})),
    })
    .await?;
    assert_eq!(Client::connect_http(&site.url, options()).await?.era(), Era::Modern);
    assert_eq!(site.names(), ["server/discover"]);
    Ok(())
}

#[tokio::test]
async fn a_denied_request_is_an_error_with_the_challenge_and_says_nothing_about_the_era() -> Test {
    for code in [401, 403] {
        let site = Site::start(move |_| {
            let mut denied = error(code, &Value::Null, -32022);
            denied.headers_mut().insert("www-authenticate", axum::http::HeaderValue::from_static("Bearer realm=\"x\""));
            denied
        })
        .await?;
        let (status, challenge, _) = http_error(Client::connect_http(&site.url, options()).await.err())?;
        assert_eq!((status, challenge.as_deref()), (Some(code), Some("Bearer realm=\"x\"")));
        assert_eq!(site.names(), ["server/discover"]);
    }
    Ok(())
}

#[tokio::test]
async fn the_headers_of_the_application_are_sent_and_may_change() -> Test {
    let site = Site::start(|request| {
        modern(request).unwrap_or_else(|| match request.header("authorization") {
            "Bearer 2" => result(request, &json!({})),
            _ => status(401),
        })
    })
    .await?;
    let count = Arc::new(AtomicUsize::new(0));
    let options = options().headers(move || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        async move { vec![("Authorization".to_owned(), format!("Bearer {number}"))] }
    });
    let client = Client::connect_http(&site.url, options).await?;
    let denied = client.call::<Value>("tools/list", &()).await.err();
    assert_eq!(http_error(denied)?.0, Some(401));
    assert_eq!(client.call::<Value>("tools/list", &()).await?, json!({}));
    Ok(())
}

#[tokio::test]
async fn a_lost_session_is_replaced_once_and_the_request_is_sent_once_more() -> Test {
    let count = Arc::new(AtomicUsize::new(0));
    let site = Site::start(move |request| match request.name().as_str() {
        "initialize" => {
            let number = count.fetch_add(1, Ordering::Relaxed);
            legacy(request, &format!("session-{number}")).unwrap_or_else(|| status(500))
        }
        "tools/call" if request.header("mcp-session-id") == "session-1" => result(request, &json!({ "ok": true })),
        "tools/call" => status(404),
        "prompts/list" => status(404),
        _ => legacy(request, "").unwrap_or_else(|| status(500)),
    })
    .await?;
    let client = Client::connect_http(&site.url, options()).await?;
    assert_eq!(client.call::<Value>("tools/call", &json!({ "name": "a" })).await?, json!({ "ok": true }));
    let posts: Vec<String> = site.names().into_iter().filter(|name| name != "GET").collect();
    let handshake = ["initialize", "notifications/initialized"];
    let expected: Vec<&str> =
        [&["server/discover"][..], &handshake, &["tools/call"], &handshake, &["tools/call"]].concat();
    assert_eq!(posts, expected);

    // If the new session does not help, the call fails.
    assert_eq!(http_error(client.call::<Value>("prompts/list", &()).await.err())?.0, Some(404));
    assert_eq!(site.names().iter().filter(|name| *name == "prompts/list").count(), 2);
    assert_eq!(site.names().iter().filter(|name| *name == "initialize").count(), 3);
    Ok(())
}

#[tokio::test]
async fn calls_at_once_share_one_new_session() -> Test {
    let count = Arc::new(AtomicUsize::new(0));
    let site = Site::start(move |request| match request.name().as_str() {
        "initialize" => {
            let number = count.fetch_add(1, Ordering::Relaxed);
            legacy(request, &format!("session-{number}")).unwrap_or_else(|| status(500))
        }
        "tools/call" if request.header("mcp-session-id") == "session-1" => result(request, &json!({})),
        "tools/call" if request.header("mcp-session-id") == "session-0" => status(404),
        _ => legacy(request, "").unwrap_or_else(|| status(400)),
    })
    .await?;
    let client = Client::connect_http(&site.url, options()).await?;
    let calls: Vec<_> = (0..50).map(|_| tokio::spawn(client.call::<Value>("tools/call", &()).into_future())).collect();
    for call in calls {
        assert_eq!(call.await??, json!({}));
    }
    assert_eq!(site.names().iter().filter(|name| *name == "initialize").count(), 2);
    Ok(())
}

#[tokio::test]
async fn a_stream_delivers_progress_and_requests_before_the_response() -> Test {
    let site = Site::start(|request| {
        legacy(request, "s").unwrap_or_else(|| match request.name().as_str() {
            "tools/call" => {
                let token = &request.message["params"]["_meta"]["progressToken"];
                let params = json!({ "progressToken": token, "progress": 1 });
                let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
                let elicit = json!({ "jsonrpc": "2.0", "id": "e", "method": "elicitation/create", "params": {} });
                let foreign = json!({ "jsonrpc": "2.0", "id": 9_999, "result": {} });
                let response = answer(request, &json!({ "ok": "é" })).to_string();
                let (start, end) = response.split_at(response.len() / 2);
                endless_events(vec![
                    ": comment\r\n\r\n".into(),
                    format!("event: other\r\ndata: {response}\r\n\r\n"),
                    format!("{}{}", event(&progress), event(&elicit)),
                    event(&foreign),
                    format!("data: {start}"),
                    format!("{end}\r"),
                    "\n\r\n".into(),
                ])
            }
            _ => status(202),
        })
    })
    .await?;
    let (sender, mut seen) = mpsc::unbounded_channel();
    let options =
        options().method("elicitation/create", |_: Value| async { Ok::<_, RpcError>(json!({ "action": "cancel" })) });
    let client = Client::connect_http(&site.url, options).await?;
    let call = client.call::<Value>("tools/call", &()).on_progress(move |value: Value| {
        let _ = sender.send(value["progress"].clone());
    });
    assert_eq!(timeout(TEST_TIMEOUT, call.into_future()).await??, json!({ "ok": "é" }));
    assert_eq!(seen.recv().await, Some(json!(1)));
    // The answer of the client is a POST without a method.
    let posted = site.request("POST").await?;
    assert_eq!(posted.message, json!({ "jsonrpc": "2.0", "id": "e", "result": { "action": "cancel" } }));
    Ok(())
}

#[tokio::test]
async fn a_stream_that_ends_early_continues_after_its_retry_time_with_the_last_event() -> Test {
    let site = Site::start(|request| {
        if request.method == Method::GET && request.header("last-event-id") == "e1" {
            return events(vec![event(&json!({ "jsonrpc": "2.0", "id": 3, "result": { "resumed": true } }))]);
        }
        legacy(request, "s").unwrap_or_else(|| events(vec!["id: e1\nretry: 300\ndata:\n\n".into()]))
    })
    .await?;
    let client = Client::connect_http(&site.url, options()).await?;
    let start = Instant::now();
    assert_eq!(client.call::<Value>("tools/call", &()).await?, json!({ "resumed": true }));
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(300) && elapsed < Duration::from_secs(3), "{elapsed:?}");
    Ok(())
}

#[tokio::test]
async fn a_stream_that_ends_without_the_response_is_an_error_and_nothing_is_sent_again() -> Test {
    for is_modern in [true, false] {
        let site = Site::start(move |request| {
            let handshake = if is_modern { modern(request) } else { legacy(request, "s") };
            handshake.unwrap_or_else(|| {
                events(vec![format!("{}data: {{", if is_modern { "id: 1\ndata:\n\n" } else { "data:\n\n" })])
            })
        })
        .await?;
        let client = Client::connect_http(&site.url, options()).await?;
        let (status, _, problem) = http_error(client.call::<Value>("tools/call", &()).await.err())?;
        assert_eq!((status, problem.as_str()), (None, "the stream ended before the response"));
        assert_eq!(site.names().iter().filter(|name| *name == "tools/call").count(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn the_stream_of_the_server_delivers_notifications_and_ends_for_good_at_another_answer() -> Test {
    for refused in [405, 200, 404] {
        let gets = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&gets);
        let site = Site::start(move |request| {
            if request.method == Method::GET {
                let message = json!({ "jsonrpc": "2.0", "method": "notifications/x", "params": { "n": 1 } });
                return match (counted.fetch_add(1, Ordering::Relaxed), request.header("last-event-id")) {
                    (0, "") => events(vec![format!("retry: 1\nid: 5\n{}", event(&message))]),
                    (1, "5") => response(refused, "text/html", "<html>"),
                    _ => status(500),
                };
            }
            legacy(request, "s").unwrap_or_else(|| status(500))
        })
        .await?;
        let (sender, mut seen) = mpsc::unbounded_channel();
        let options = options().on_notify("notifications/x", move |params: Value| {
            let _ = sender.send(params);
        });
        let client = Client::connect_http(&site.url, options).await?;
        assert_eq!(timeout(TEST_TIMEOUT, seen.recv()).await?, Some(json!({ "n": 1 })));
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(gets.load(Ordering::Relaxed), 2, "{refused}");
        drop(client);
    }
    Ok(())
}

#[tokio::test]
async fn bad_responses_end_only_their_call() -> Test {
    let site = Site::start(|request| {
        modern(request).unwrap_or_else(|| match request.message["params"]["name"].as_str().unwrap_or_default() {
            "other id" => response(200, "application/json", r#"{"jsonrpc":"2.0","id":77,"result":{}}"#),
            "no response" => response(200, "application/json", "{}"),
            "notification" => response(200, "application/json", r#"{"jsonrpc":"2.0","method":"x"}"#),
            "not JSON" => response(200, "application/json", "{"),
            "accepted" => status(202),
            "html" => response(200, "text/html", "<html>"),
            "redirect" => {
                let mut redirect = status(307);
                redirect.headers_mut().insert("location", axum::http::HeaderValue::from_static("/elsewhere"));
                redirect
            }
            "gzip" => {
                let mut gzip = response(200, "application/json", vec![0x1f, 0x8b]);
                gzip.headers_mut().insert("content-encoding", axum::http::HeaderValue::from_static("gzip"));
                gzip
            }
            "endless" => {
                let chunk = Ok::<_, std::convert::Infallible>(Bytes::from(vec![b' '; 1 << 20]));
                response(200, "application/json", Body::from_stream(stream::repeat(chunk)))
            }
            "endless event" => {
                let pieces = std::iter::once("data: ".to_owned()).chain(std::iter::repeat_with(|| "x".repeat(1 << 20)));
                let pieces = stream::iter(pieces.map(Ok::<_, std::convert::Infallible>));
                response(200, "text/event-stream", Body::from_stream(pieces))
            }
            "large head" => {
                let mut large = result(request, &json!({}));
                if let Ok(value) = "x".repeat(70_000).parse() {
                    large.headers_mut().insert("x-large", value);
                }
                large
            }
            _ => result(request, &json!({ "ok": true })),
        })
    })
    .await?;
    let client = Client::connect_http(&site.url, options()).await?;
    for (name, part) in [
        ("other id", "must have the id"),
        ("no response", "must have the id"),
        ("notification", "must be a response"),
        ("not JSON", "must be a response"),
        ("accepted", "must have a body"),
        ("html", "Content-Type"),
        ("redirect", "307"),
        ("gzip", "Content-Encoding"),
        ("endless", "at most 10485760 bytes"),
        ("endless event", "at most 10485760 bytes"),
        ("large head", "127.0.0.1"),
    ] {
        let call = client.call::<Value>("tools/call", &json!({ "name": name })).into_future();
        let (_, _, problem) = http_error(timeout(TEST_TIMEOUT, call).await?.err())?;
        assert!(problem.contains(part) && !problem.contains("secret"), "{name}: {problem}");
    }
    assert_eq!(client.call::<Value>("tools/call", &json!({ "name": "good" })).await?, json!({ "ok": true }));
    Ok(())
}

#[tokio::test]
async fn a_call_whose_answer_never_comes_times_out_and_closes_its_stream() -> Test {
    for is_modern in [true, false] {
        let (sender, mut closed) = mpsc::channel(1);
        let sender = Arc::new(Mutex::new(Some(sender)));
        let site = Site::start(move |request| {
            let handshake = if is_modern { modern(request) } else { legacy(request, "s") };
            let sender = || sender.lock().unwrap_or_else(PoisonError::into_inner).take();
            handshake.unwrap_or_else(|| match request.name().as_str() {
                "tools/call" => sender().map_or_else(|| status(500), watched_events),
                _ => status(202),
            })
        })
        .await?;
        let client = Client::connect_http(&site.url, options()).await?;
        let call = client.call::<Value>("tools/call", &()).timeout(Duration::from_millis(50));
        assert!(matches!(call.await, Err(Error::Call(CallError::TimedOut))));
        assert_eq!(timeout(TEST_TIMEOUT, closed.recv()).await?, None);
        if is_modern {
            assert_eq!(site.names(), ["server/discover", "tools/call"]);
        } else {
            let cancelled = site.request("notifications/cancelled").await?;
            assert_eq!(cancelled.message["params"]["reason"], "timeout");
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_params_that_a_tool_names_are_headers_and_invalid_tools_are_left_out() -> Test {
    let site = Site::start(|request| {
        modern(request).unwrap_or_else(|| match request.name().as_str() {
            "tools/list" => {
                let schema =
                    |name: &str| json!({ "properties": { "region": { "type": "string", "x-mcp-header": name } } });
                let tools = json!([
                    { "name": "good", "inputSchema": schema("Region") },
                    { "name": "bad", "inputSchema": schema("A B") },
                ]);
                result(request, &json!({ "tools": tools }))
            }
            _ => result(request, &json!({})),
        })
    })
    .await?;
    let (sender, mut warnings) = mpsc::unbounded_channel();
    let options = options().on_warning(move |text| {
        let _ = sender.send(text.to_owned());
    });
    let client = Client::connect_http(&site.url, options).await?;
    let tools: Vec<Value> = client.list("tools/list", "tools").await?;
    assert_eq!(tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), ["good"]);
    assert!(warnings.recv().await.is_some_and(|text| text.contains("\"bad\"")));
    client.call::<Value>("tools/call", &json!({ "name": "good", "arguments": { "region": "eu" } })).await?;
    assert_eq!(site.request("tools/call").await?.header("mcp-param-region"), "eu");
    Ok(())
}

#[tokio::test]
async fn sixty_four_calls_at_once_use_their_connections_again() -> Test {
    let site = Site::start(|request| {
        modern(request).unwrap_or_else(|| result(request, &json!({ "n": request.message["params"]["n"] })))
    })
    .await?;
    let client = Client::connect_http(&site.url, options()).await?;
    for round in 0..10 {
        let calls: Vec<_> = (0..64)
            .map(|n| tokio::spawn(client.call::<Value>("tools/call", &json!({ "n": round * 64 + n })).into_future()))
            .collect();
        for (n, call) in calls.into_iter().enumerate() {
            assert_eq!(call.await??["n"], json!(round * 64 + n));
        }
    }
    assert_eq!(site.names().len(), 641);
    Ok(())
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error() -> Test {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    drop(listener);
    let error = Client::connect_http(&format!("http://{address}/secret"), options()).await.err();
    let (status, _, problem) = http_error(error)?;
    assert!(status.is_none() && problem.contains(&address.to_string()) && !problem.contains("secret"), "{problem}");
    for url in ["", "mcp", "ftp://a/", "http://", "http://user@host/"] {
        assert!(matches!(Client::connect_http(url, options()).await, Err(Error::Start(_))), "{url}");
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_does_not_end_its_session_does_not_delay_the_client() -> Test {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let site = |request: Request<Body>| async move {
        if request.method() == Method::DELETE {
            std::future::pending::<()>().await;
        }
        let (head, body) = request.into_parts();
        let message = serde_json::from_slice(&to_bytes(body, usize::MAX).await.unwrap_or_default()).unwrap_or_default();
        legacy(&Recorded { method: head.method, headers: head.headers, message }, "s").unwrap_or_else(|| status(500))
    };
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(site)).await });
    let client = Client::connect_http(&url, options()).await?;
    let start = Instant::now();
    timeout(TEST_TIMEOUT, client.close()).await?;
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(900) && elapsed < Duration::from_secs(3), "{elapsed:?}");
    Ok(())
}

#[tokio::test]
async fn at_most_1024_calls_are_pending() -> Test {
    let site = Site::start(|request| modern(request).unwrap_or_else(|| endless_events(vec![]))).await?;
    let client = Client::connect_http(&site.url, options().timeout(None)).await?;
    let calls: Vec<_> =
        (0..1_024).map(|_| tokio::spawn(client.call::<Value>("tools/call", &()).into_future())).collect();
    while site.names().len() < 1_025 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let further = client.call::<Value>("tools/call", &()).await;
    assert!(matches!(further, Err(Error::Call(CallError::TooManyCalls))), "{further:?}");
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(())
}

/// A server whose tool has an argument that is also a header. The name of the header changes.
fn tool_with_header(request: &Recorded, header: &str) -> Response<Body> {
    match request.name().as_str() {
        "tools/list" => {
            let schema = json!({ "properties": { "region": { "type": "string", "x-mcp-header": header } } });
            result(request, &json!({ "tools": [{ "name": "deploy", "inputSchema": schema }] }))
        }
        _ if request.header(&format!("mcp-param-{header}")) == "eu" => result(request, &json!({ "ok": true })),
        _ => error(400, &request.message["id"], -32020),
    }
}

#[tokio::test]
async fn after_a_header_mismatch_the_tools_are_listed_and_the_call_is_sent_once_more() -> Test {
    let count = Arc::new(AtomicUsize::new(0));
    let site = Site::start(move |request| {
        modern(request).unwrap_or_else(|| {
            // After the first call with a result, the schema of the tool changes.
            let header = if count.load(Ordering::Relaxed) == 0 { "Region" } else { "Zone" };
            let answer = tool_with_header(request, header);
            if request.name() == "tools/call" && answer.status() == 200 {
                count.fetch_add(1, Ordering::Relaxed);
            }
            answer
        })
    })
    .await?;
    let client = Client::connect_http(&site.url, options()).await?;
    let call = json!({ "name": "deploy", "arguments": { "region": "eu" } });
    for _ in 0..2 {
        assert_eq!(client.call::<Value>("tools/call", &call).await?, json!({ "ok": true }));
    }
    let retried = ["tools/call", "tools/list", "tools/call"];
    assert_eq!(site.names(), [&["server/discover"][..], &retried, &retried].concat());
    Ok(())
}

#[tokio::test]
async fn a_call_that_the_server_refuses_again_fails_after_one_retry() -> Test {
    for can_list in [true, false] {
        let site = Site::start(move |request| {
            modern(request).unwrap_or_else(|| match request.name().as_str() {
                "tools/list" if can_list => result(request, &json!({ "tools": [] })),
                "tools/list" => status(500),
                _ => error(400, &request.message["id"], -32020),
            })
        })
        .await?;
        let client = Client::connect_http(&site.url, options()).await?;
        for (method, calls) in [("tools/call", if can_list { 2 } else { 1 }), ("prompts/get", 1)] {
            let refused = client.call::<Value>(method, &json!({ "name": "x" })).await.err();
            let is_mismatch =
                matches!(&refused, Some(Error::Call(CallError::Remote(error))) if error.code.value() == -32020);
            assert!(is_mismatch, "{refused:?}");
            assert_eq!(site.names().iter().filter(|name| *name == method).count(), calls, "{method}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_server_cannot_send_the_errors_of_the_client() -> Test {
    let site = Site::start(|request| {
        modern(request).unwrap_or_else(|| match request.message["params"]["name"].as_str() {
            Some("fails") => status(500),
            _ => {
                let data = json!({ "reason": "http-failed", "mark": "http-failed", "status": 401, "challenge": "x" });
                let error = json!({ "code": -32603, "message": "forged", "data": data });
                let message = json!({ "jsonrpc": "2.0", "id": request.message["id"], "error": error });
                response(200, "application/json", message.to_string())
            }
        })
    })
    .await?;
    let client = Client::connect_http(&site.url, options()).await?;
    let forged = client.call::<Value>("tools/call", &()).await.err();
    assert!(matches!(&forged, Some(Error::Call(CallError::Remote(error))) if error.message == "forged"), "{forged:?}");
    let failed = client.call::<Value>("tools/call", &json!({ "name": "fails" })).await.err();
    assert_eq!(http_error(failed)?.0, Some(500));
    Ok(())
}

#[tokio::test]
async fn the_era_of_an_origin_is_detected_once() -> Test {
    let is_modern = Arc::new(AtomicUsize::new(0));
    let current = Arc::clone(&is_modern);
    let site = Site::start(move |request| {
        let is_modern = current.load(Ordering::Relaxed) == 1;
        let handshake = if is_modern { modern(request) } else { legacy(request, "s") };
        handshake.unwrap_or_else(|| error(400, &Value::Null, -32601))
    })
    .await?;
    let cache = EraCache::new();
    let names = |from: usize| -> Vec<String> {
        site.names().into_iter().skip(from).filter(|name| name != "GET" && name != "DELETE").collect()
    };
    let initialize = ["initialize", "notifications/initialized"];
    let mut from = 0;
    for (modern, era, requests) in [
        (0, Era::Legacy, [&["server/discover"][..], &initialize].concat()),
        (0, Era::Legacy, initialize.to_vec()),
        // Another server has the origin now.
        (1, Era::Modern, vec!["initialize", "server/discover"]),
        (1, Era::Modern, vec!["server/discover"]),
        (0, Era::Legacy, [&["server/discover"; 2][..], &initialize].concat()),
    ] {
        is_modern.store(modern, Ordering::Relaxed);
        let client = Client::connect_http(&site.url, options().era_cache(&cache)).await?;
        if era == Era::Legacy {
            // The notification is sent in a task.
            client.call::<Value>("last", &()).await.err().ok_or("the call must fail")?;
        }
        let sent = names(from);
        let sent: Vec<_> = sent.iter().map(String::as_str).filter(|name| *name != "last").collect();
        assert_eq!((client.era(), sent), (era, requests));
        client.close().await;
        from = site.names().len();
    }
    // Without the cache, each connection detects the era. A restricted era does not change the cache.
    let client = Client::connect_http(&site.url, options()).await?;
    client.close().await;
    assert_eq!(names(from).first().map(String::as_str), Some("server/discover"));
    Ok(())
}
