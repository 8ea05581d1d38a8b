//! The fast path, for drivers that read and write the envelope themselves. The envelope consists of the members of a
//! message without the contents of its params, result or error. A call or request on this path is not queued as a
//! message, and emits no event.

use core::num::NonZeroU32;

use super::{CallKey, Connection, Refused, RequestKey};
use crate::message::{Payload, RequestId};

impl<P: Payload> Connection<P> {
    /// Begins a call. The driver writes and sends the request itself, with the id of the returned key. The driver must
    /// send calls with the same `batch` in one array. For `timeout`, see [`call`](Self::call).
    ///
    /// # Errors
    /// Returns [`Refused`] in the same cases as [`call`](Self::call). The driver must not send a refused request.
    pub fn begin_call(&mut self, timeout: Option<u64>, batch: Option<NonZeroU32>) -> Result<CallKey, Refused> {
        self.check_room(1)?;
        let key = self.calls.insert(batch);
        if let Some(timeout) = timeout {
            self.deadlines.insert(key.slot, timeout);
        }
        Ok(key)
    }

    /// Ends the call with this id, without an [`Event::Ended`](super::Event::Ended). The driver must have drained all
    /// output, and passes the outcome to the caller itself. Returns `None` if no call with this id is pending. In this
    /// case, the driver must pass the response to [`handle`](Self::handle).
    #[must_use = "after `None`, the response is for `handle`"]
    pub fn end_call(&mut self, id: &P::Id) -> Option<CallKey> {
        self.take_call(id.to_call()?)
    }

    /// Begins a request that is not in a batch, without an [`Event::Request`](super::Event::Request). The driver must
    /// have drained all output, and runs the request at once. The bytes of the request do not count towards
    /// [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes). Returns `None` if the request is refused or must
    /// wait. In this case, the driver must pass the request to [`handle`](Self::handle).
    #[must_use = "after `None`, the request is for `handle`"]
    pub fn begin_request(&mut self, id: P::Id) -> Option<RequestKey> {
        self.has_room_for_request().then(|| self.inbound.insert(id, None, 0))
    }

    /// Begins a request like [`begin_request`](Self::begin_request), for a handler that may answer later. So the bytes
    /// of the id and the `params_bytes` count towards [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes).
    #[must_use = "after `None`, the request is for `handle`"]
    pub fn begin_counted_request(&mut self, id: &P::Id, params_bytes: usize) -> Option<RequestKey> {
        let bytes = id.held_bytes() + params_bytes;
        let fits = self.has_room_for_request() && self.has_room_for(bytes);
        fits.then(|| self.inbound.insert(id.clone(), None, bytes))
    }

    fn has_room_for_request(&self) -> bool {
        !self.closed && !self.has_to_wait() && self.inbound.len() < self.config.limits.in_flight
    }

    /// Ends a request that is not in a batch. Returns whether the request has ended. If true, the driver must send the
    /// response itself. If false, the driver must use [`respond`](Self::respond).
    #[must_use = "after `false`, the response is for `respond`"]
    pub fn end_request(&mut self, key: RequestKey) -> bool {
        self.take_request(key).is_some()
    }

    /// Ends a request like [`end_request`](Self::end_request), and returns its id for the response. If this method
    /// returns `None`, the driver must use [`respond`](Self::respond).
    #[must_use = "after `None`, the response is for `respond`"]
    pub fn take_request(&mut self, key: RequestKey) -> Option<P::Id> {
        let id = self.inbound.take_single(key)?;
        self.inbound.release(key, |event| self.events.push_back(event));
        Some(id)
    }

    /// Checks whether a notification may be sent. After `Ok`, the driver writes and sends the notification itself.
    /// Before the check, the driver must have drained all output.
    ///
    /// # Errors
    /// Returns [`Refused::Closed`] after [`close`](Self::close).
    pub fn check_notification(&self) -> Result<(), Refused> {
        self.check_room(0)
    }
}
