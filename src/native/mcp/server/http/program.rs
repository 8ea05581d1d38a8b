//! A server that is a program on standard streams, and its sessions. In the legacy era, each session has a process.

use core::fmt;
use core::time::Duration;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hyper::{Response, StatusCode};
use serde_json::value::RawValue;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::super::context::Outlet;
use super::super::run::empty;
use super::body::HttpBody;
use super::modern_program::Modern;
use super::post::error_response;
use super::session::{Session, SessionServer};
use super::{HttpService, State};
use crate::error::{CallError, Closed, RpcError};
use crate::json_value::Text;
use crate::message::{Id, ObjectPayload, Request};
use crate::native::handlers::{Fallback, HandlerOutcome};
use crate::native::limits::{MAX_HTTP_PROGRAMS, MAX_HTTP_SESSIONS, MCP_SESSION_IDLE};
use crate::native::mcp::member;
use crate::native::peer::Peer;
use crate::native::transport::Transport;
use crate::profile::Profile;
use crate::{Client, Framing, Limits};

/// The program of a server of MCP on standard streams, and the limits of its processes, for
/// [`HttpService::of_program`].
#[must_use = "the program has an effect only in `HttpService::of_program`"]
pub struct HttpProgram {
    command: Mutex<Command>,
    max_sessions: usize,
    idle_time: Duration,
    on_warning: Option<Box<WarnFn>>,
}

type WarnFn = dyn Fn(&str) + Send + Sync;

impl HttpProgram {
    /// Sets the program. Each process inherits the standard error of this process, unless `command` redirects it.
    pub fn new(command: impl Into<Command>) -> Self {
        Self {
            command: Mutex::new(command.into()),
            max_sessions: MAX_HTTP_PROGRAMS,
            idle_time: MCP_SESSION_IDLE,
            on_warning: None,
        }
    }

    /// Sets the maximum number of sessions, each of which has a process. A further `initialize` is answered with 503.
    /// Default: 64. At most 1 024.
    pub fn max_sessions(self, max_sessions: usize) -> Self {
        Self { max_sessions: max_sessions.min(MAX_HTTP_SESSIONS), ..self }
    }

    /// Sets the time after which an idle session ends. A session with a running request or an open stream is not idle.
    /// Default: 30 minutes.
    pub fn idle_time(self, idle_time: Duration) -> Self {
        Self { idle_time, ..self }
    }

    /// Registers a callback for faults of the program, as texts for a log. Examples are a process that cannot be
    /// started, and a process that exits by itself.
    pub fn on_warning(self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { on_warning: Some(Box::new(callback)), ..self }
    }
}

impl fmt::Debug for HttpProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProgram").field("command", &self.command).finish_non_exhaustive()
    }
}

/// The state of a program.
pub(super) struct Program {
    options: Arc<HttpProgram>,
    pub(super) limits: Limits,
    /// A permit for each process of a session.
    permits: Arc<Semaphore>,
    pub(super) is_closed: AtomicBool,
    pub(super) modern: Modern,
}

impl Program {
    pub(super) fn new(options: Arc<HttpProgram>, limits: Limits) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(options.max_sessions));
        Arc::new(Self { options, limits, permits, is_closed: AtomicBool::new(false), modern: Modern::default() })
    }

    pub(super) fn options(&self) -> Arc<HttpProgram> {
        Arc::clone(&self.options)
    }

    pub(super) fn warn(&self, text: &str) {
        if let Some(callback) = &self.options.on_warning {
            callback(text);
        }
    }

    /// Reports the exit of a process, unless the service has ended it.
    pub(super) fn warn_of_end(&self, closed: &Closed) {
        if !matches!(closed, Closed::Local) {
            self.warn(&format!("the program has ended: {closed}"));
        }
    }

    /// Starts a process.
    pub(super) fn start(&self) -> Result<Transport, RpcError> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(RpcError::internal("the service ends"));
        }
        let started = {
            let mut command = self.options.command.lock().unwrap_or_else(PoisonError::into_inner);
            Transport::child(&mut command, Framing::Newline)
        };
        let failed = |error: io::Error| {
            self.warn(&format!("cannot start {error}"));
            RpcError::internal("the program of the server cannot be started")
        };
        Ok(started.map_err(failed)?.with_profile(Profile::MCP).with_limits(self.limits))
    }

    /// Ends the process of the modern era. No further process is started.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.modern.close().await;
    }
}

impl HttpService {
    /// Begins a session with a process. If the connection of the client ends before the response, the process ends.
    pub(super) async fn initialize_program(
        &self,
        program: &Arc<Program>,
        request: Request<Text>,
    ) -> Response<HttpBody> {
        let Request { id, method, params } = request;
        let Ok(permit) = Arc::clone(&program.permits).try_acquire_owned() else {
            let max_sessions = program.options.max_sessions;
            let problem = format!("all {max_sessions} sessions of this server are in use; try again later");
            return error_response(StatusCode::SERVICE_UNAVAILABLE, &id, RpcError::internal(problem));
        };
        let transport = match program.start() {
            Ok(transport) => transport,
            Err(error) => return error_response(StatusCode::BAD_GATEWAY, &id, error),
        };
        let session = Arc::new_cyclic(|session| Session::of_program(connect(transport, session)));
        let SessionServer::Program(client) = session.server() else {
            return error_response(StatusCode::INTERNAL_SERVER_ERROR, &id, RpcError::internal("there is no process"));
        };
        let process = client.clone();
        tokio::spawn(async move {
            process.closed().await;
            drop(permit);
        });
        match client.call::<Text>(&method, &params).timeout(None).await {
            Ok(result) => {
                let version: Option<String> = member(&result, "protocolVersion");
                session.set_version(&version.unwrap_or_default());
                let (response, session_id) = self.begin_session(&session, &id, result);
                if let Some(session_id) = session_id {
                    tokio::spawn(watch(Arc::downgrade(&self.state), Arc::clone(program), session_id, client.clone()));
                }
                response
            }
            Err(CallError::Remote(error)) => error_response(StatusCode::BAD_REQUEST, &id, error),
            Err(error) => {
                session.end();
                if matches!(error, CallError::PeerGone | CallError::Lost(_)) {
                    program.warn_of_end(&client.closed().await);
                }
                error_response(StatusCode::BAD_GATEWAY, &id, program_error(error))
            }
        }
    }
}

/// Ends a session when its process has exited, or when the session is idle.
async fn watch(state: Weak<State>, program: Arc<Program>, id: String, client: Client) {
    let idle = program.options.idle_time;
    let mut deadline = Instant::now() + idle;
    loop {
        let closed = timeout_at(deadline, client.closed()).await;
        let Some(state) = state.upgrade() else { return };
        let next = state.sessions.idle_deadline(&id, idle);
        match (closed, next) {
            (Err(_), Some(next)) if next > Instant::now() => deadline = next,
            (closed, _) => {
                let session = state.sessions.remove(&id);
                session.iter().for_each(|session| session.end());
                if let (Ok(closed), Some(_)) = (closed, session) {
                    program.warn_of_end(&closed);
                }
                return;
            }
        }
    }
}

/// Connects a session to its process. The requests and the notifications of the process are passed to the client of the
/// session.
fn connect(transport: Transport, session: &Weak<Session>) -> Client {
    let peer = Peer::new(transport);
    peer.server().add_method("ping", Arc::new(|_, _| HandlerOutcome::Ready(empty())));
    let (of_requests, of_notifications) = (Weak::clone(session), Weak::clone(session));
    let method = move |params: Option<&RawValue>, context: crate::Context| match of_requests.upgrade() {
        Some(session) => {
            HandlerOutcome::Pending(session.outlet(None).call(&context.method(), params.map(ToOwned::to_owned)))
        }
        None => HandlerOutcome::Ready(Err(RpcError::internal("the client is gone"))),
    };
    let notification = move |params: Option<&RawValue>, context: crate::Context| {
        let Some(session) = of_notifications.upgrade() else { return Ok(()) };
        let method = context.method();
        let token: Option<Text> = match params {
            Some(params) if method == "notifications/progress" => member(params, "progressToken"),
            _ => None,
        };
        let token: Option<Id> = token.and_then(|token| Text::read_id(&token));
        // If the client does not read, the notification is dropped.
        let _ = session.outlet(token.as_ref()).notify(&method, params);
        Ok(())
    };
    peer.server().set_fallback(Fallback { method: Some(Arc::new(method)), notification: Arc::new(notification) });
    let client = peer.client().clone();
    peer.forget();
    client
}

/// Sends a request to a process. The drop of the future cancels the request.
pub(super) async fn call_program(client: &Client, method: &str, params: Option<Text>) -> Result<Text, RpcError> {
    client.call::<Text>(method, &params).timeout(None).await.map_err(program_error)
}

/// Returns the error response for a call of a process.
pub(super) fn program_error(error: CallError) -> RpcError {
    match error {
        CallError::PeerGone | CallError::Lost(_) => RpcError::internal("the process of the server has ended"),
        CallError::Destroyed => RpcError::internal("the session has ended"),
        CallError::Params(problem) => RpcError::internal(problem),
        error => RpcError::from(error),
    }
}
