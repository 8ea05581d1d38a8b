//! The HTTP requests of a client: one POST for each message, and the session of the legacy era.

use core::fmt;
use core::pin::Pin;
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use portway_proto::mcp::http::{Json, ParamHeaders, named_param};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::WarnFn;
use super::message::{HttpFailure, Outgoing};
use super::pool::{Pool, Reply};
use crate::Limits;
use crate::native::limits::HTTP_CLOSE_TIMEOUT;

/// Returns further headers for each request, for example with a token.
pub(in crate::native::mcp) type HeadersFn =
    dyn Fn() -> Pin<Box<dyn Future<Output = Vec<(String, String)>> + Send>> + Send + Sync;

pub(super) struct Endpoint {
    pool: Arc<Pool>,
    headers: Option<Arc<HeadersFn>>,
    warn: Box<WarnFn>,
    incoming: mpsc::Sender<Vec<u8>>,
    state: Mutex<State>,
    /// Whether no session is being initialized. Other messages wait.
    is_initialized: watch::Sender<bool>,
    /// Held while a new session begins.
    renewal: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    limits: Limits,
    session: Session,
    /// The params of tools that are also headers.
    param_headers: ParamHeaders,
    tasks: JoinSet<()>,
    /// The running requests, by id, and whether they belong to the modern era.
    requests: HashMap<u64, (AbortHandle, bool)>,
    /// Whether the link has ended.
    is_closed: bool,
}

/// A session of the legacy era.
#[derive(Clone, Default)]
pub(super) struct Session {
    /// The value of the header `Mcp-Session-Id`.
    pub(super) id: Option<HeaderValue>,
    /// The version in the response to `initialize`.
    version: Option<String>,
    /// The text of the request `initialize`, for another session.
    initialize: Option<String>,
    /// Whether the server has no stream of its own messages.
    pub(super) has_no_stream: bool,
}

/// The text has only the beginning of the id, because the id is a secret.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.as_ref().and_then(|id| id.to_str().ok()).and_then(|id| id.get(..4));
        f.debug_struct("Session").field("id", &id).field("version", &self.version).finish_non_exhaustive()
    }
}

impl Endpoint {
    pub(super) fn new(
        pool: Pool,
        headers: Option<Arc<HeadersFn>>,
        warn: Box<WarnFn>,
        incoming: mpsc::Sender<Vec<u8>>,
    ) -> Self {
        Self {
            pool: Arc::new(pool),
            headers,
            warn,
            incoming,
            state: Mutex::default(),
            is_initialized: watch::Sender::new(true),
            renewal: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn set_limits(&self, limits: Limits) {
        self.state().limits = limits;
    }

    pub(super) fn limits(&self) -> Limits {
        self.state().limits
    }

    /// Sends a message in a task.
    pub(super) fn start(self: &Arc<Self>, text: &str) {
        let message = Outgoing::read(text);
        if message.method == "notifications/cancelled" && self.cancel(&message) {
            return;
        }
        if is_initialized(&message) {
            self.is_initialized.send_replace(false);
        }
        let (id, is_modern) = (message.id, message.version.is_some());
        let endpoint = Arc::clone(self);
        self.spawn(async move { endpoint.run(message).await }, id.map(|id| (id, is_modern)));
    }

    /// Runs a task until the link ends. `request` is the id of a request, and whether it belongs to the modern era.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static, request: Option<(u64, bool)>) {
        let mut state = self.state();
        if state.is_closed {
            return;
        }
        while state.tasks.try_join_next().is_some() {}
        let handle = state.tasks.spawn(work);
        if let Some((id, is_modern)) = request {
            state.requests.retain(|_, (task, _)| !task.is_finished());
            state.requests.insert(id, (handle, is_modern));
        }
    }

    /// Closes the response of a cancelled request. Returns whether this cancels the request at the server, as in the
    /// modern era.
    fn cancel(&self, message: &Outgoing) -> bool {
        let id = message.param("requestId").and_then(|id| id.get().parse().ok());
        let Some((task, is_modern)) = id.and_then(|id: u64| self.state().requests.remove(&id)) else { return false };
        task.abort();
        is_modern
    }

    async fn run(self: Arc<Self>, message: Outgoing) {
        if !is_initialized(&message) {
            // The sender is in `self`, so the channel is open.
            let _ = self.is_initialized.subscribe().wait_for(|is_initialized| *is_initialized).await;
        }
        let outcome = self.exchange(&message).await;
        if is_initialized(&message) {
            self.is_initialized.send_replace(true);
            self.start_stream();
        }
        let text = match (outcome, message.id) {
            (Ok(Some(text)), _) => text,
            (Ok(None), _) => return,
            (Err(failure), Some(id)) => failure.response(id),
            (Err(failure), None) => return (self.warn)(&failure.problem),
        };
        self.deliver(text).await;
    }

    /// Passes a message of the server to the link.
    pub(super) async fn deliver(&self, text: Vec<u8>) {
        // If the receiver was dropped, the link has ended.
        let _ = self.incoming.send(text).await;
    }

    /// Sends a message. Returns the response to a request. If the session has ended, begins one new session, and sends
    /// the message once more.
    async fn exchange(self: &Arc<Self>, message: &Outgoing) -> Result<Option<Vec<u8>>, HttpFailure> {
        let session = self.session();
        let mut reply = self.post(message).await?;
        if reply.head.status == StatusCode::NOT_FOUND && session.id.is_some() && message.version.is_none() {
            // The future is large, and rarely needed. The task of each open stream would contain it.
            Box::pin(self.renew(&session)).await?;
            reply = self.post(message).await?;
        }
        let text = self.response(message, reply).await?;
        Ok(text.map(|text| self.read_response(message, text)))
    }

    async fn post(&self, message: &Outgoing) -> Result<Reply, HttpFailure> {
        let accept = "application/json, text/event-stream";
        let mut headers =
            vec![("accept".to_owned(), accept.to_owned()), ("content-type".to_owned(), "application/json".to_owned())];
        if message.version.is_some() {
            headers.push(("mcp-method".into(), message.method.clone()));
            if let Some(name) = named_param(&message.method).and_then(|member| message.text_param(member)) {
                let arguments =
                    message.param("arguments").and_then(|text| serde_json::from_str::<Value>(text.get()).ok());
                let arguments = arguments.as_ref().map(Json::from).unwrap_or_default();
                headers.extend(self.state().param_headers.of_request(&message.method, &name, &arguments));
            }
        }
        self.send(Method::POST, headers, message.version.as_deref(), message.text.clone()).await
    }

    /// Sends an HTTP request. `version` is the version of a message of the modern era.
    pub(super) async fn send(
        &self,
        method: Method,
        mut headers: Vec<(String, String)>,
        version: Option<&str>,
        body: String,
    ) -> Result<Reply, HttpFailure> {
        let session = self.session();
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        *request.uri_mut() =
            self.pool.path().parse().map_err(|_| HttpFailure::new("the path of the URL is invalid"))?;
        headers.push(("host".into(), self.pool.authority().into()));
        if let Some(version) = version.map(str::to_owned).or_else(|| session.version.clone()) {
            headers.push(("mcp-protocol-version".into(), version));
        }
        if let Some(further) = &self.headers {
            headers.extend(further().await);
        }
        for (name, value) in headers {
            let invalid = || HttpFailure::new(format!("the header {name:?} must have a valid name and value"));
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            request.headers_mut().insert(header, HeaderValue::from_str(&value).map_err(|_| invalid())?);
        }
        if let Some(id) = session.id.filter(|_| version.is_none()) {
            request.headers_mut().insert("mcp-session-id", id);
        }
        Ok(self.pool.send(request).await?)
    }

    /// Reads the response to a message. Returns `None` if the message is not a request.
    async fn response(self: &Arc<Self>, message: &Outgoing, mut reply: Reply) -> Result<Option<Vec<u8>>, HttpFailure> {
        let status = reply.head.status;
        let is_denied = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if message.method == "initialize" && status.is_success() {
            self.begin_session(message, &reply);
        }
        if message.id.is_none() || is_denied || status.is_redirection() {
            reply.release();
            return if status.is_success() { Ok(None) } else { Err(status_failure(&reply)) };
        }
        if let Some(encoding) = reply.header("content-encoding").filter(|encoding| *encoding != "identity") {
            return Err(HttpFailure::new(format!("Content-Encoding must be identity, got {encoding:?}")));
        }
        if reply.is_of_type("text/event-stream") && status.is_success() {
            return self.read_stream(message, reply).await.map(Some);
        }
        if !reply.is_of_type("application/json") {
            let problem = match reply.header("content-type") {
                _ if !status.is_success() => return Err(status_failure(&reply)),
                Some(other) => format!("Content-Type must be application/json or text/event-stream, got {other:?}"),
                None => format!("the response to a request must have a body, got none with status {}", status.as_u16()),
            };
            return Err(HttpFailure::new(problem));
        }
        let text = self.read_body(&mut reply).await?;
        // Servers of 2025-03-26 may put their responses into an array, which the link decodes.
        if status.is_success() && text.trim_ascii_start().first() == Some(&b'[') {
            return Ok(Some(text));
        }
        match message.response(&text) {
            Ok(Some(response)) => Ok(Some(response)),
            _ if !status.is_success() => Err(status_failure(&reply)),
            Ok(None) => Err(HttpFailure::new("the body must be a response")),
            Err(problem) => Err(HttpFailure::new(problem)),
        }
    }

    /// Reads a whole body, up to [`Limits::message_bytes`].
    async fn read_body(&self, reply: &mut Reply) -> Result<Vec<u8>, HttpFailure> {
        let max_bytes = self.limits().message_bytes;
        let mut body = Vec::new();
        while let Some(chunk) = reply.chunk().await? {
            if body.len() + chunk.len() > max_bytes {
                return Err(HttpFailure::new(format!("the body must have at most {max_bytes} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Reads the members of a response that later requests depend on. Returns the response for the link.
    fn read_response(&self, message: &Outgoing, text: Vec<u8>) -> Vec<u8> {
        match message.method.as_str() {
            "initialize" => {
                let response: Value = serde_json::from_slice(&text).unwrap_or_default();
                let version = response.pointer("/result/protocolVersion").and_then(Value::as_str).map(str::to_owned);
                self.state().session.version = version;
            }
            "tools/list" if message.version.is_some() => {
                let mut response: Value = serde_json::from_slice(&text).unwrap_or_default();
                let result = response.get_mut("result");
                let problems =
                    result.map(|result| read_tools(&mut self.state().param_headers, result)).unwrap_or_default();
                if !problems.is_empty() {
                    problems.iter().for_each(|problem| (self.warn)(problem));
                    return response.to_string().into_bytes();
                }
            }
            _ => {}
        }
        text
    }

    // Sessions of the legacy era.

    pub(super) fn session(&self) -> Session {
        self.state().session.clone()
    }

    /// Stores the session that the response to `initialize` begins.
    fn begin_session(&self, message: &Outgoing, reply: &Reply) {
        let id = reply.head.headers.get("mcp-session-id").cloned();
        let session = Session { id, initialize: Some(message.text.clone()), ..Session::default() };
        self.state().session = session;
    }

    /// Begins a new session, unless another request has begun one after `ended`.
    async fn renew(self: &Arc<Self>, ended: &Session) -> Result<(), HttpFailure> {
        let _only = self.renewal.lock().await;
        let current = self.session();
        let Some(initialize) = current.initialize.filter(|_| current.id == ended.id) else { return Ok(()) };
        // Other messages wait for the new session.
        self.is_initialized.send_replace(false);
        let begun = self.initialize_again(&initialize).await;
        self.is_initialized.send_replace(true);
        begun
    }

    /// Begins a session by the earlier request `initialize`. Its response is not passed to the link.
    async fn initialize_again(self: &Arc<Self>, initialize: &str) -> Result<(), HttpFailure> {
        self.state().session = Session { initialize: Some(initialize.into()), ..Session::default() };
        let initialize = Outgoing::read(initialize);
        let reply = self.post(&initialize).await?;
        let response = self.response(&initialize, reply).await?;
        self.read_response(&initialize, response.unwrap_or_default());
        let initialized = Outgoing::read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let reply = self.post(&initialized).await?;
        self.response(&initialized, reply).await?;
        self.start_stream();
        Ok(())
    }

    /// Opens the stream for the messages that the server sends by itself.
    fn start_stream(self: &Arc<Self>) {
        let endpoint = Arc::clone(self);
        self.spawn(async move { endpoint.run_stream().await }, None);
    }

    pub(super) fn end_streams(&self) {
        self.state().session.has_no_stream = true;
    }

    // End.

    /// Aborts all requests.
    pub(super) fn abort(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.tasks.abort_all();
    }

    /// Aborts all requests, and ends the session at the server.
    pub(super) async fn close(self: Arc<Self>) {
        self.abort();
        if self.session().id.is_some() {
            // The server may refuse to end the session, or may not respond.
            let _ = timeout(HTTP_CLOSE_TIMEOUT, self.send(Method::DELETE, Vec::new(), None, String::new())).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the tools whose schemas violate the rules of `x-mcp-header` from a result of `tools/list`. Returns the
/// violations, as texts for a log.
fn read_tools(headers: &mut ParamHeaders, result: &mut Value) -> Vec<String> {
    let mut problems = Vec::new();
    let Some(tools) = result.get_mut("tools").and_then(Value::as_array_mut) else { return problems };
    tools.retain(|tool| {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let schema = tool.get("inputSchema").map(Json::from).unwrap_or_default();
        let read = headers.read_tool(name, &schema);
        problems.extend(read.as_ref().err().map(|problem| format!("the tool {name:?} is left out: {problem}")));
        read.is_ok()
    });
    problems
}

fn is_initialized(message: &Outgoing) -> bool {
    message.method == "notifications/initialized"
}

/// Returns the failure for a status.
pub(super) fn status_failure(reply: &Reply) -> HttpFailure {
    let status = reply.head.status.as_u16();
    HttpFailure {
        status: Some(status),
        challenge: reply.header("www-authenticate").map(str::to_owned),
        problem: format!("the server responded with the HTTP status {status}"),
    }
}
