//! A call as a stream of the notifications that arrive before its response.

use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_core::Stream;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::call::Call;
use super::{Error, member};
use crate::error::CallError;
use crate::json_value::{Text, read_result};
use crate::message::{Id, ObjectPayload, RequestId};
use crate::native::limits::MAX_MCP_UPDATES;

/// The notifications in a stream, besides `notifications/progress`.
pub(super) const METHODS: [&str; 8] = [
    "notifications/elicitation/complete",
    "notifications/message",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
    "notifications/tasks/status",
    "notifications/tools/list_changed",
];

/// The member of `_meta` that names the subscription of a notification.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// An item of [`Updates`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Update<R> {
    /// The progress of the call: `{ progress, total, message }`, and the token.
    Progress(Box<RawValue>),
    /// Another notification, such as `notifications/message`.
    Notification {
        /// The method.
        method: Box<str>,
        /// The params.
        params: Option<Box<RawValue>>,
    },
    /// The application was slow, so this number of notifications was dropped.
    Missed(usize),
    /// The result of the call. It is the last item.
    Result(R),
}

/// The notifications of a server during a call, and then the result. [`Client::stream`](super::Client::stream) creates
/// a value of this type.
///
/// The request is sent on the first poll. An error ends the stream. A stream that is dropped before its end is
/// cancelled, like a call. At most 1 024 notifications wait for the application.
#[must_use = "a stream is requested when it is polled"]
pub struct Updates<R> {
    state: State,
    queue: Arc<Queue>,
    result: PhantomData<fn() -> R>,
}

enum State {
    Unsent(Box<Call<Text>>),
    Sent(Pin<Box<dyn Future<Output = Result<Text, Error>> + Send>>),
    Answered(Result<Text, Error>),
    Ended,
}

impl<R> Updates<R> {
    pub(super) fn new(call: Call<Text>, hub: &Hub) -> Self {
        let queue = hub.open();
        let state = State::Unsent(Box::new(call.queue(&queue)));
        Self { state, queue, result: PhantomData }
    }

    /// Sets the timeout of each request of this call, in place of the client's timeout. `None` disables the timeout,
    /// for example for `subscriptions/listen`. Progress restarts the timeout. Has no effect after the first poll.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.state = match self.state {
            State::Unsent(call) => State::Unsent(Box::new(call.timeout(timeout))),
            state => state,
        };
        self
    }
}

impl<R: DeserializeOwned> Stream for Updates<R> {
    type Item = Result<Update<R>, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        this.state = match mem::replace(&mut this.state, State::Ended) {
            State::Unsent(call) => State::Sent(Box::pin(call.into_future())),
            state => state,
        };
        if let State::Sent(call) = &mut this.state
            && let Poll::Ready(outcome) = call.as_mut().poll(context)
        {
            this.state = State::Answered(outcome);
        }
        if matches!(this.state, State::Ended) {
            return Poll::Ready(None);
        }
        // The notifications that arrived before the response are returned before it.
        if let Some(update) = this.queue.next(context) {
            return Poll::Ready(Some(Ok(update)));
        }
        match mem::replace(&mut this.state, State::Ended) {
            State::Answered(outcome) => {
                let result = outcome.and_then(|text| Ok(read_result(&text).map_err(CallError::Deserialize)?));
                Poll::Ready(Some(result.map(Update::Result)))
            }
            state => {
                this.state = state;
                Poll::Pending
            }
        }
    }
}

impl<R> fmt::Debug for Updates<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates").finish_non_exhaustive()
    }
}

/// The notifications that a stream has not returned.
#[derive(Default)]
pub(super) struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    updates: VecDeque<Received>,
    missed: usize,
    /// The id of the request.
    request: Option<u64>,
    waker: Option<Waker>,
}

enum Received {
    Progress(Text),
    Notification { method: Box<str>, params: Option<Text>, subscription: Option<Id> },
}

impl Queue {
    /// Sets the id of the request of the stream.
    pub(super) fn set_request(&self, id: Option<u64>) {
        self.lock().request = id;
    }

    pub(super) fn push_progress(&self, value: &RawValue) {
        self.push(|| Received::Progress(value.to_owned()));
    }

    fn push(&self, update: impl FnOnce() -> Received) {
        let mut waiting = self.lock();
        if waiting.updates.len() < MAX_MCP_UPDATES {
            waiting.updates.push_back(update());
        } else {
            waiting.missed += 1;
        }
        let waker = waiting.waker.take();
        // The waker is code of the runtime, so it is called outside of the lock.
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns the next item. If there is none, wakes the task at the next notification.
    fn next<R>(&self, context: &Context<'_>) -> Option<Update<R>> {
        let mut waiting = self.lock();
        while let Some(update) = waiting.updates.pop_front() {
            match update {
                Received::Progress(value) => return Some(Update::Progress(value)),
                // This notification belongs to another stream.
                Received::Notification { subscription: Some(id), .. }
                    if id.to_call().is_none() || id.to_call() != waiting.request => {}
                Received::Notification { method, params, .. } => {
                    return Some(Update::Notification { method, params });
                }
            }
        }
        if waiting.missed > 0 {
            return Some(Update::Missed(mem::take(&mut waiting.missed)));
        }
        waiting.waker = Some(context.waker().clone());
        None
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes notifications to all open streams.
#[derive(Default)]
pub(super) struct Hub(Mutex<Vec<Weak<Queue>>>);

impl Hub {
    fn open(&self) -> Arc<Queue> {
        let queue = Arc::<Queue>::default();
        let mut queues = self.lock();
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(&queue));
        queue
    }

    pub(super) fn publish(&self, method: &str, params: Option<&RawValue>) {
        let open: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        if open.is_empty() {
            return;
        }
        let meta: Option<Text> = params.and_then(|params| member(params, "_meta"));
        let subscription: Option<Text> = meta.and_then(|meta| member(&meta, SUBSCRIPTION));
        let subscription = subscription.map(|id| Text::read_id(&id).unwrap_or(Id::Null));
        for queue in open {
            queue.push(|| Received::Notification {
                method: method.into(),
                params: params.map(ToOwned::to_owned),
                subscription: subscription.clone(),
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Queue>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    #[test]
    fn a_slow_application_receives_the_number_of_dropped_notifications() -> serde_json::Result<()> {
        let hub = Hub::default();
        let queue = hub.open();
        let params = to_raw_value(&json!({ "level": "info" }))?;
        for _ in 0..MAX_MCP_UPDATES + 2 {
            hub.publish("notifications/message", Some(&params));
        }
        let context = Context::from_waker(Waker::noop());
        let next = || queue.next::<()>(&context);
        for _ in 0..MAX_MCP_UPDATES {
            assert!(matches!(next(), Some(Update::Notification { .. })));
        }
        assert!(matches!(next(), Some(Update::Missed(2))));
        assert!(next().is_none());
        Ok(())
    }
}
