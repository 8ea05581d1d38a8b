//! Answers that cannot be taken, and the calls that they end.

use alloc::vec::Vec;

use super::{CallKey, Connection, End, Event, Ignored};
use crate::message::{Payload, RequestId, Unreadable};

impl<P: Payload> Connection<P> {
    /// Takes an answer that cannot be taken: it ends the call with its id or, without one, the call or batch that waits, if
    /// there is only one and no other answer is to be expected.
    pub fn handle_unreadable(&mut self, id: Option<&P::Id>, why: Unreadable) {
        if self.closed {
            return;
        }
        let calls = match id {
            Some(id) => self.end_call(id).into_iter().collect(),
            None => self.only_calls(),
        };
        if calls.is_empty() {
            self.forget(id);
            self.ignore(Ignored::Unreadable(why));
        }
        for call in calls {
            self.take_call(call.id);
            self.events.push_back(Event::Ended { call, end: End::Unreadable(why) });
        }
    }

    /// The call that waits, or the calls of the batch that does, if an answer can belong to nothing else.
    pub(crate) fn only_calls(&self) -> Vec<CallKey> {
        if self.unanswered > 0 { Vec::new() } else { self.calls.only() }
    }

    /// An answer has come with this id, which no call waits for: perhaps one that has ended without it.
    pub(super) fn forget(&mut self, id: Option<&P::Id>) {
        if id.and_then(P::Id::to_call).is_some_and(|id| self.calls.has_had(id)) {
            self.unanswered = self.unanswered.saturating_sub(1);
        }
    }
}
