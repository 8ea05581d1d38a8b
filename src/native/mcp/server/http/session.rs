//! The sessions of the legacy era.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::super::Shared;
use super::super::changes::Listener;
use super::super::context::{Answer, Caller, Exchange, Outlet};
use super::super::legacy_client::LegacyClient;
use super::events::EventQueue;
use super::request::{Running, push_notification};
use crate::codec::json;
use crate::error::{CallError, RpcError};
use crate::json_value::{Text, write_value};
use crate::message::{Id, Message, Outgoing, Request, RequestId, Response};
use crate::native::limits::{MAX_HTTP_KEPT_BYTES, MAX_HTTP_SESSIONS};

/// The number of the stream for the messages that belong to no request.
pub(super) const OWN_STREAM: u64 = 0;

pub(super) struct Session {
    pub(super) client: Arc<LegacyClient>,
    /// The version of MCP.
    version: &'static str,
    own_events: Arc<EventQueue>,
    /// Reports changes to the client.
    _listener: Arc<Listener>,
    next_call: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The tasks of the running requests.
    running: HashMap<Id, AbortHandle>,
    /// The requests of the server without a response.
    calls: HashMap<u64, oneshot::Sender<Result<Text, RpcError>>>,
    /// The streams that the client can continue, by their numbers.
    streams: VecDeque<(u64, Arc<EventQueue>)>,
    next_stream: u64,
    is_ended: bool,
}

impl Session {
    pub(super) fn new(shared: &Shared, client: Arc<LegacyClient>, version: &'static str) -> Self {
        let own_events = Arc::new(EventQueue::new(true));
        let outlet = Arc::new(SessionOutlet { events: Arc::clone(&own_events), session: Weak::new() });
        let listener = shared.listen_legacy(&client, outlet);
        Self {
            client,
            version,
            own_events,
            _listener: listener,
            next_call: AtomicU64::new(1),
            state: Mutex::new(State { next_stream: OWN_STREAM + 1, ..State::default() }),
        }
    }

    /// Starts a request in a task, because the end of the connection does not cancel it. Returns the messages of the
    /// response.
    pub(super) fn start(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        request: Request<Text>,
        configure: impl FnOnce(&mut Exchange),
        permit: OwnedSemaphorePermit,
    ) -> Arc<EventQueue> {
        let Request { id, method, params } = request;
        let events = Arc::new(EventQueue::new(true));
        let outlet = Arc::new(SessionOutlet { events: Arc::clone(&events), session: Arc::downgrade(self) });
        let mut exchange = Exchange::new(id.clone(), params, Caller::Legacy(Arc::clone(&self.client)), outlet);
        configure(&mut exchange);
        let (shared, session, queue) = (Arc::clone(shared), Arc::downgrade(self), Arc::clone(&events));
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
            let mut running = Running::start(&shared, &method, exchange);
            let response = poll_fn(|context| running.poll(context)).await;
            drop(running);
            finish.queue.finish(Some(response.text));
        });
        state.running.insert(id, task.abort_handle());
        events
    }

    /// Cancels a request.
    pub(super) fn cancel(&self, id: &Id) {
        let task = self.state().running.remove(id);
        if let Some(task) = task {
            task.abort();
        }
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

    /// Returns whether a stream begins with an event that has only an id. Earlier clients read this event as JSON.
    pub(super) fn has_start(&self) -> bool {
        self.version >= "2025-11-25"
    }

    fn is_busy(&self) -> bool {
        !self.state().running.is_empty()
    }

    /// Ends the session: aborts its requests, and ends its streams.
    pub(super) fn end(&self) {
        let (tasks, calls) = {
            let mut state = self.state();
            state.is_ended = true;
            (std::mem::take(&mut state.running), std::mem::take(&mut state.calls))
        };
        tasks.values().for_each(AbortHandle::abort);
        drop(calls);
        self.own_events.finish(None);
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
            session.state().running.remove(&self.id);
        }
    }
}

/// The messages of a session: those of one request, or those that belong to no request.
struct SessionOutlet {
    events: Arc<EventQueue>,
    session: Weak<Session>,
}

impl Outlet for SessionOutlet {
    fn notify(&self, method: &str, params: &RawValue) -> Result<(), CallError> {
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
            let _ = push_notification(&self.events, "notifications/cancelled", &params);
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
