//! The connections of clients.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use portway::message::Id;
use portway::{CallError, Client, Context, Limits};
use serde_json::Value;

use crate::fault::{Code, Fault};

/// The time between two checks whether the input of a client has ended. The client may still read: it receives the
/// response, because this time is shorter than the grace of its link.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Returns the limits of a connection. The server calls no method of its clients, and [`has_left`] relies on this.
pub(crate) const fn limits() -> Limits {
    let mut limits = Limits::DEFAULT;
    limits.pending_calls = 0;
    limits
}

/// Returns whether the input of a client has ended. Such a client can answer no question.
pub(crate) fn has_left(client: &Client) -> bool {
    // With these limits, a call fails at its first poll and sends nothing. On an open connection, its error is
    // `TooManyCalls`.
    let mut call = client.call::<Value>("kaiak/ping", &());
    let polled = Future::poll(Pin::new(&mut call), &mut TaskContext::from_waker(Waker::noop()));
    !matches!(polled, Poll::Ready(Err(CallError::TooManyCalls)))
}

/// Waits until the input of a client has ended.
pub(crate) async fn until_left(client: &Client) {
    while !has_left(client) {
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// The open requests of a connection, by their ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRequests(Arc<Mutex<HashMap<Id, Context>>>);

/// An open request. A drop ends it.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    id: Id,
    context: Context,
    requests: OpenRequests,
}

impl OpenRequests {
    /// Adds a request. Returns `None` for a notification, which has no id.
    ///
    /// # Errors
    /// -32600 if another open request has the id, because the client could not distinguish the two responses.
    pub(crate) fn begin(&self, context: &Context) -> Result<Option<OpenRequest>, Fault> {
        let Some(id) = context.id() else { return Ok(None) };
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The context of an answered request has no id.
        if open.get(&id).is_some_and(|known| known.id().is_some()) {
            let details = "the id must differ from those of all open requests";
            return Err(Fault::reason(Code::InvalidRequest, "duplicate-id", details));
        }
        open.insert(id.clone(), context.clone());
        Ok(Some(OpenRequest { id, context: context.clone(), requests: self.clone() }))
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut open = self.requests.0.lock().unwrap_or_else(PoisonError::into_inner);
        // After a cancellation, a new request may have this id already.
        let is_replaced = self.context.id().is_none() && open.get(&self.id).is_some_and(|known| known.id().is_some());
        if !is_replaced {
            open.remove(&self.id);
        }
    }
}
