//! Sessions: their states, and their leases. A running request holds the lease of its session.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portway::Context;
use serde_json::json;
use tokio::sync::watch;

use crate::backend::Agent;
use crate::fault::{Code, Fault};
use crate::limits::RELEASE_TIMEOUT;
use crate::protocol::SessionId;
use crate::time;

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// The agent starts.
    Creating,
    /// The agent has started.
    Ready,
    /// A request runs.
    Processing,
    /// A running request waits for an answer of the client.
    Waiting,
    /// The last request has succeeded.
    Completed,
    /// The last request has failed.
    Error,
    /// The session is being deleted.
    Terminated,
}

impl State {
    /// Returns whether a session can change from this state to `next`.
    pub(crate) const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Creating => matches!(next, Self::Ready | Self::Error | Self::Terminated),
            Self::Ready => matches!(next, Self::Processing | Self::Error | Self::Terminated),
            Self::Processing => matches!(next, Self::Waiting | Self::Completed | Self::Error | Self::Terminated),
            Self::Waiting => matches!(next, Self::Processing | Self::Completed | Self::Error | Self::Terminated),
            Self::Completed | Self::Error => matches!(next, Self::Creating | Self::Processing | Self::Terminated),
            Self::Terminated => false,
        }
    }
}

/// The reason why a running request must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The client has cancelled the request, or the link of the client has ended.
    Cancelled,
    /// The session is deleted with `force`.
    Terminated,
    /// `max_processing_time` is over.
    TimedOut,
    /// The server ends.
    Shutdown,
}

/// All sessions of the server.
#[derive(Debug)]
pub(crate) struct Sessions {
    by_key: Mutex<HashMap<String, Arc<Session>>>,
    max: usize,
}

/// A session. It exists until it is deleted.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    /// The number of messages that the requests of the session have sent.
    pub(crate) messages: Arc<AtomicU64>,
    /// `None` until the agent has started. A running request holds the [`Lease`] and this mutex.
    pub(crate) agent: tokio::sync::Mutex<Option<Box<dyn Agent>>>,
    inner: Mutex<Inner>,
    /// Changes when a request ends.
    ended: watch::Sender<()>,
}

/// The part of a session that changes.
#[derive(Debug)]
struct Inner {
    state: State,
    open_questions: usize,
    run: Option<ActiveRun>,
}

/// The running request of a session.
#[derive(Debug)]
struct ActiveRun {
    in_use_since: String,
    context: Context,
    stop: watch::Sender<Option<Stop>>,
}

impl Sessions {
    pub(crate) fn new(max: usize) -> Self {
        Self { by_key: Mutex::default(), max }
    }

    pub(crate) fn get(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.lock().get(&id.key()).cloned()
    }

    /// Returns the session with this id. Creates the session if it does not exist.
    ///
    /// # Errors
    /// -32001 if too many sessions exist.
    pub(crate) fn get_or_create(&self, id: &SessionId) -> Result<Arc<Session>, Fault> {
        let mut sessions = self.lock();
        if let Some(session) = sessions.get(&id.key()) {
            return Ok(Arc::clone(session));
        }
        if sessions.len() >= self.max {
            let details = format!("at most {} sessions may exist; delete a session that is not needed", self.max);
            return Err(Fault::reason(Code::SessionCreationFailed, "too-many-sessions", details));
        }
        let session = Arc::new(Session::new(id.clone()));
        sessions.insert(id.key(), Arc::clone(&session));
        Ok(session)
    }

    /// Removes a session. If a newer session has the id, the newer session stays.
    pub(crate) fn remove(&self, session: &Arc<Session>) {
        let mut sessions = self.lock();
        let key = session.id.key();
        if sessions.get(&key).is_some_and(|found| Arc::ptr_eq(found, session)) {
            sessions.remove(&key);
        }
    }

    /// Returns whether a session exists and was not removed.
    pub(crate) fn contains(&self, session: &Arc<Session>) -> bool {
        self.lock().get(&session.id.key()).is_some_and(|found| Arc::ptr_eq(found, session))
    }

    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn new(id: SessionId) -> Self {
        Self {
            id,
            messages: Arc::default(),
            agent: tokio::sync::Mutex::default(),
            inner: Mutex::new(Inner { state: State::Creating, open_questions: 0, run: None }),
            ended: watch::Sender::new(()),
        }
    }

    /// Reserves the session for a request. If an earlier request was stopped and has not ended yet, waits for its end.
    ///
    /// # Errors
    /// -32016 if a request runs, -32004 if the session is being deleted, and -32005 if a stopped request does not end.
    pub(crate) async fn acquire(self: &Arc<Self>, context: &Context) -> Result<Lease, Fault> {
        let mut ended = self.ended.subscribe();
        let wait = async {
            loop {
                if let Some(lease) = self.try_acquire(context)? {
                    return Ok(lease);
                }
                // This session owns the sender, so `changed` does not fail.
                let _ = ended.changed().await;
            }
        };
        tokio::time::timeout(RELEASE_TIMEOUT, wait).await.unwrap_or_else(|_| {
            let data = json!({ "session_id": self.id.as_str(), "state": self.state() });
            Err(Fault::new(Code::SessionNotReady, data))
        })
    }

    /// Reserves the session. Returns `None` if an earlier request was stopped and has not ended yet.
    fn try_acquire(self: &Arc<Self>, context: &Context) -> Result<Option<Lease>, Fault> {
        let mut inner = self.inner();
        if inner.state == State::Terminated {
            return Err(Fault::session(Code::SessionAlreadyTerminated, self.id.as_str()));
        }
        if let Some(run) = &inner.run {
            return if run.is_stopped() { Ok(None) } else { Err(self.in_use(run)) };
        }
        let (sender, stop) = watch::channel(None);
        inner.run = Some(ActiveRun { in_use_since: time::now(), context: context.clone(), stop: sender });
        Ok(Some(Lease { session: Arc::clone(self), stop, end: State::Error }))
    }

    /// Marks the session as deleted, and stops its running request.
    ///
    /// # Errors
    /// -32016 if a request runs and `force` is false, and -32004 if the session is already being deleted.
    pub(crate) fn terminate(&self, force: bool) -> Result<(), Fault> {
        let mut inner = self.inner();
        if inner.state == State::Terminated {
            return Err(Fault::session(Code::SessionAlreadyTerminated, self.id.as_str()));
        }
        if let Some(run) = &inner.run {
            if !force && !run.is_stopped() {
                return Err(self.in_use(run));
            }
            run.stop(Stop::Terminated);
        }
        inner.state = State::Terminated;
        Ok(())
    }

    /// Stops the running request, if a request runs.
    pub(crate) fn stop(&self, why: Stop) {
        if let Some(run) = &self.inner().run {
            run.stop(why);
        }
    }

    /// Waits until no request runs.
    pub(crate) async fn idle(&self) {
        let mut ended = self.ended.subscribe();
        while self.inner().run.is_some() {
            let _ = ended.changed().await;
        }
    }

    pub(crate) fn state(&self) -> State {
        self.inner().state
    }

    /// Changes the state, if the change is allowed.
    pub(crate) fn become_state(&self, next: State) {
        self.inner().become_state(next);
    }

    /// Records that a question was opened.
    pub(crate) fn question_opened(&self) {
        let mut inner = self.inner();
        inner.open_questions += 1;
        inner.become_state(State::Waiting);
    }

    /// Records that a question has ended.
    pub(crate) fn question_ended(&self) {
        let mut inner = self.inner();
        inner.open_questions = inner.open_questions.saturating_sub(1);
        if inner.open_questions == 0 {
            inner.become_state(State::Processing);
        }
    }

    fn in_use(&self, run: &ActiveRun) -> Fault {
        let data = json!({ "session_id": self.id.as_str(), "in_use_since": run.in_use_since });
        Fault::new(Code::SessionInUse, data)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn become_state(&mut self, next: State) {
        if self.state.may_become(next) {
            self.state = next;
        }
    }
}

impl ActiveRun {
    /// Returns whether the request must end. Also stops a request that the client has cancelled. The client has
    /// received the response to this request, and may send the next request before the handler is dropped.
    fn is_stopped(&self) -> bool {
        if self.context.is_cancelled() {
            self.stop(Stop::Cancelled);
        }
        self.stop.borrow().is_some()
    }

    /// Stops the request. The first reason wins.
    fn stop(&self, why: Stop) {
        self.stop.send_if_modified(|stop| stop.is_none() && stop.replace(why).is_none());
    }
}

/// The reservation of a session for one request. A drop releases the session.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) session: Arc<Session>,
    pub(crate) stop: watch::Receiver<Option<Stop>>,
    /// The state of the session after the release.
    pub(crate) end: State,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut inner = self.session.inner();
        inner.run = None;
        inner.open_questions = 0;
        inner.become_state(self.end);
        drop(inner);
        self.session.ended.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use super::State;

    const ALL: [State; 7] = [
        State::Creating,
        State::Ready,
        State::Processing,
        State::Waiting,
        State::Completed,
        State::Error,
        State::Terminated,
    ];

    #[test]
    fn a_terminated_session_has_no_next_state() {
        assert!(ALL.iter().all(|next| !State::Terminated.may_become(*next)));
    }

    #[test]
    fn every_state_except_terminated_may_become_terminated() {
        let others = ALL.iter().filter(|state| **state != State::Terminated);
        assert!(others.into_iter().all(|state| state.may_become(State::Terminated)));
    }

    #[test]
    fn a_session_waits_only_while_a_request_runs() {
        let before: Vec<State> = ALL.into_iter().filter(|state| state.may_become(State::Waiting)).collect();
        assert_eq!(before, [State::Processing]);
    }
}
