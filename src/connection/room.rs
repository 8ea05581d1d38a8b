//! Whether a request can begin now, or has to wait, or is refused.

use super::Connection;
use crate::message::Payload;
use crate::profile::Ordering;

impl<P: Payload> Connection<P> {
    /// Whether so many bytes more may be held for requests at work. Where requests wait for each other none is refused: the
    /// driver reads nothing more then.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        let held = self.bytes_at_work();
        held == 0 || self.is_sequential() || held.saturating_add(bytes) <= self.config.limits.in_flight_bytes
    }

    /// Whether what comes now has to wait for a request that runs.
    pub(super) fn has_to_wait(&self) -> bool {
        self.is_sequential() && self.inbound.len() > 0
    }

    pub(super) fn is_sequential(&self) -> bool {
        P::CAN_WAIT && self.config.profile.ordering == Ordering::Sequential
    }
}
