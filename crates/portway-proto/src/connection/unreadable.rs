//! Handles responses that cannot be decoded. A response ends its call, if the call is known.

use alloc::vec::Vec;

use super::{CallKey, Connection, End, Event, Ignored};
use crate::message::{Payload, RequestId, Unreadable};

impl<P: Payload> Connection<P> {
    /// Handles a response that cannot be decoded. With an id, the response ends the call with this id. Without an id,
    /// the response ends the calls that [`only_calls`](Self::only_calls) returns.
    pub fn handle_unreadable(&mut self, id: Option<&P::Id>, why: Unreadable) {
        if self.closed {
            return;
        }
        let calls = match id {
            Some(id) => self.end_call(id).into_iter().collect(),
            None => self.only_calls(),
        };
        if calls.is_empty() {
            self.count_late_answer(id);
            self.ignore(Ignored::Unreadable(why));
        }
        for call in calls {
            self.take_call(call.id);
            self.events.push_back(Event::Ended { call, end: End::Unreadable(why) });
        }
    }

    /// Returns the calls to which a response without an id must belong: the only pending call, or the calls of the only
    /// pending batch. Returns an empty list if the response may belong to other calls, for example to a call that has
    /// timed out.
    pub fn only_calls(&self) -> Vec<CallKey> {
        if self.ended_without_response > 0 { Vec::new() } else { self.calls.only_call_or_batch() }
    }

    /// Records that a response has arrived after the end of its call. No further response to this call is expected.
    pub(super) fn count_late_answer(&mut self, id: Option<&P::Id>) {
        if id.and_then(P::Id::to_call).is_some_and(|id| self.calls.was_issued(id)) {
            self.ended_without_response = self.ended_without_response.saturating_sub(1);
        }
    }
}
