//! Pending outgoing calls, by slot and by id.

use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use super::chunked_vec::ChunkedVec;
use super::event::CallKey;

/// Marks the end of the list of free slots.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct PendingCalls {
    slots: Slots,
    index: Index,
    /// The first outgoing call has the id `before_first + 1`.
    before_first: u64,
    /// The id of the latest outgoing call, or `before_first`.
    last_id: u64,
}

/// The calls by slot.
#[derive(Debug)]
struct Slots {
    slots: ChunkedVec<Slot>,
    /// The head of the linked list of free slots. It is the slot that was freed last.
    free: u32,
    /// The slots from this number on were never used.
    unused: u32,
    len: usize,
    batched: BatchSums,
}

/// Sums that show whether all pending calls in batches belong to one batch, without a search.
///
/// If n numbers are all equal, the square of their sum equals n times the sum of their squares. If the numbers differ,
/// the square is less (the Cauchy-Schwarz inequality).
///
/// The sums wrap modulo 2^64. So two batches of 1 000 calls may look like one batch if their numbers differ by at least
/// four million. A peer cannot exploit this error, because the peer does not choose the batch numbers.
#[derive(Debug)]
struct BatchSums {
    /// The number of pending calls in batches.
    calls: u64,
    /// The sum of the batch numbers of all pending calls. A call outside batches has the number 0.
    sum: u64,
    /// The sum of the squares of the batch numbers.
    squares: u64,
}

impl BatchSums {
    const fn add(&mut self, batch: u32) {
        let number = batch as u64;
        self.calls += (batch != 0) as u64;
        self.sum = self.sum.wrapping_add(number);
        self.squares = self.squares.wrapping_add(number.wrapping_mul(number));
    }

    const fn remove(&mut self, batch: u32) {
        let number = batch as u64;
        self.calls -= (batch != 0) as u64;
        self.sum = self.sum.wrapping_sub(number);
        self.squares = self.squares.wrapping_sub(number.wrapping_mul(number));
    }

    /// Returns the number of the only pending batch. Returns 0 if no batch or several batches are pending.
    fn only_batch_number(&self) -> u64 {
        let is_one = self.calls.wrapping_mul(self.squares) == self.sum.wrapping_mul(self.sum);
        if is_one { self.sum.checked_div(self.calls).unwrap_or(0) } else { 0 }
    }
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The id of the call, or 0 in a free slot.
    id: u64,
    /// The number of the batch of the call, or 0 for a call outside batches. In a free slot, the next free slot.
    link: u32,
}

impl Slots {
    const fn new() -> Self {
        let batched = BatchSums { calls: 0, sum: 0, squares: 0 };
        Self { slots: ChunkedVec::new(), free: NONE, unused: 0, len: 0, batched }
    }

    fn insert(&mut self, id: u64, batch: u32) -> u32 {
        self.len += 1;
        self.batched.add(batch);
        if self.free == NONE {
            if self.unused == self.slots.len() {
                self.slots.grow(Slot { id: 0, link: NONE });
            }
            self.free = self.unused;
            self.unused += 1;
        }
        let slot = self.free;
        if let Some(entry) = self.slots.get_mut(slot) {
            self.free = entry.link;
            *entry = Slot { id, link: batch };
        }
        slot
    }

    fn remove(&mut self, slot: u32) {
        if let Some(entry) = self.slots.get_mut(slot) {
            self.batched.remove(entry.link);
            *entry = Slot { id: 0, link: self.free };
            self.free = slot;
            self.len -= 1;
        }
    }

    /// Returns the id of the call in a slot.
    fn id(&self, slot: u32) -> Option<u64> {
        self.slots.get(slot).map(|entry| entry.id).filter(|&id| id != 0)
    }

    /// Iterates over the calls, each with the number of its batch, or 0 for a call outside batches.
    fn iter(&self) -> impl Iterator<Item = (CallKey, u32)> {
        let slots = (0..self.unused).filter_map(|slot| self.slots.get(slot).map(|entry| (slot, entry)));
        slots.filter(|(_, entry)| entry.id != 0).map(|(slot, entry)| (CallKey { slot, id: entry.id }, entry.link))
    }
}

impl PendingCalls {
    /// Creates an empty table. The first call has the id `last_id + 1`.
    pub(super) const fn new(last_id: u64) -> Self {
        Self { slots: Slots::new(), index: Index { table: Vec::new() }, before_first: last_id, last_id }
    }

    pub(super) const fn len(&self) -> usize {
        self.slots.len
    }

    /// Returns the id of the next call.
    pub(super) const fn next_id(&self) -> u64 {
        self.last_id + 1
    }

    /// Adds a call with the next id. `batch` is the number of its batch, or `None` for a call outside batches.
    pub(super) fn insert(&mut self, batch: Option<NonZeroU32>) -> CallKey {
        self.last_id += 1;
        let id = self.last_id;
        let slot = self.slots.insert(id, batch.map_or(0, NonZeroU32::get));
        self.index.insert(slot, &self.slots);
        CallKey { slot, id }
    }

    /// Ends the call with this id, and returns it. Returns `None` if no call with this id is pending.
    pub(super) fn take(&mut self, id: u64) -> Option<CallKey> {
        let slot = self.index.remove(id, &self.slots)?;
        self.slots.remove(slot);
        Some(CallKey { slot, id })
    }

    /// Returns whether a pending or ended call has this id.
    pub(super) const fn was_issued(&self, id: u64) -> bool {
        self.before_first < id && id <= self.last_id
    }

    /// Returns the pending call with this id.
    pub(super) fn by_id(&self, id: u64) -> Option<CallKey> {
        self.index.find(id, &self.slots).map(|(_, slot)| CallKey { slot, id })
    }

    /// Returns whether this call is pending.
    pub(super) fn contains(&self, key: CallKey) -> bool {
        self.slots.id(key.slot) == Some(key.id)
    }

    /// Returns the pending call in a slot.
    pub(super) fn in_slot(&self, slot: u32) -> Option<CallKey> {
        self.slots.id(slot).map(|id| CallKey { slot, id })
    }

    /// Returns the number of the only pending batch. Returns 0 if no batch or several batches are pending.
    pub(super) fn only_batch_number(&self) -> u64 {
        self.slots.batched.only_batch_number()
    }

    /// Returns whether all pending calls are in batches.
    pub(super) const fn are_batched(&self) -> bool {
        self.slots.batched.calls == self.slots.len as u64
    }

    /// Returns the pending calls that are in batches.
    pub(super) fn in_batches(&self) -> Vec<CallKey> {
        self.slots.iter().filter(|&(_, batch)| batch != 0).map(|(call, _)| call).collect()
    }

    /// Returns the only pending call, or the calls of the only pending batch. Returns an empty list if other calls are
    /// pending.
    pub(super) fn only_call_or_batch(&self) -> Vec<CallKey> {
        let is_one_batch = self.only_batch_number() > 0 && self.are_batched();
        if self.slots.len != 1 && !is_one_batch {
            return Vec::new();
        }
        self.slots.iter().map(|(call, _)| call).collect()
    }

    /// Returns all slots that were ever used.
    pub(super) fn slots(&self) -> core::ops::Range<u32> {
        0..self.slots.unused
    }
}

/// A hash table from ids to slots: open addressing with linear probing.
///
/// Ids are consecutive numbers. If the ids were the positions, the entries of the pending calls would be adjacent, and
/// each removal would scan all of these entries. Multiplication by the golden ratio spreads the positions. A general
/// hash map would need more memory for each call.
#[derive(Debug)]
struct Index {
    /// Each entry is a slot plus one, or 0 if the entry is free. The length is a power of two. At least a quarter of
    /// the entries is free.
    table: Vec<u32>,
}

impl Index {
    fn insert(&mut self, slot: u32, calls: &Slots) {
        if self.table.len() * 3 < calls.len * 4 {
            // The old memory is freed first, so that the larger table may reuse it.
            self.table = Vec::new();
            self.table = vec![0; (calls.len * 4 / 3 + 1).next_power_of_two().max(16)];
            for (call, _) in calls.iter() {
                self.store(call.slot, calls);
            }
        } else {
            self.store(slot, calls);
        }
    }

    /// Writes the slot of a call to the first free entry from the home position of the call on.
    fn store(&mut self, slot: u32, calls: &Slots) {
        let Some(mut position) = self.home(slot, calls) else { return };
        while let Some(entry) = self.table.get_mut(position) {
            if *entry == 0 {
                *entry = slot + 1;
                return;
            }
            position = self.after(position);
        }
    }

    /// Returns the position of a call in the table, and its slot.
    fn find(&self, id: u64, calls: &Slots) -> Option<(usize, u32)> {
        let mut position = self.home_of(id);
        loop {
            let slot = self.table.get(position)?.checked_sub(1)?;
            if calls.id(slot) == Some(id) {
                return Some((position, slot));
            }
            position = self.after(position);
        }
    }

    fn remove(&mut self, id: u64, calls: &Slots) -> Option<u32> {
        let (mut position, slot) = self.find(id, calls)?;
        // The removal leaves a gap. A search ends at the first free entry, so the gap would hide later entries. Each
        // hidden entry is moved to the gap, and its former position becomes the gap.
        let mut gap = position;
        loop {
            position = self.after(position);
            let entry = self.table.get(position).copied()?;
            let Some(follower) = entry.checked_sub(1) else { break };
            let Some(home) = self.home(follower, calls) else { break };
            let mask = self.mask();
            if position.wrapping_sub(home) & mask >= position.wrapping_sub(gap) & mask {
                *self.table.get_mut(gap)? = entry;
                gap = position;
            }
        }
        *self.table.get_mut(gap)? = 0;
        Some(slot)
    }

    /// Returns the position at which a search for the call in this slot begins.
    fn home(&self, slot: u32, calls: &Slots) -> Option<usize> {
        calls.id(slot).map(|id| self.home_of(id))
    }

    fn home_of(&self, id: u64) -> usize {
        (id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & self.mask()
    }

    fn after(&self, position: usize) -> usize {
        (position + 1) & self.mask()
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
        let mut calls = PendingCalls::new(0);
        assert_eq!((1..=3).map(|_| calls.insert(None).id).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn an_unknown_id_ends_no_call() {
        let mut calls = PendingCalls::new(0);
        assert_eq!(calls.take(1), None);
        let key = calls.insert(None);
        assert_eq!(calls.take(key.id + 1), None);
        assert_eq!(calls.take(key.id + 16), None);
        assert_eq!(calls.take(key.id), Some(key));
        assert_eq!(calls.take(key.id), None);
    }

    /// The positions of later ids in the index may collide with the position of a pending call. Each id must lead to
    /// the slot of its call, in any order in which the calls end.
    #[test]
    fn each_call_is_found_by_its_id_in_any_order_of_removal() {
        let mut calls = PendingCalls::new(0);
        let mut pending: Vec<CallKey> = Vec::new();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % bound as u64) as usize
        };
        for round in 0..20_000 {
            if pending.is_empty() || random(100) < if round < 10_000 { 55 } else { 45 } {
                pending.push(calls.insert(None));
            } else {
                let key = pending.swap_remove(random(pending.len()));
                assert!(calls.contains(key));
                assert_eq!(calls.take(key.id), Some(key));
                assert!(!calls.contains(key));
            }
            assert_eq!(calls.len(), pending.len());
        }
        for key in pending {
            assert_eq!(calls.take(key.id), Some(key));
        }
        assert_eq!(calls.len(), 0);
        assert!(calls.index.table.iter().all(|&entry| entry == 0));
    }

    /// Consecutive ids must not have adjacent entries, because a removal scans the whole run of adjacent entries.
    #[test]
    fn pending_calls_have_no_long_runs_of_adjacent_entries_in_the_index() {
        let mut calls = PendingCalls::new(0);
        for _ in 0..100_000 {
            calls.insert(None);
        }
        let longest_run = calls.index.table.split(|&entry| entry == 0).map(<[u32]>::len).max();
        assert!(longest_run < Some(64), "{longest_run:?}");
    }

    #[test]
    fn the_number_of_a_batch_is_returned_only_if_no_other_batch_is_pending() {
        let mut calls = PendingCalls::new(0);
        assert!(calls.are_batched());
        let single = calls.insert(None);
        assert_eq!(calls.only_batch_number(), 0);
        let batched = [NonZeroU32::new(1); 2].map(|batch| calls.insert(batch));
        assert_eq!((calls.only_batch_number(), calls.are_batched()), (1, false));
        assert_eq!(calls.in_batches(), batched);
        calls.take(single.id);
        assert!(calls.are_batched());
        calls.insert(NonZeroU32::new(2));
        assert_eq!(calls.only_batch_number(), 0);
    }

    #[test]
    fn the_last_pending_batch_is_found_after_all_other_batches_have_ended() {
        let mut calls = PendingCalls::new(0);
        let batches = [7, 1, u32::MAX, 3, 5].map(NonZeroU32::new);
        let pending: Vec<_> = batches.into_iter().map(|batch| [0; 3].map(|_| calls.insert(batch))).collect();
        let single = calls.insert(None);
        for (index, keys) in pending.iter().enumerate() {
            assert_eq!(calls.only_batch_number(), if index == 4 { 5 } else { 0 });
            for key in keys {
                assert_eq!(calls.take(key.id), Some(*key));
            }
        }
        assert_eq!((calls.only_batch_number(), calls.len()), (0, 1));
        let last = calls.insert(NonZeroU32::new(u32::MAX));
        assert_eq!((calls.only_batch_number(), calls.in_batches()), (u64::from(u32::MAX), vec![last]));
        assert!(calls.contains(single));
    }
}
