//! An HTTP server that answers as a test demands, and records its requests.

use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, Response};
use futures_util::stream::{self, Stream, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// A recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    /// The message, or null if the request has no body.
    pub(crate) message: Value,
}

impl Recorded {
    /// Returns the method of the message. Returns the HTTP method if the request has no message.
    pub(crate) fn name(&self) -> String {
        self.message["method"].as_str().map_or_else(|| self.method.to_string(), str::to_owned)
    }

    /// Returns the text of a header, or an empty text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Recorded>>>,
}

impl Site {
    /// Starts a server. `answer` answers each request.
    pub(crate) async fn start<F>(answer: F) -> io::Result<Self>
    where
        F: Fn(&Recorded) -> Response<Body> + Clone + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp?key=secret", listener.local_addr()?);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        let serve = move |request: Request<Body>| {
            let (answer, recorded) = (answer.clone(), Arc::clone(&recorded));
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
                let message = serde_json::from_slice(&body).unwrap_or_default();
                let request = Recorded { method: head.method, headers: head.headers, message };
                recorded.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
                answer(&request)
            }
        };
        tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(serve)).await });
        Ok(Self { url, requests })
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the names of the requests so far.
    pub(crate) fn names(&self) -> Vec<String> {
        self.requests().iter().map(Recorded::name).collect()
    }

    /// Waits until there is a request with this name, and returns it.
    pub(crate) async fn request(&self, name: &str) -> Result<Recorded, Box<dyn Error>> {
        let start = std::time::Instant::now();
        loop {
            if let Some(found) = self.requests().into_iter().find(|request| request.name() == name) {
                return Ok(found);
            }
            if start.elapsed() > crate::wire::TEST_TIMEOUT {
                return Err(format!("there must be a request {name}, got {:?}", self.names()).into());
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

/// Returns a response with a body of this type.
pub(crate) fn response(status: u16, content_type: &str, body: impl Into<Body>) -> Response<Body> {
    let builder = Response::builder().status(status).header("content-type", content_type);
    builder.body(body.into()).unwrap_or_default()
}

pub(crate) fn status(status: u16) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status.try_into().unwrap_or_default();
    response
}

/// Returns a JSON response with this result.
pub(crate) fn result(request: &Recorded, result: &Value) -> Response<Body> {
    let message = json!({ "jsonrpc": "2.0", "id": request.message["id"], "result": result });
    response(200, "application/json", message.to_string())
}

/// Returns an error response with this status.
pub(crate) fn error(status: u16, id: &Value, code: i64) -> Response<Body> {
    let message = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no" } });
    response(status, "application/json", message.to_string())
}

/// Returns a stream of server-sent events with these pieces of text. The stream ends after the last piece.
pub(crate) fn events(pieces: Vec<String>) -> Response<Body> {
    stream_of(stream::iter(pieces))
}

/// Returns a stream of server-sent events that does not end.
pub(crate) fn endless_events(pieces: Vec<String>) -> Response<Body> {
    stream_of(stream::iter(pieces).chain(stream::pending()))
}

/// Returns a stream of server-sent events that does not end. The sender is dropped when the client closes the stream.
pub(crate) fn watched_events(sender: mpsc::Sender<()>) -> Response<Body> {
    stream_of(stream::poll_fn(move |_| {
        let _owned = &sender;
        Poll::Pending
    }))
}

fn stream_of(pieces: impl Stream<Item = String> + Send + 'static) -> Response<Body> {
    let pieces = pieces.map(|piece| Ok::<_, io::Error>(Bytes::from(piece)));
    response(200, "text/event-stream; charset=utf-8", Body::from_stream(pieces))
}

/// Answers the handshake of a server of the modern era. Returns `None` for other requests.
pub(crate) fn modern(request: &Recorded) -> Option<Response<Body>> {
    let discovered = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
    (request.name() == "server/discover").then(|| result(request, &discovered))
}

/// Answers the handshake of a server of the legacy era with this session, and refuses the stream of the server. Returns
/// `None` for other requests.
pub(crate) fn legacy(request: &Recorded, session: &str) -> Option<Response<Body>> {
    Some(match request.name().as_str() {
        "server/discover" => error(400, &Value::Null, -32000),
        "initialize" => {
            let mut response = result(request, &json!({ "protocolVersion": "2025-11-25", "capabilities": {} }));
            if let Ok(session) = session.parse() {
                response.headers_mut().insert("mcp-session-id", session);
            }
            response
        }
        "notifications/initialized" => status(202),
        "GET" | "DELETE" => status(405),
        _ => return None,
    })
}
