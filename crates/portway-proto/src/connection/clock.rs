//! Clock readings and call timeouts.

use super::{CallKey, Connection, End, Event};
use crate::message::{Outgoing, Payload, RequestId};

impl<P: Payload> Connection<P> {
    /// Restarts the timeout of a call. The `timeout` milliseconds start at the next clock reading. With `None`, the
    /// call has no timeout. Returns whether the call was pending.
    pub fn restart(&mut self, call: CallKey, timeout: Option<u64>) -> bool {
        let is_pending = self.calls.contains(call);
        if is_pending {
            self.deadlines.restart(call.slot, timeout, u64::MAX);
        }
        is_pending
    }

    /// Handles progress of an outgoing call. The driver calls this method for each progress message, if the application
    /// has requested the progress of the call. The method restarts the timeout like [`restart`](Self::restart), with
    /// the lesser of `timeout` and `end - now`. `end` is the latest time at which the call may end, or `None` for no
    /// latest time. If `end` is `None`, progress can keep the call pending for ever. `end` and `now` are on the clock
    /// of [`handle_timeout`](Self::handle_timeout).
    pub fn handle_progress(&mut self, call: CallKey, timeout: Option<u64>, end: Option<u64>, now: u64) {
        if self.calls.contains(call) {
            self.deadlines.restart(call.slot, timeout, end.map_or(u64::MAX, |end| end.saturating_sub(now)));
        }
    }

    /// Handles a clock reading, in milliseconds from any fixed start. Each expired call ends with [`End::TimedOut`],
    /// and a cancellation is sent to the peer.
    pub fn handle_timeout(&mut self, now: u64) {
        self.deadlines.advance(now);
        while let Some(slot) = self.deadlines.pop_expired() {
            if let Some(call) = self.calls.in_slot(slot) {
                self.calls.take(call.id);
                self.transmits.push_back(Outgoing::Cancel(P::Id::from_call(call.id)));
                self.ended_without_response += 1;
                self.events.push_back(Event::Ended { call, end: End::TimedOut });
            }
        }
        self.deadlines.recompute_next();
    }

    /// Handles a clock reading without ending a call. The timeouts of calls that were made after the previous reading
    /// start at `now`.
    pub fn start_clock(&mut self, now: u64) {
        self.deadlines.advance(now);
        self.deadlines.recompute_next();
    }
}
