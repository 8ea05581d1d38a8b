//! Our calls that wait for an answer, by slot and by id.

use alloc::vec;
use alloc::vec::Vec;

use slab::Slab;

use super::event::CallKey;

#[derive(Debug)]
pub(super) struct PendingCalls {
    calls: Slab<PendingCall>,
    index: Index,
    last_id: u64,
}

#[derive(Clone, Copy, Debug)]
struct PendingCall {
    id: u64,
    /// The batch of ours that it went out in.
    batch: Option<u32>,
}

impl PendingCalls {
    pub(super) const fn new() -> Self {
        Self { calls: Slab::new(), index: Index { table: Vec::new() }, last_id: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Begins a call under the next id.
    pub(super) fn insert(&mut self, batch: Option<u32>) -> CallKey {
        self.last_id += 1;
        let id = self.last_id;
        let slot = self.calls.insert(PendingCall { id, batch }) as u32;
        self.index.insert(slot, &self.calls);
        CallKey { slot, id }
    }

    /// Ends the call with this id.
    pub(super) fn take(&mut self, id: u64) -> Option<CallKey> {
        let slot = self.index.remove(id, &self.calls)?;
        self.calls.try_remove(slot as usize);
        Some(CallKey { slot, id })
    }

    /// Whether this very call still waits.
    pub(super) fn contains(&self, key: CallKey) -> bool {
        self.calls.get(key.slot as usize).is_some_and(|call| call.id == key.id)
    }

    /// The call in a slot.
    pub(super) fn in_slot(&self, slot: u32) -> Option<CallKey> {
        self.calls.get(slot as usize).map(|call| CallKey { slot, id: call.id })
    }

    /// The calls of the one batch that waits, if there is exactly one.
    pub(super) fn only_batch(&self) -> Vec<CallKey> {
        let mut batches = self.calls.iter().filter_map(|(_, call)| call.batch);
        let Some(batch) = batches.next() else { return Vec::new() };
        if batches.any(|other| other != batch) {
            return Vec::new();
        }
        let in_batch = self.calls.iter().filter(|(_, call)| call.batch == Some(batch));
        in_batch.map(|(slot, call)| CallKey { slot: slot as u32, id: call.id }).collect()
    }

    /// All slots that a call may be in.
    pub(super) fn slots(&self) -> core::ops::Range<u32> {
        0..self.calls.capacity() as u32
    }
}

/// Slots by id: open addressing with linear probing.
///
/// Ids count up. As places of their own they would stand in one row, all of which the removal of any would have to look
/// over; multiplied by the golden ratio they keep apart. A general map would hash each id with care that it does not need.
#[derive(Debug)]
struct Index {
    /// A slot plus one, or zero. The length is a power of two, at least twice the number of entries.
    table: Vec<u32>,
}

impl Index {
    fn insert(&mut self, slot: u32, calls: &Slab<PendingCall>) {
        if self.table.len() < calls.len() * 2 {
            self.table = vec![0; (calls.len() * 2).next_power_of_two().max(16)];
            for (slot, _) in calls {
                self.place(slot as u32, calls);
            }
        } else {
            self.place(slot, calls);
        }
    }

    fn place(&mut self, slot: u32, calls: &Slab<PendingCall>) {
        let Some(mut place) = self.home(slot, calls) else { return };
        while let Some(entry) = self.table.get_mut(place) {
            if *entry == 0 {
                *entry = slot + 1;
                return;
            }
            place = self.after(place);
        }
    }

    fn remove(&mut self, id: u64, calls: &Slab<PendingCall>) -> Option<u32> {
        let mut place = self.home_of(id);
        let slot = loop {
            let slot = self.table.get(place)?.checked_sub(1)?;
            if calls.get(slot as usize).is_some_and(|call| call.id == id) {
                break slot;
            }
            place = self.after(place);
        };
        // Close the gap: move back each follower that would not be found across it.
        let mut gap = place;
        loop {
            place = self.after(place);
            let entry = self.table.get(place).copied()?;
            let Some(follower) = entry.checked_sub(1) else { break };
            let Some(home) = self.home(follower, calls) else { break };
            let mask = self.mask();
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(gap) & mask {
                *self.table.get_mut(gap)? = entry;
                gap = place;
            }
        }
        *self.table.get_mut(gap)? = 0;
        Some(slot)
    }

    fn home(&self, slot: u32, calls: &Slab<PendingCall>) -> Option<usize> {
        calls.get(slot as usize).map(|call| self.home_of(call.id))
    }

    fn home_of(&self, id: u64) -> usize {
        (id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & self.mask()
    }

    fn after(&self, place: usize) -> usize {
        (place + 1) & self.mask()
    }

    fn mask(&self) -> usize {
        self.table.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_from_one() {
        let mut calls = PendingCalls::new();
        assert_eq!((1..=3).map(|_| calls.insert(None).id).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn an_unknown_id_takes_nothing() {
        let mut calls = PendingCalls::new();
        assert_eq!(calls.take(1), None);
        let key = calls.insert(None);
        assert_eq!(calls.take(key.id + 1), None);
        assert_eq!(calls.take(key.id + 16), None);
        assert_eq!(calls.take(key.id), Some(key));
        assert_eq!(calls.take(key.id), None);
    }

    /// A long-lived call stays where later ids want to be; whatever the order of endings, each id finds its own slot.
    #[test]
    fn any_order_of_endings_finds_each_call() {
        let mut calls = PendingCalls::new();
        let mut waiting: Vec<CallKey> = Vec::new();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % bound as u64) as usize
        };
        for round in 0..20_000 {
            if waiting.is_empty() || random(100) < if round < 10_000 { 55 } else { 45 } {
                waiting.push(calls.insert(None));
            } else {
                let key = waiting.swap_remove(random(waiting.len()));
                assert!(calls.contains(key));
                assert_eq!(calls.take(key.id), Some(key));
                assert!(!calls.contains(key));
            }
            assert_eq!(calls.len(), waiting.len());
        }
        for key in waiting {
            assert_eq!(calls.take(key.id), Some(key));
        }
        assert_eq!(calls.len(), 0);
        assert!(calls.index.table.iter().all(|&entry| entry == 0));
    }

    /// Ids that count up must not end up in one row of the table: the removal of each would look over all of it.
    #[test]
    fn calls_that_wait_keep_apart() {
        let mut calls = PendingCalls::new();
        for _ in 0..100_000 {
            calls.insert(None);
        }
        let longest_row = calls.index.table.split(|&entry| entry == 0).map(<[u32]>::len).max();
        assert!(longest_row < Some(64), "{longest_row:?}");
    }

    #[test]
    fn the_only_batch_is_found_and_two_are_not_confused() {
        let mut calls = PendingCalls::new();
        calls.insert(None);
        assert_eq!(calls.only_batch(), []);
        let first = calls.insert(Some(0));
        let second = calls.insert(Some(0));
        assert_eq!(calls.only_batch(), [first, second]);
        calls.insert(Some(1));
        assert_eq!(calls.only_batch(), []);
    }
}
