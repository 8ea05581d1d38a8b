//! Decides whether a link has room for the next message of the peer.

use super::link::Link;
use super::state::State;
use crate::profile::Ordering;

impl Link {
    /// Returns whether the driver may read the next message. The driver pauses if too many responses are unwritten. The
    /// driver also pauses if too many requests wait for a sequential handler, unless the running request waits for a
    /// message of the peer.
    ///
    /// The bytes of outgoing calls do not count. If they counted, a link with many unwritten calls would not read the
    /// responses of the peer. The peer would stop reading when its unwritten responses exceed its limit. Then neither
    /// end of the link would read.
    pub(super) fn has_room(&self) -> bool {
        self.has_room_in(&self.lock())
    }

    /// Works like [`Link::has_room`], for a caller that has locked the state. `state` is the locked state of this link.
    pub(super) fn has_room_in(&self, state: &State) -> bool {
        let must_pause = self.is_queue_full(state) && !may_wait_for_peer(state);
        state.response_backlog() <= self.limits.unwritten_bytes && !must_pause
    }

    /// Returns whether further requests and notifications must be refused. They are refused if the queue is full and
    /// the running request waits for a message of the peer. In this case, the driver must continue to read, to receive
    /// this message.
    pub(super) fn must_refuse_input(&self) -> bool {
        if !self.is_sequential() {
            return false;
        }
        let state = self.lock();
        self.is_queue_full(&state) && may_wait_for_peer(&state)
    }

    /// Returns whether requests run one at a time.
    pub(super) fn is_sequential(&self) -> bool {
        self.profile.ordering == Ordering::Sequential
    }

    /// Returns whether the requests that wait for the running request have reached a limit.
    fn is_queue_full(&self, state: &State) -> bool {
        self.is_sequential()
            && (state.connection.unanswered_requests() >= self.limits.in_flight
                || state.connection.in_flight_bytes() >= self.limits.in_flight_bytes)
    }
}

/// Returns whether the running request may wait for a message of the peer. A stream waits for credit, and a handler
/// that calls the peer waits for the response.
fn may_wait_for_peer(state: &State) -> bool {
    !state.blocked_streams.is_empty() || state.connection.pending_calls() > 0
}
