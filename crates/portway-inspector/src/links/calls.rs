//! The calls that have no response yet.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use portway_proto::message::Id;

use super::methods::MethodId;
use crate::limits::{MAX_ANSWERED_CALLS, MAX_CALLS_WITHOUT_ROW};
use crate::record::Direction;

/// The place of a call: the sequence number of its row, and its index in a batch, or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallPlace {
    /// The sequence number of the row.
    pub seq: u64,
    /// The index of the message in its batch. 0 for a single message.
    pub item: u32,
}

/// A call that has no response yet.
#[derive(Clone, Debug)]
pub struct Call {
    /// The index of the link.
    pub link: u32,
    /// The direction of the request.
    pub direction: Direction,
    /// The id in the form in which ids are compared, as `matching` returns it.
    pub id: Id,
    /// The method.
    pub method: MethodId,
    /// The time of the request.
    pub at: u64,
    /// Whether the row is in the history.
    pub has_row: bool,
    /// Whether the call is part of a batch.
    pub is_in_batch: bool,
}

type Key = (u32, Direction, Id);

/// The pending calls of all links.
#[derive(Debug, Default)]
pub struct Calls {
    by_place: BTreeMap<CallPlace, Call>,
    by_id: BTreeSet<(u32, Direction, Id, CallPlace)>,
    /// Calls whose rows have left the history, the oldest first.
    without_row: VecDeque<CallPlace>,
    /// The response rows of answered calls.
    answered: BTreeMap<Key, u64>,
    /// The answered calls and their response rows, the oldest first. If an id was used again, an entry may be outdated.
    answered_order: VecDeque<(Key, u64)>,
}

impl Calls {
    /// Returns the number of pending calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_place.len()
    }

    /// Returns whether no call is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }

    /// Returns the pending calls, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (CallPlace, &Call)> {
        self.by_place.iter().map(|(place, call)| (*place, call))
    }

    /// Returns the pending calls of a row.
    pub fn of_row(&self, seq: u64) -> impl Iterator<Item = (CallPlace, &Call)> {
        let range = CallPlace { seq, item: 0 }..=CallPlace { seq, item: u32::MAX };
        self.by_place.range(range).map(|(place, call)| (*place, call))
    }

    /// Returns the pending calls of a link in one direction, in the order of their ids.
    pub fn of_link(&self, link: u32, direction: Direction) -> impl Iterator<Item = (CallPlace, &Call)> {
        // The id null is the least id.
        let first = (link, direction, Id::Null, CallPlace { seq: 0, item: 0 });
        let of_link = self.by_id.range(first..).take_while(move |(found, way, ..)| (*found, *way) == (link, direction));
        of_link.filter_map(|(.., place)| Some((*place, self.by_place.get(place)?)))
    }

    /// Adds a call. Returns the place of another pending call with the same id.
    pub fn insert(&mut self, place: CallPlace, call: Call) -> Option<CallPlace> {
        let other = self.find(call.link, call.direction, &call.id);
        let key = (call.link, call.direction, call.id.clone());
        self.answered.remove(&key);
        self.by_id.insert((key.0, key.1, key.2, place));
        self.by_place.insert(place, call);
        other
    }

    /// Returns the oldest pending call with this id. `direction` is the direction of the request.
    #[must_use]
    pub fn find(&self, link: u32, direction: Direction, id: &Id) -> Option<CallPlace> {
        let first = (link, direction, id.clone(), CallPlace { seq: 0, item: 0 });
        let (found_link, found_direction, found_id, place) = self.by_id.range(first..).next()?;
        (*found_link == link && *found_direction == direction && found_id == id).then_some(*place)
    }

    /// Removes the call at a place, because the response in the row `response` ends it.
    pub fn answer(&mut self, place: CallPlace, response: u64) -> Option<Call> {
        let call = self.remove(place)?;
        let key = (call.link, call.direction, call.id.clone());
        self.answered.insert(key.clone(), response);
        self.answered_order.push_back((key, response));
        if self.answered_order.len() > MAX_ANSWERED_CALLS
            && let Some((oldest, response)) = self.answered_order.pop_front()
            && self.answered.get(&oldest) == Some(&response)
        {
            self.answered.remove(&oldest);
        }
        Some(call)
    }

    /// Returns the response row of an answered call with this id.
    #[must_use]
    pub fn response_to(&self, link: u32, direction: Direction, id: &Id) -> Option<u64> {
        self.answered.get(&(link, direction, id.clone())).copied()
    }

    fn remove(&mut self, place: CallPlace) -> Option<Call> {
        let call = self.by_place.remove(&place)?;
        self.by_id.remove(&(call.link, call.direction, call.id.clone(), place));
        Some(call)
    }

    /// Removes all calls of a link, because its connection has closed.
    pub fn close(&mut self, link: u32) -> Vec<(CallPlace, Call)> {
        let of_link = self.of_link(link, Direction::Sent).chain(self.of_link(link, Direction::Received));
        let places: Vec<CallPlace> = of_link.map(|(place, _)| place).collect();
        self.answered.retain(|key, _| key.0 != link);
        self.answered_order.retain(|(key, _)| key.0 != link);
        places.into_iter().filter_map(|place| Some((place, self.remove(place)?))).collect()
    }

    /// Marks the calls of a row as calls without a row, because the row has left the history. Removes and returns the
    /// oldest calls beyond [`MAX_CALLS_WITHOUT_ROW`].
    pub fn forget_row(&mut self, seq: u64) -> Vec<Call> {
        let range = CallPlace { seq, item: 0 }..=CallPlace { seq, item: u32::MAX };
        for (place, call) in self.by_place.range_mut(range) {
            call.has_row = false;
            self.without_row.push_back(*place);
        }
        let mut forgotten = Vec::new();
        while self.without_row.len() > MAX_CALLS_WITHOUT_ROW {
            let Some(place) = self.without_row.pop_front() else { break };
            forgotten.extend(self.remove(place));
        }
        forgotten
    }

    /// Removes all calls.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a request with the id `id` in the row `seq`, and answers it in the next row.
    fn call_and_answer(calls: &mut Calls, seq: u64, id: i64) {
        let place = CallPlace { seq, item: 0 };
        let (direction, method) = (Direction::Sent, MethodId::default());
        let id = Id::from(id);
        calls.insert(place, Call { link: 0, direction, id, method, at: 0, has_row: true, is_in_batch: false });
        assert!(calls.answer(place, seq + 1).is_some());
    }

    #[test]
    fn the_newer_call_with_a_repeated_id_stays_known_when_the_older_one_is_forgotten() {
        let mut calls = Calls::default();
        call_and_answer(&mut calls, 0, 0);
        let others = i64::try_from(MAX_ANSWERED_CALLS).unwrap_or(i64::MAX) - 1;
        for n in 1..others {
            call_and_answer(&mut calls, 2 * n.unsigned_abs(), n);
        }
        let seq = 2 * others.unsigned_abs();
        call_and_answer(&mut calls, seq, 0);
        call_and_answer(&mut calls, seq + 2, others);
        call_and_answer(&mut calls, seq + 4, others + 1);
        assert_eq!(calls.response_to(0, Direction::Sent, &Id::from(0)), Some(seq + 1));
        assert_eq!(calls.response_to(0, Direction::Sent, &Id::from(1)), None);
        assert_eq!(calls.response_to(0, Direction::Sent, &Id::from(2)), Some(5));
    }
}
