//! Whether a request can begin, must wait, or is refused.

use super::Connection;
use crate::message::Payload;
use crate::profile::Ordering;

impl<P: Payload> Connection<P> {
    /// Returns whether `bytes` more may be held for unanswered requests. Where requests run one at a time, no request
    /// is refused: the driver stops reading instead.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        let held = self.bytes_at_work();
        held == 0 || self.is_sequential() || held.saturating_add(bytes) <= self.config.limits.in_flight_bytes
    }

    /// Returns whether a new message must wait for the running request.
    pub(super) fn has_to_wait(&self) -> bool {
        self.is_sequential() && self.inbound.len() > 0
    }

    pub(super) fn is_sequential(&self) -> bool {
        P::CAN_WAIT && self.config.profile.ordering == Ordering::Sequential
    }
}
