//! Fast path for drivers that write the envelope themselves: no message is queued, and no event is emitted.

use core::num::NonZeroU32;

use super::{CallKey, Connection, Refused, RequestKey};
use crate::message::{Payload, RequestId};

impl<P: Payload> Connection<P> {
    /// Begins a call whose request the driver writes itself, under the id of the key. Nothing is transmitted. Calls
    /// with the same `batch` are sent in one array.
    ///
    /// # Errors
    /// If the connection is closed, or too many calls are pending.
    pub fn begin_call(&mut self, timeout: Option<u64>, batch: Option<NonZeroU32>) -> Result<CallKey, Refused> {
        self.check_room(1)?;
        let key = self.calls.insert(batch);
        if let Some(timeout) = timeout {
            self.deadlines.insert(key.slot, timeout);
        }
        Ok(key)
    }

    /// Ends the call with this id, without an [`Event::Ended`](super::Event::Ended). For a driver that has drained all
    /// output and holds the outcome. Returns `None` if no call with this id is pending: pass the response to
    /// [`handle`](Self::handle) then.
    #[must_use = "a response that ends no call is for `handle`"]
    pub fn end_call(&mut self, id: &P::Id) -> Option<CallKey> {
        self.take_call(id.to_call()?)
    }

    /// Begins a request that is not in a batch, without an [`Event::Request`](super::Event::Request). For a driver that
    /// has drained all output and runs the request at once. Returns `None` if the request is refused or must wait: pass
    /// it to [`handle`](Self::handle) then.
    #[must_use = "a request that is not taken is for `handle`"]
    pub fn begin_request(&mut self, id: P::Id) -> Option<RequestKey> {
        let requests = self.inbound.len();
        let fits = !self.closed && !self.has_to_wait() && requests < self.config.limits.in_flight;
        fits.then(|| self.inbound.insert(id, None, 0))
    }

    /// Ends a request that is not in a batch, without transmitting a response. For a driver that sends the response
    /// itself. Returns whether the driver must send it; if not, use [`respond`](Self::respond).
    #[must_use = "a reply that is not sent here is for `respond`"]
    pub fn end_request(&mut self, key: RequestKey) -> bool {
        let ended = self.inbound.take_single(key);
        if ended {
            self.inbound.release(key, |event| self.events.push_back(event));
        }
        ended
    }
}
