//! Decides whether a request begins at once, waits, or is refused.

use super::Connection;
use crate::message::Payload;
use crate::profile::Ordering;

impl<P: Payload> Connection<P> {
    /// Returns whether [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes) has room for `bytes` more bytes.
    /// Returns true if no bytes count towards this limit yet. Returns true if requests run one at a time, because the
    /// driver enforces the limit in this case: it stops reading from the peer.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        let in_flight_bytes = self.in_flight_bytes();
        in_flight_bytes == 0
            || self.is_sequential()
            || in_flight_bytes.saturating_add(bytes) <= self.config.limits.in_flight_bytes
    }

    /// Returns whether a new request or notification must wait for the running request.
    pub(super) fn has_to_wait(&self) -> bool {
        self.is_sequential() && self.inbound.len() > 0
    }

    /// Returns whether requests run one at a time.
    pub(super) fn is_sequential(&self) -> bool {
        P::CAN_WAIT && self.config.profile.ordering == Ordering::Sequential
    }
}
