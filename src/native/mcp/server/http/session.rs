//! The sessions of the legacy era.

use core::time::Duration;
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::super::Shared;
use super::super::changes::Listener;
use super::super::context::{Answer, Outlet};
use super::super::legacy_client::LegacyClient;
use super::events::EventQueue;
use super::request::{Running, push_notification};
use crate::Client;
use crate::codec::json;
use crate::error::{CallError, RpcError};
use crate::json_value::{Text, write_value};
use crate::message::{Id, Message, Outgoing, Request, RequestId, Response};
use crate::native::limits::{MAX_HTTP_KEPT_BYTES, MAX_HTTP_SESSIONS};
use crate::native::mcp_dialect;

/// The number of the stream for the messages that belong to no request.
pub(super) const OWN_STREAM: u64 = 0;

pub(super) struct Session {
    server: SessionServer,
    /// Whether a stream begins with an event that has only an id.
    has_start: AtomicBool,
    own_events: Arc<EventQueue>,
    /// Reports changes of a registry to the client.
    _listener: Option<Arc<Listener>>,
    next_call: AtomicU64,
    state: Mutex<State>,
}

/// The server of a session.
pub(super) enum SessionServer {
    /// A registry, and the state of the client.
    Registry { shared: Arc<Shared>, client: Arc<LegacyClient> },
    /// A process.
    Program(Client),
}

#[derive(Default)]
struct State {
    /// The running requests.
    running: HashMap<Id, RunningRequest>,
    /// The requests of the server without a response.
    calls: HashMap<u64, oneshot::Sender<Result<Text, RpcError>>>,
    /// The streams that the client can continue, by their numbers.
    streams: VecDeque<(u64, Arc<EventQueue>)>,
    next_stream: u64,
    /// The number of requests that have started.
    started: u64,
    /// The time at which a request has ended last.
    last_end: Option<Instant>,
    is_ended: bool,
}

/// A running request.
struct RunningRequest {
    task: AbortHandle,
    /// The messages of the response.
    events: Arc<EventQueue>,
    /// The token for the progress.
    token: Option<Id>,
    /// The requests are numbered in the order of their start.
    number: u64,
}

/// A session without a reference has ended.
impl Drop for Session {
    fn drop(&mut self) {
        if let SessionServer::Program(client) = &self.server {
            client.destroy();
        }
    }
}

impl Session {
    /// Creates a session of a registry.
    pub(super) fn new(shared: &Arc<Shared>, client: Arc<LegacyClient>, version: &str) -> Self {
        let own_events = Arc::new(EventQueue::new(true));
        let outlet = Arc::new(SessionOutlet { events: Arc::clone(&own_events), session: Weak::new() });
        let listener = shared.listen_legacy(&client, outlet);
        let server = SessionServer::Registry { shared: Arc::clone(shared), client };
        let session = Self::on(server, own_events, Some(listener));
        session.set_version(version);
        session
    }

    /// Creates a session of a process.
    pub(super) fn of_program(client: Client) -> Self {
        Self::on(SessionServer::Program(client), Arc::new(EventQueue::new(true)), None)
    }

    fn on(server: SessionServer, own_events: Arc<EventQueue>, listener: Option<Arc<Listener>>) -> Self {
        Self {
            server,
            has_start: AtomicBool::new(false),
            own_events,
            _listener: listener,
            next_call: AtomicU64::new(1),
            state: Mutex::new(State { next_stream: OWN_STREAM + 1, ..State::default() }),
        }
    }

    pub(super) const fn server(&self) -> &SessionServer {
        &self.server
    }

    /// Sets the version of MCP. Since 2025-11-25, a stream begins with an event that has only an id. Earlier clients
    /// read this event as JSON.
    pub(super) fn set_version(&self, version: &str) {
        self.has_start.store(version >= "2025-11-25", Ordering::Release);
    }

    /// Starts a request in a task, because the end of the connection does not cancel it. Returns the messages of the
    /// response.
    pub(super) fn start(
        self: &Arc<Self>,
        request: Request<Text>,
        permit: OwnedSemaphorePermit,
        start: impl FnOnce(Request<Text>, Arc<dyn Outlet>) -> Running + Send + 'static,
    ) -> Arc<EventQueue> {
        let id = request.id.clone();
        let token = mcp_dialect::progress_token(request.params.as_deref());
        let events = Arc::new(EventQueue::new(true));
        let outlet = Arc::new(SessionOutlet { events: Arc::clone(&events), session: Arc::downgrade(self) });
        let (session, queue) = (Arc::downgrade(self), Arc::clone(&events));
        let running_id = id.clone();
        // The lock is held until the task is stored, so that the task removes itself after that.
        let mut state = self.state();
        if state.is_ended {
            events.finish(None);
            return events;
        }
        let task = tokio::spawn(async move {
            // If the task is aborted, the response is not sent.
            let finish = Finish { queue, session, id: running_id, permit: Some(permit) };
            let mut running = start(request, outlet);
            let response = poll_fn(|context| running.poll(context)).await;
            drop(running);
            finish.queue.finish(Some(response.text));
        });
        state.started += 1;
        let running =
            RunningRequest { task: task.abort_handle(), events: Arc::clone(&events), token, number: state.started };
        state.running.insert(id, running);
        events
    }

    /// Cancels a request.
    pub(super) fn cancel(&self, id: &Id) {
        let request = self.state().running.remove(id);
        if let Some(request) = request {
            request.task.abort();
        }
    }

    /// Returns the outlet for a message of a process, which does not name its request. `token` is the token of a
    /// progress notification. A message without a known token probably belongs to the request that runs alone.
    /// Otherwise, it is sent in the stream that the client has opened for such messages. If there is no such stream,
    /// the message is sent with the newest request.
    pub(super) fn outlet(self: &Arc<Self>, token: Option<&Id>) -> impl Outlet + use<> {
        let state = self.state();
        let mut running = state.running.values();
        let of_token =
            token.and_then(|token| state.running.values().find(|request| request.token.as_ref() == Some(token)));
        let request = of_token.or_else(|| match (running.next(), running.next()) {
            (Some(request), None) => Some(request),
            _ if self.own_events.is_read() => None,
            _ => state.running.values().max_by_key(|request| request.number),
        });
        let events = Arc::clone(request.map_or(&self.own_events, |request| &request.events));
        SessionOutlet { events, session: Arc::downgrade(self) }
    }

    /// Passes a response of the client to the handler that waits for it.
    pub(super) fn resolve(&self, response: Response<Text>) {
        let call = response.id.to_call().and_then(|id| self.state().calls.remove(&id));
        if let Some(call) = call {
            // A handler that was cancelled does not wait any more.
            let _ = call.send(response.outcome.map_err(RpcError::from));
        }
    }

    /// Adds a stream that the client can continue. Returns its number.
    pub(super) fn add_stream(&self, events: &Arc<EventQueue>) -> u64 {
        let mut state = self.state();
        let number = state.next_stream;
        state.next_stream += 1;
        state.streams.push_back((number, Arc::clone(events)));
        // Ended streams are kept until they have too many bytes in total.
        let mut kept = 0;
        let mut newest_first: VecDeque<_> = std::mem::take(&mut state.streams);
        while let Some((number, events)) = newest_first.pop_back() {
            if events.is_finished() {
                kept += events.bytes() + 1_024;
            }
            if !events.is_finished() || kept <= MAX_HTTP_KEPT_BYTES {
                state.streams.push_front((number, events));
            }
        }
        number
    }

    /// Returns the messages of a stream.
    pub(super) fn stream(&self, number: u64) -> Option<Arc<EventQueue>> {
        if number == OWN_STREAM {
            return Some(Arc::clone(&self.own_events));
        }
        let state = self.state();
        state.streams.iter().find(|(found, _)| *found == number).map(|(_, events)| Arc::clone(events))
    }

    /// Returns whether a stream begins with an event that has only an id.
    pub(super) fn has_start(&self) -> bool {
        self.has_start.load(Ordering::Acquire)
    }

    fn is_busy(&self) -> bool {
        !self.state().running.is_empty()
    }

    /// Ends the session: ends its requests and its streams. The requests to a process fail, and all others are aborted.
    pub(super) fn end(&self) {
        let (tasks, calls) = {
            let mut state = self.state();
            state.is_ended = true;
            (std::mem::take(&mut state.running), std::mem::take(&mut state.calls))
        };
        match &self.server {
            SessionServer::Registry { .. } => tasks.values().for_each(|request| request.task.abort()),
            SessionServer::Program(client) => client.destroy(),
        }
        drop(calls);
        self.own_events.finish(None);
    }

    /// Waits for the exit of the process.
    pub(super) async fn closed(&self) {
        if let SessionServer::Program(client) = &self.server {
            client.closed().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a request that has ended or was aborted.
struct Finish {
    queue: Arc<EventQueue>,
    session: Weak<Session>,
    id: Id,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Finish {
    fn drop(&mut self) {
        self.queue.finish(None);
        drop(self.permit.take());
        if let Some(session) = self.session.upgrade() {
            let mut state = session.state();
            state.running.remove(&self.id);
            state.last_end = Some(Instant::now());
        }
    }
}

/// The messages of a session: those of one request, or those that belong to no request.
struct SessionOutlet {
    events: Arc<EventQueue>,
    session: Weak<Session>,
}

impl Outlet for SessionOutlet {
    fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), CallError> {
        push_notification(&self.events, method, params)
    }

    fn call(&self, method: &str, params: Option<Text>) -> Answer {
        let gone = || RpcError::internal("the client is gone");
        let (Some(session), method) = (self.session.upgrade(), method.into()) else {
            return Box::pin(core::future::ready(Err(gone())));
        };
        let id = session.next_call.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        session.state().calls.insert(id, sender);
        let request = Request { id: Id::from_call(id), method, params };
        let text = json::encode(&Outgoing::Single(Message::Request(request)));
        let call = PendingCall { session: self.session.clone(), events: Arc::clone(&self.events), id };
        if !self.events.push(text) {
            session.state().calls.remove(&id);
            return Box::pin(core::future::ready(Err(RpcError::internal("the client does not read"))));
        }
        Box::pin(async move {
            let _call = call;
            receiver.await.unwrap_or_else(|_| Err(gone()))
        })
    }
}

/// A request of the server without a response. Its drop cancels the request.
struct PendingCall {
    session: Weak<Session>,
    events: Arc<EventQueue>,
    id: u64,
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        let Some(session) = self.session.upgrade() else { return };
        let call = session.state().calls.remove(&self.id);
        if call.is_some()
            && let Ok(params) = write_value(&json!({ "requestId": self.id }))
        {
            // A client that does not read cannot cancel its work.
            let _ = push_notification(&self.events, "notifications/cancelled", Some(&params));
        }
    }
}

/// The sessions of a service, by their ids.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<String, (Arc<Session>, Instant)>>);

impl Sessions {
    /// Adds a session. If there are too many, ends the session that was not used for the longest time.
    pub(super) fn insert(&self, id: String, session: Arc<Session>) {
        let mut sessions = self.lock();
        let mut ended = None;
        if sessions.len() >= MAX_HTTP_SESSIONS {
            let oldest = sessions.iter().min_by_key(|(_, (session, used))| (session.is_busy(), *used));
            ended = oldest.map(|(id, _)| id.clone()).and_then(|id| sessions.remove(&id));
        }
        sessions.insert(id, (session, Instant::now()));
        drop(sessions);
        if let Some((session, _)) = ended {
            session.end();
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Session>> {
        let mut sessions = self.lock();
        let (session, used) = sessions.get_mut(id)?;
        *used = Instant::now();
        Some(Arc::clone(session))
    }

    pub(super) fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.lock().remove(id).map(|(session, _)| session)
    }

    /// Returns the time at which a session ends if it stays idle, or `None` for an unknown session. A session with a
    /// running request or an open stream is not idle.
    pub(super) fn idle_deadline(&self, id: &str, idle: Duration) -> Option<Instant> {
        let sessions = self.lock();
        let (session, used) = sessions.get(id)?;
        let last_end = session.state().last_end;
        let since = session.own_events.left().max(Some(*used)).max(last_end);
        let is_idle = !session.is_busy() && !session.own_events.is_read();
        Some(since.filter(|_| is_idle).unwrap_or_else(Instant::now) + idle)
    }

    /// Removes all sessions.
    pub(super) fn take(&self) -> Vec<Arc<Session>> {
        std::mem::take(&mut *self.lock()).into_values().map(|(session, _)| session).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Arc<Session>, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The service is dropped, so its sessions end.
impl Drop for Sessions {
    fn drop(&mut self) {
        self.lock().values().for_each(|(session, _)| session.end());
    }
}
