//! A running `kaiak/generate_fix`.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use portway::{Client, Context};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use uuid::Uuid;

use crate::backend::Outcome;
use crate::client;
use crate::config::Configuration;
use crate::fault::{Code, Fault};
use crate::interaction::Interactions;
use crate::limits::{SHUTDOWN_GRACE, STOP_GRACE};
use crate::protocol::{APPROVE, DENY, FixRequest};
use crate::server::Server;
use crate::session::{Lease, Session, State, Stop};
use crate::stream::{Content, InteractionKind, Level, Stream};
use crate::time;

/// A running request, for its backend.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) request: FixRequest,
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) stream: Stream,
    session: Arc<Session>,
    interactions: Arc<Interactions>,
    interaction_timeout: Duration,
    stop: watch::Receiver<Option<Stop>>,
    /// The number of open questions.
    open_questions: watch::Sender<usize>,
    proposals: AtomicU64,
}

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Approved,
    Denied,
    /// The client has not answered in time, which counts as a denial.
    Silence,
    /// The run must end.
    Stopped,
}

impl Run {
    /// Waits until the run must end.
    pub(crate) async fn stopped(&self) {
        // An error means that the session was released, so the run has ended.
        let _ = self.stop.clone().wait_for(Option::is_some).await;
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.borrow().is_some()
    }

    /// Awaits a future until the run must end.
    pub(crate) async fn until_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.stopped() => None,
            output = work => Some(output),
        }
    }

    /// Waits until the run has worked for `limit`. The time in which a question is open does not count, because the run
    /// waits for its client.
    async fn worked_for(&self, limit: Duration) {
        let mut open = self.open_questions.subscribe();
        let mut left = limit;
        // The sender lives as long as this run, so `wait_for` does not fail.
        while open.wait_for(|count| *count == 0).await.is_ok() {
            let start = Instant::now();
            tokio::select! {
                () = tokio::time::sleep(left) => return,
                _ = open.wait_for(|count| *count > 0) => left = left.saturating_sub(start.elapsed()),
            }
        }
    }

    /// Returns the id of the next proposal.
    pub(crate) fn next_proposal_id(&self) -> String {
        format!("proposal-{}", self.proposals.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Asks the client, and waits for the answer.
    pub(crate) async fn ask(&self, kind: InteractionKind, prompt: String) -> Answer {
        const OPTIONS: &[&str] = &[APPROVE, DENY];
        let client = self.stream.client();
        if client::has_left(client) {
            return Answer::Stopped;
        }
        let mut question = self.interactions.open(self.request.session_id.as_str(), client, OPTIONS);
        let _waiting = Waiting::new(self);
        let content = Content::UserInteraction {
            interaction_id: question.id(),
            interaction_type: kind,
            prompt,
            options: OPTIONS.to_vec(),
            default_response: DENY,
            timeout: self.interaction_timeout.as_secs(),
        };
        let answer = async {
            self.stream.send(content).await;
            let answer = tokio::time::timeout(self.interaction_timeout, &mut question.answer);
            tokio::select! {
                biased;
                answer = answer => Some(answer),
                () = client::until_left(client) => None,
            }
        };
        match self.until_stopped(answer).await.flatten() {
            // The client has left, or the run must end.
            None | Some(Ok(Err(_))) => Answer::Stopped,
            Some(Ok(Ok(option))) if option == APPROVE => Answer::Approved,
            Some(Ok(Ok(_))) => Answer::Denied,
            Some(Err(_)) => {
                // The question ends before the notification is sent, because an answer to this notification is too
                // late.
                let id = question.id();
                drop(question);
                let seconds = self.interaction_timeout.as_secs();
                let message =
                    format!("interaction_timeout: {id} has no answer after {seconds} s; default_action: {DENY}");
                self.stream.system(Level::Warning, "interaction", message).await;
                Answer::Silence
            }
        }
    }
}

/// Counts an open question.
struct Waiting<'a>(&'a Run);

impl<'a> Waiting<'a> {
    fn new(run: &'a Run) -> Self {
        run.session.question_opened();
        run.open_questions.send_modify(|count| *count += 1);
        Self(run)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.open_questions.send_modify(|count| *count = count.saturating_sub(1));
        self.0.session.question_ended();
    }
}

/// Stops the run of a session when the handler of its request is dropped: after a cancellation, and at the end of the
/// link.
struct StopOnDrop {
    session: Arc<Session>,
    /// False after the run has ended by itself.
    is_armed: bool,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if self.is_armed {
            self.session.stop(Stop::Cancelled);
        }
    }
}

/// Runs a request in a task, and returns its result. The task continues until its agent has stopped, even if this
/// future is dropped.
///
/// # Errors
/// The error of the request.
pub(crate) async fn generate_fix(
    server: &Arc<Server>,
    request: FixRequest,
    context: Context,
    client: Client,
) -> Result<Value, Fault> {
    if server.is_ending() {
        return Err(server_ends());
    }
    let (session, lease) = loop {
        let session = server.sessions.get_or_create(&request.session_id)?;
        let lease = session.acquire(&context).await?;
        // While this request waited for an earlier request, the agent of the earlier request may have failed to start.
        // In this case, the session was removed.
        if server.sessions.contains(&session) {
            break (session, lease);
        }
    };
    let mut guard = StopOnDrop { session: Arc::clone(&session), is_armed: true };
    let request_id = format!("req-{}", Uuid::new_v4());
    let session_id = request.session_id.as_str().to_owned();
    let run = Run {
        configuration: server.configuration(),
        stream: Stream::new(session_id, request_id, context, client, Arc::clone(&session.messages)),
        session,
        interactions: Arc::clone(&server.interactions),
        interaction_timeout: server.options.interaction_timeout,
        stop: lease.stop.clone(),
        open_questions: watch::Sender::new(0),
        proposals: AtomicU64::new(0),
        request,
    };
    let (sender, result) = oneshot::channel();
    tokio::spawn(run_to_end(Arc::clone(server), run, lease, sender));
    let result = result.await.unwrap_or_else(|_| Err(Fault::reason(Code::Internal, "run-failed", "the run failed")));
    guard.is_armed = false;
    result
}

async fn run_to_end(server: Arc<Server>, run: Run, mut lease: Lease, response: oneshot::Sender<Result<Value, Fault>>) {
    let result = run_until_deadline(&server, &run, &lease).await;
    if result.is_ok() {
        lease.end = State::Completed;
    }
    let result = result.map(|_| {
        json!({
            "request_id": run.stream.request_id,
            "session_id": run.request.session_id.as_str(),
            "status": "completed",
            "incident_count": run.request.incidents.len(),
            "completed_at": time::now(),
        })
    });
    // The session is released before the response, so that the client can use it at once.
    drop(lease);
    let _ = response.send(result);
}

async fn run_until_deadline(server: &Server, run: &Run, lease: &Lease) -> Result<Outcome, Fault> {
    let mut work = pin!(work(server, run, lease));
    let limit = Duration::from_secs(run.request.options.max_processing_time);
    let result = tokio::select! {
        // The time is polled before the work. If an agent sends messages without a pause, the work uses the whole
        // budget of its task, and a timer that is polled without budget is never ready.
        biased;
        () = run.stopped() => None,
        () = run.worked_for(limit) => {
            lease.session.stop(Stop::TimedOut);
            None
        }
        result = &mut work => Some(result),
    };
    let result = match result {
        Some(result) => Some(result),
        None => {
            let is_shutdown = *run.stop.borrow() == Some(Stop::Shutdown);
            tokio::time::timeout(if is_shutdown { SHUTDOWN_GRACE } else { STOP_GRACE }, work).await.ok()
        }
    };
    let stop = *run.stop.borrow();
    match (stop, result) {
        (Some(why), _) => Err(stop_fault(why, run)),
        // Without a stop, a run ends with this error only if the client of its question has left.
        (None, Some(Err(fault))) if fault.code == Code::RequestCancelled => {
            let details = "a question had no answer, because the input of the client has ended";
            Err(Fault::reason(Code::RequestCancelled, "client-left", details))
        }
        (None, Some(result)) => result,
        (None, None) => Err(Fault::new(Code::Internal, Value::Null)),
    }
}

/// Runs the agent of the session. If the session has no usable agent, starts one first.
async fn work(server: &Server, run: &Run, lease: &Lease) -> Result<Outcome, Fault> {
    let session = &lease.session;
    let mut slot = session.agent.lock().await;
    if let Some(agent) = slot.take_if(|agent| !agent.is_usable(&run.configuration)) {
        agent.close(true).await;
    }
    let is_new = session.state() == State::Creating;
    let agent = match &mut *slot {
        Some(agent) => agent,
        empty => {
            session.become_state(State::Creating);
            match server.backend.start(run).await {
                Ok(agent) => {
                    session.become_state(State::Ready);
                    empty.insert(agent)
                }
                Err(fault) => {
                    // The session was never ready. It is removed, as if it had not been created.
                    if is_new {
                        server.sessions.remove(session);
                    }
                    return Err(fault);
                }
            }
        }
    };
    session.become_state(State::Processing);
    agent.run(run).await
}

/// Returns the error of a request while the server ends.
fn server_ends() -> Fault {
    Fault::reason(Code::Internal, "server-ended", "the server ends")
}

/// Returns the error of a request that was stopped.
fn stop_fault(why: Stop, run: &Run) -> Fault {
    let session_id = run.request.session_id.as_str();
    match why {
        Stop::Cancelled => Fault::session(Code::RequestCancelled, session_id),
        Stop::Terminated => Fault::session(Code::SessionAlreadyTerminated, session_id),
        Stop::Shutdown => server_ends(),
        Stop::TimedOut => {
            let seconds = run.request.options.max_processing_time;
            let details = format!("the request was not complete after {seconds} s, without the time of its questions");
            let data = json!({ "session_id": session_id, "max_processing_time": seconds, "details": details });
            Fault::new(Code::ToolExecutionTimeout, data)
        }
    }
}
