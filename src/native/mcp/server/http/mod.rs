//! A server over Streamable HTTP (MCP 2025-11-25 and 2026-07-28, basic/transports), as a service of `tower`.

mod body;
mod checks;
mod events;
mod modern_program;
mod post;
mod program;
mod request;
mod serve;
mod session;

use core::convert::Infallible;
use core::error::Error;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::sync::Semaphore;

use self::body::Events;
pub use self::body::HttpBody;
use self::checks::{Access, LAST_EVENT_ID, Refusal, SESSION_ID, accepts, single};
pub use self::program::HttpProgram;
use self::program::Program;
use self::session::{OWN_STREAM, Session, Sessions};
use super::{Server, Shared};
use crate::Limits;
use crate::native::http_refusal::MAX_REFUSALS;
use crate::native::limits::{MAX_HTTP_CONNECTIONS, MAX_HTTP_CONNECTIONS_PER_ADDRESS};
use crate::native::places::Places;

/// A server of MCP over Streamable HTTP, for clients of both eras.
///
/// The service is a `tower::Service`, so a router of `axum` can mount it. [`HttpService::serve`] serves it without a
/// router.
///
/// - A request whose header `Host` names no accepted host is answered with 421, and an `Origin` of another host with
///   403. By default, the service accepts the names of this machine: `localhost`, `127.0.0.1` and `[::1]`.
/// - A response is JSON, unless the handler sends other messages before it. Then the response is a stream of
///   server-sent events.
/// - In the legacy era, each client has a session. The end of a connection does not cancel its requests, and a client
///   can continue a stream with `Last-Event-ID`.
/// - In the modern era, the end of a connection cancels its request. A handler that has sent a message runs only as
///   fast as its client reads.
/// - The service compresses nothing, and answers a compressed body with 415. It sends no headers for CORS, which a
///   layer of `tower` can add. Pages need `Mcp-Session-Id` in `Access-Control-Expose-Headers`.
///
/// The service checks no tokens. A layer of `tower` can check them, and pass an identity to
/// [`Context::identity`](super::Context::identity).
///
/// ```no_run
/// use portway::mcp::{HttpService, Server};
///
/// # async fn run() -> std::io::Result<()> {
/// let service = HttpService::new(&Server::new("calculator", "1.0.0"));
/// // 127.0.0.1:3000, any path
/// service.serve(HttpService::bind(3000).await?).await
/// # }
/// ```
#[derive(Clone)]
pub struct HttpService {
    access: Access,
    limits: Limits,
    max_connections: usize,
    max_connections_per_address: usize,
    places: Arc<Places>,
    /// A permit for each connection that is refused with a response.
    refusals: Arc<Semaphore>,
    state: Arc<State>,
}

/// The server behind a service.
#[derive(Clone)]
enum Backend {
    Registry(Arc<Shared>),
    Program(Arc<Program>),
}

/// The state that all clones of a service share.
struct State {
    backend: Backend,
    sessions: Sessions,
    /// A permit for each running request.
    running: Arc<Semaphore>,
}

impl HttpService {
    /// Creates a service.
    #[must_use]
    pub fn new(server: &Server) -> Self {
        Self::of_backend(Backend::Registry(Arc::clone(&server.0)))
    }

    /// Creates a service for a server of MCP that is a program on standard streams.
    ///
    /// - In the legacy era, each session has a process, which ends with the session. The exit of the process ends the
    ///   session.
    /// - In the modern era, one process serves all clients. The first request starts it, and detects whether the
    ///   program has this era. Otherwise, the requests of this era are answered with 400. A request after the exit of
    ///   the process starts it again.
    ///
    /// The exit of a process ends its pending requests with an error. Params, results and errors are not changed, but
    /// the ids of requests are. In the modern era, this also concerns the token of the progress. The service answers
    /// the `ping` of a process itself. It does not compare the headers `Mcp-Param-*` with the arguments of tools.
    ///
    /// ```no_run
    /// use portway::mcp::{HttpProgram, HttpService};
    /// use tokio::process::Command;
    ///
    /// # async fn run() -> std::io::Result<()> {
    /// let service = HttpService::of_program(HttpProgram::new(Command::new("my-mcp-server")));
    /// service.serve(HttpService::bind(3000).await?).await
    /// # }
    /// ```
    #[must_use]
    pub fn of_program(program: HttpProgram) -> Self {
        Self::of_backend(Backend::Program(Program::new(Arc::new(program), Limits::DEFAULT)))
    }

    fn of_backend(backend: Backend) -> Self {
        let limits = Limits::DEFAULT;
        let (max, max_per_address) = (MAX_HTTP_CONNECTIONS, MAX_HTTP_CONNECTIONS_PER_ADDRESS);
        Self {
            access: Access::default(),
            state: State::new(backend, &limits),
            limits,
            max_connections: max,
            max_connections_per_address: max_per_address,
            places: Places::new(max, max_per_address),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
        }
    }

    /// Accepts a host, for example `example.com`, in the headers `Host` and `Origin`, with any port.
    #[must_use]
    pub fn with_host(mut self, host: &str) -> Self {
        self.access.hosts.push(host.to_ascii_lowercase());
        self
    }

    /// Accepts an origin of another host, for example `https://example.com`, in the header `Origin`.
    #[must_use]
    pub fn with_origin(mut self, origin: &str) -> Self {
        self.access.origins.push(origin.to_ascii_lowercase());
        self
    }

    /// Sets the limits. [`Limits::message_bytes`] limits a body, [`Limits::partial_frame_ms`] the time to receive it,
    /// and [`Limits::in_flight`] the running requests of all clients together. Call this function before the first
    /// request, because it also ends all sessions.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let backend = match &self.state.backend {
            Backend::Program(program) => Backend::Program(Program::new(program.options(), limits)),
            registry @ Backend::Registry(_) => registry.clone(),
        };
        Self { state: State::new(backend, &limits), limits, ..self }
    }

    /// Sets the maximum number of connections of [`HttpService::serve`]. If all places are taken, a further connection
    /// takes the place of the connection whose first request has been incomplete for the longest time. Without such a
    /// connection, the further connection is refused with 503. Default: 4 096.
    #[must_use]
    pub fn with_max_connections(self, max_connections: usize) -> Self {
        let places = Places::new(max_connections, self.max_connections_per_address);
        Self { max_connections, places, ..self }
    }

    /// Sets the maximum number of connections of [`HttpService::serve`] from one IPv4 address or IPv6 network. Default:
    /// 2 048.
    #[must_use]
    pub fn with_max_connections_per_address(self, max_connections_per_address: usize) -> Self {
        let places = Places::new(self.max_connections, max_connections_per_address);
        Self { max_connections_per_address, places, ..self }
    }

    /// Ends all sessions. Ends the processes of [`HttpService::of_program`] and waits for their exit. Their pending
    /// requests fail, and no further process is started.
    pub async fn close(&self) {
        let sessions = self.state.sessions.take();
        sessions.iter().for_each(|session| session.end());
        if let Backend::Program(program) = &self.state.backend {
            program.close().await;
            for session in sessions {
                session.closed().await;
            }
        }
    }

    async fn handle<B>(self, request: Request<B>) -> Response<HttpBody>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        match self.answer(head, body).await {
            Ok(response) => response,
            Err((status, problem)) => text_response(status, "text/plain; charset=utf-8", problem),
        }
    }

    async fn answer<B>(&self, head: Parts, body: B) -> Result<Response<HttpBody>, Refusal>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.access.check(&head.uri, &head.headers)?;
        checks::check_lengths(&head.headers)?;
        match head.method {
            Method::POST => self.post(head, body).await,
            Method::GET => self.open_stream(&head.headers),
            Method::DELETE => {
                let (id, session) = self.session(&head.headers)?;
                self.state.sessions.remove(&id);
                session.end();
                Ok(empty_response(StatusCode::NO_CONTENT))
            }
            _ => {
                let problem = "the method must be POST, GET or DELETE".into();
                let mut response = text_response(StatusCode::METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", problem);
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
                Ok(response)
            }
        }
    }

    /// Returns the session that a request names.
    fn session(&self, headers: &HeaderMap) -> Result<(String, Arc<Session>), Refusal> {
        let id = single(headers, &SESSION_ID).map_err(|problem| (StatusCode::BAD_REQUEST, problem))?;
        let id = id.ok_or_else(|| (StatusCode::BAD_REQUEST, "Mcp-Session-Id is missing".to_owned()))?;
        let session = self.state.sessions.get(id);
        let session = session.ok_or_else(|| {
            (StatusCode::NOT_FOUND, "the session of Mcp-Session-Id is unknown or has ended; send initialize".to_owned())
        })?;
        Ok((id.to_owned(), session))
    }

    /// Opens the stream of the messages that belong to no request, or continues a stream.
    fn open_stream(&self, headers: &HeaderMap) -> Result<Response<HttpBody>, Refusal> {
        if !headers.contains_key(&SESSION_ID) {
            let mut response = empty_response(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return Ok(response);
        }
        if !accepts(headers, "text/event-stream") {
            return Err((StatusCode::NOT_ACCEPTABLE, "Accept must have text/event-stream".to_owned()));
        }
        let (_, session) = self.session(headers)?;
        let unknown = || (StatusCode::BAD_REQUEST, "Last-Event-ID names no event that can follow".to_owned());
        let last = single(headers, &LAST_EVENT_ID).map_err(|problem| (StatusCode::BAD_REQUEST, problem))?;
        let (number, after) = match last {
            Some(last) => {
                let position =
                    last.split_once('-').and_then(|(stream, event)| Some((stream.parse().ok()?, event.parse().ok()?)));
                let (stream, event) = position.ok_or_else(unknown)?;
                (stream, Some(event))
            }
            None => (OWN_STREAM, None),
        };
        let events = session.stream(number).ok_or_else(unknown)?;
        let (reader, after) = events.attach(after).ok_or_else(unknown)?;
        let events = Events::new(events, reader).with_ids(number, after, session.has_start());
        Ok(events_response(events))
    }
}

impl State {
    fn new(backend: Backend, limits: &Limits) -> Arc<Self> {
        let running = Arc::new(Semaphore::new(limits.in_flight.min(Semaphore::MAX_PERMITS)));
        Arc::new(Self { backend, sessions: Sessions::default(), running })
    }
}

fn empty_response(status: StatusCode) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::text(""));
    *response.status_mut() = status;
    response
}

fn text_response(status: StatusCode, kind: &'static str, text: String) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::text(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn events_response(events: Events) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::events(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Proxies such as nginx must pass each event at once.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("access", &self.access).finish_non_exhaustive()
    }
}
