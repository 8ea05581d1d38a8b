//! The timeouts of calls. The work per call is constant, and all calls share one timer.
//!
//! Calls with the same timeout expire in the order in which they began. So each distinct timeout has a queue, and only
//! the head of each queue can expire next.
//!
//! A call reads no clock. Its timeout starts at the first clock reading after the call. Until that reading, the call is
//! *unstamped*. The unstamped calls of a queue are at its tail.

use alloc::vec::Vec;

use super::chunked_vec::ChunkedVec;

/// Marks the end of a queue. As the `queue` of a node, `NONE` means that the slot has no timeout.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Deadlines {
    /// One queue for each timeout in use. An empty queue is reused for another timeout.
    queues: Vec<Queue>,
    /// One node for each slot of a call.
    nodes: ChunkedVec<Node>,
    /// The latest clock reading.
    now: u64,
    /// The time at which the next clock reading is due.
    next: Option<u64>,
    /// See [`Config::time_grain`](super::Config::time_grain).
    grain: u64,
    /// Maximum time from a call to its first clock reading, if `grain` is not 0. The end of a call does not change
    /// `next`. So after the last call has ended, one more reading is due, within this time.
    max_clock_delay: u64,
}

/// The calls with one timeout, oldest first.
#[derive(Debug)]
struct Queue {
    timeout: u64,
    /// Maximum time from a call to its first clock reading.
    clock_delay: u64,
    /// The slot of the oldest call, or `NONE`.
    head: u32,
    /// The slot of the newest call, or `NONE`.
    tail: u32,
    /// The slot of the first unstamped call, or `NONE`.
    unstamped: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The time at which the call expires, or 0 while the call is unstamped.
    deadline: u64,
    queue: u32,
    /// The slot of the call before this call in the queue, or `NONE`.
    previous: u32,
    /// The slot of the call after this call in the queue, or `NONE`.
    next: u32,
}

const DETACHED: Node = Node { deadline: 0, queue: NONE, previous: NONE, next: NONE };

impl Deadlines {
    pub(super) const fn new(grain: u64, max_clock_delay: u64) -> Self {
        Self { queues: Vec::new(), nodes: ChunkedVec::new(), now: 0, next: None, grain, max_clock_delay }
    }

    /// Returns the time at which the next clock reading is due.
    pub(super) const fn next(&self) -> Option<u64> {
        self.next
    }

    /// Starts a timeout for a slot without a timeout.
    pub(super) fn insert(&mut self, slot: u32, timeout: u64) {
        let queue_key = self.queue_for(timeout);
        let Some(queue) = self.queues.get_mut(queue_key as usize) else { return };
        let next_reading = self.now.saturating_add(queue.clock_delay);
        let previous = queue.tail;
        if queue.head == NONE {
            queue.head = slot;
        }
        if queue.unstamped == NONE {
            queue.unstamped = slot;
        }
        queue.tail = slot;
        if let Some(node) = self.nodes.get_mut(previous) {
            node.next = slot;
        }
        while self.nodes.len() <= slot {
            self.nodes.grow(DETACHED);
        }
        if let Some(node) = self.nodes.get_mut(slot) {
            *node = Node { deadline: 0, queue: queue_key, previous, next: NONE };
        }
        self.next = Some(self.next.map_or(next_reading, |next| next.min(next_reading)));
    }

    /// Ends the timeout of a slot, if the slot has one.
    pub(super) fn remove(&mut self, slot: u32) {
        let Some(slot_node) = self.nodes.get_mut(slot) else { return };
        let node = core::mem::replace(slot_node, DETACHED);
        let Some(queue) = self.queues.get_mut(node.queue as usize) else { return };
        if queue.head == slot {
            queue.head = node.next;
        }
        if queue.tail == slot {
            queue.tail = node.previous;
        }
        if queue.unstamped == slot {
            queue.unstamped = node.next;
        }
        if let Some(previous) = self.nodes.get_mut(node.previous) {
            previous.next = node.next;
        }
        if let Some(next) = self.nodes.get_mut(node.next) {
            next.previous = node.previous;
        }
    }

    /// Replaces the timeout of a slot with the lesser of `timeout` and `max`. `None` and [`u64::MAX`] mean no timeout.
    pub(super) fn restart(&mut self, slot: u32, timeout: Option<u64>, max: u64) {
        self.remove(slot);
        let timeout = timeout.unwrap_or(u64::MAX).min(max);
        if timeout < u64::MAX {
            self.insert(slot, timeout);
        }
    }

    /// Handles a clock reading: stamps the unstamped calls. To end the expired calls, call
    /// [`pop_expired`](Self::pop_expired) afterwards until it returns `None`. Then call
    /// [`recompute_next`](Self::recompute_next).
    pub(super) fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        for queue in &mut self.queues {
            let deadline = self.now.saturating_add(queue.timeout);
            let mut slot = core::mem::replace(&mut queue.unstamped, NONE);
            while let Some(node) = self.nodes.get_mut(slot) {
                node.deadline = deadline;
                slot = node.next;
            }
        }
    }

    /// Returns the slot of an expired call, and ends its timeout. Returns `None` if no call has expired.
    pub(super) fn pop_expired(&mut self) -> Option<u32> {
        let slot = self.queues.iter().find_map(|queue| {
            let node = self.nodes.get(queue.head)?;
            (queue.unstamped != queue.head && node.deadline <= self.now).then_some(queue.head)
        })?;
        self.remove(slot);
        Some(slot)
    }

    /// Computes the time at which the next clock reading is due.
    pub(super) fn recompute_next(&mut self) {
        self.next = None;
        for queue in self.queues.iter().filter(|queue| queue.head != NONE) {
            let reading = self.now.saturating_add(queue.clock_delay);
            let deadline = match self.nodes.get(queue.head) {
                Some(node) if queue.unstamped != queue.head => node.deadline,
                _ => reading,
            };
            // With a grain, periodic readings are due while a queue has calls. So a later call with the same timeout
            // requires no earlier reading, and the driver does not set its timer again.
            let next_reading = if self.grain == 0 { deadline } else { deadline.min(reading) };
            self.next = Some(self.next.map_or(next_reading, |next| next.min(next_reading)));
        }
    }

    /// Returns the maximum time from a call with this timeout to its first clock reading.
    const fn clock_delay(&self, timeout: u64) -> u64 {
        match timeout.checked_div(self.grain) {
            None => 0,
            Some(0) => 1,
            Some(delay) if delay > self.max_clock_delay => self.max_clock_delay,
            Some(delay) => delay,
        }
    }

    /// Returns the queue for a timeout. Applications use few distinct timeouts, so a linear search is fast.
    fn queue_for(&mut self, timeout: u64) -> u32 {
        let mut empty = None;
        for (key, queue) in self.queues.iter().enumerate() {
            if queue.timeout == timeout {
                return key as u32;
            }
            if queue.head == NONE {
                empty = Some(key);
            }
        }
        let key = empty.unwrap_or(self.queues.len());
        let queue = Queue { timeout, clock_delay: self.clock_delay(timeout), head: NONE, tail: NONE, unstamped: NONE };
        match self.queues.get_mut(key) {
            Some(slot) => *slot = queue,
            None => self.queues.push(queue),
        }
        key as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Handles a clock reading. Returns the slots of the calls that have expired, sorted.
    fn expired_at(deadlines: &mut Deadlines, now: u64) -> Vec<u32> {
        deadlines.advance(now);
        let mut slots: Vec<u32> = core::iter::from_fn(|| deadlines.pop_expired()).collect();
        deadlines.recompute_next();
        slots.sort_unstable();
        slots
    }

    #[test]
    fn a_timeout_starts_at_the_first_reading_after_its_call() {
        let mut deadlines = Deadlines::new(0, 1_000);
        assert_eq!(expired_at(&mut deadlines, 1_000), [0_u32; 0]);
        deadlines.insert(0, 50);
        assert_eq!(deadlines.next(), Some(1_000));
        assert_eq!(expired_at(&mut deadlines, 1_020), [0_u32; 0]);
        assert_eq!(deadlines.next(), Some(1_070));
        assert_eq!(expired_at(&mut deadlines, 1_069), [0_u32; 0]);
        assert_eq!(expired_at(&mut deadlines, 1_070), [0]);
        assert_eq!(deadlines.next(), None);
    }

    #[test]
    fn with_a_grain_a_later_call_requires_no_earlier_reading_and_no_call_ends_early() {
        let mut deadlines = Deadlines::new(16, 1_000);
        deadlines.insert(0, 1_600);
        assert_eq!(deadlines.next(), Some(100));
        assert_eq!(expired_at(&mut deadlines, 100), [0_u32; 0]);
        deadlines.insert(1, 1_600);
        assert_eq!(deadlines.next(), Some(200), "a second call must not require an earlier reading");
        assert_eq!(expired_at(&mut deadlines, 200), [0_u32; 0]);
        assert_eq!(expired_at(&mut deadlines, 1_700), [0]);
        assert_eq!(expired_at(&mut deadlines, 1_799), [0_u32; 0]);
        assert_eq!(expired_at(&mut deadlines, 1_800), [1]);
    }

    #[test]
    fn a_shorter_timeout_requires_an_earlier_reading() {
        let mut deadlines = Deadlines::new(16, 1_000);
        deadlines.insert(0, 1_600);
        deadlines.insert(1, 160);
        assert_eq!(deadlines.next(), Some(10));
        deadlines.insert(2, 1);
        assert_eq!(deadlines.next(), Some(1));
    }

    #[test]
    fn with_a_long_timeout_a_reading_is_due_every_second() {
        let mut deadlines = Deadlines::new(16, 1_000);
        deadlines.insert(0, 3_600_000);
        assert_eq!(deadlines.next(), Some(1_000));
        assert_eq!(expired_at(&mut deadlines, 1_000), [0_u32; 0]);
        assert_eq!(deadlines.next(), Some(2_000));
        deadlines.remove(0);
        assert_eq!(expired_at(&mut deadlines, 2_000), [0_u32; 0]);
        assert_eq!(deadlines.next(), None);
    }

    #[test]
    fn the_maximum_clock_delay_bounds_the_delay_of_a_long_timeout() {
        let mut deadlines = Deadlines::new(16, 5_000);
        deadlines.insert(0, 3_600_000);
        assert_eq!(deadlines.next(), Some(5_000));
        deadlines.insert(1, 16_000);
        assert_eq!(deadlines.next(), Some(1_000));
    }

    #[test]
    fn the_removal_of_a_call_does_not_affect_the_other_calls_of_its_queue() {
        for removed in 0..4 {
            for is_stamped in [false, true] {
                let mut deadlines = Deadlines::new(0, 1_000);
                for slot in 0..4 {
                    deadlines.insert(slot, 10);
                }
                if is_stamped {
                    assert_eq!(expired_at(&mut deadlines, 1), [0_u32; 0]);
                }
                deadlines.remove(removed);
                deadlines.remove(removed);
                assert_eq!(expired_at(&mut deadlines, 1), [0_u32; 0]);
                let rest: Vec<u32> = (0..4).filter(|&slot| slot != removed).collect();
                assert_eq!(expired_at(&mut deadlines, 11), rest);
                assert_eq!(deadlines.next(), None);
            }
        }
    }

    #[test]
    fn a_slot_can_be_reused_with_another_timeout() {
        let mut deadlines = Deadlines::new(0, 1_000);
        deadlines.insert(0, 10);
        deadlines.insert(1, 10);
        deadlines.remove(0);
        deadlines.insert(0, 5);
        assert_eq!(expired_at(&mut deadlines, 0), [0_u32; 0]);
        assert_eq!(expired_at(&mut deadlines, 5), [0]);
        deadlines.insert(0, 10);
        assert_eq!(expired_at(&mut deadlines, 10), [1]);
        assert_eq!(expired_at(&mut deadlines, 20), [0]);
    }

    #[test]
    fn a_restarted_timeout_moves_to_the_end_of_its_queue() {
        let mut deadlines = Deadlines::new(0, 1_000);
        for slot in 0..3 {
            deadlines.insert(slot, 10);
        }
        assert_eq!(expired_at(&mut deadlines, 0), [0_u32; 0]);
        deadlines.remove(0);
        deadlines.insert(0, 10);
        assert_eq!(deadlines.next(), Some(0), "the timeout must start at the next reading");
        assert_eq!(expired_at(&mut deadlines, 6), [0_u32; 0]);
        assert_eq!(expired_at(&mut deadlines, 10), [1, 2]);
        assert_eq!(expired_at(&mut deadlines, 15), [0_u32; 0]);
        assert_eq!(expired_at(&mut deadlines, 16), [0]);
    }

    #[test]
    fn repeated_restarts_do_not_extend_a_timeout_beyond_its_latest_end() {
        let mut deadlines = Deadlines::new(0, 1_000);
        deadlines.insert(0, 10);
        for now in [100, 108, 116, 124] {
            assert_eq!(expired_at(&mut deadlines, now), [0_u32; 0]);
            deadlines.restart(0, Some(10), 125 - now);
        }
        assert_eq!(expired_at(&mut deadlines, 124), [0_u32; 0]);
        assert_eq!(deadlines.next(), Some(125));
        deadlines.restart(0, None, 1);
        assert_eq!(expired_at(&mut deadlines, 124), [0_u32; 0]);
        assert_eq!(expired_at(&mut deadlines, 125), [0]);
        deadlines.insert(0, 10);
        deadlines.restart(0, Some(10), 0);
        assert_eq!(expired_at(&mut deadlines, 125), [0], "a call without remaining time must expire at once");
        deadlines.insert(0, 10);
        deadlines.restart(0, None, u64::MAX);
        assert_eq!((expired_at(&mut deadlines, 1_000), deadlines.next()), (Vec::new(), None));
    }

    #[test]
    fn many_distinct_timeouts_each_end_in_time() {
        let mut deadlines = Deadlines::new(0, 1_000);
        for slot in 0..1_000_u32 {
            deadlines.insert(slot, u64::from(slot * 7919 % 1_000));
        }
        assert_eq!(expired_at(&mut deadlines, 0), [0]);
        let mut ended = 1;
        for now in 1..1_000 {
            ended += expired_at(&mut deadlines, now).len();
            assert_eq!(ended as u64, now + 1);
        }
        assert_eq!(deadlines.next(), None);
        deadlines.insert(0, 12_345);
        assert_eq!(deadlines.queues.len(), 1_000, "an empty queue must be reused");
    }

    #[test]
    fn the_longest_timeout_does_not_overflow() {
        let mut deadlines = Deadlines::new(16, 1_000);
        deadlines.insert(0, u64::MAX);
        assert_eq!(expired_at(&mut deadlines, 5), [0_u32; 0]);
        assert!(deadlines.next().is_some());
    }

    #[test]
    fn a_clock_that_goes_back_ends_no_call_early() {
        let mut deadlines = Deadlines::new(0, 1_000);
        assert_eq!(expired_at(&mut deadlines, 100), [0_u32; 0]);
        deadlines.insert(0, 10);
        assert_eq!(expired_at(&mut deadlines, 50), [0_u32; 0]);
        assert_eq!(expired_at(&mut deadlines, 109), [0_u32; 0]);
        assert_eq!(expired_at(&mut deadlines, 110), [0]);
    }
}
