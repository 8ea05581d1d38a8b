//! Futures that wait for one thing, by their wakers: one that is dropped leaves nothing behind.

use core::mem;
use core::task::Waker;
use std::vec::Vec;

use slab::Slab;

/// The wakers of those that wait.
///
/// What it gives back is to be woken or dropped when nothing is locked: with a waker the future behind it may be dropped.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    wakers: Slab<Waker>,
    /// How often all were woken.
    round: u64,
}

/// The place of one future among them. It is left when the future is dropped.
#[derive(Debug, Default)]
pub(super) struct Place(Option<(u64, usize)>);

impl Place {
    /// Whether the future has waited at all.
    pub(super) const fn is_taken(&self) -> bool {
        self.0.is_some()
    }
}

impl Waiters {
    /// Has a future wait. Gives the waker that it left before.
    #[must_use = "a waker is dropped when nothing is locked"]
    pub(super) fn wait(&mut self, place: &mut Place, waker: &Waker) -> Option<Waker> {
        if let Some(known) = self.key(place).and_then(|key| self.wakers.get_mut(key)) {
            return (!known.will_wake(waker)).then(|| mem::replace(known, waker.clone()));
        }
        place.0 = Some((self.round, self.wakers.insert(waker.clone())));
        None
    }

    /// A future waits no more. Gives the waker that it left.
    #[must_use = "a waker is dropped when nothing is locked"]
    pub(super) fn leave(&mut self, place: &Place) -> Option<Waker> {
        self.wakers.try_remove(self.key(place)?)
    }

    /// The wakers of all that wait. Who waits on is to leave its waker again.
    #[must_use = "who waits is to be woken"]
    pub(super) fn take(&mut self) -> Vec<Waker> {
        if self.wakers.is_empty() {
            return Vec::new();
        }
        self.round += 1;
        mem::take(&mut self.wakers).into_iter().map(|(_, waker)| waker).collect()
    }

    /// Where the waker of a future is, if it was not woken.
    fn key(&self, place: &Place) -> Option<usize> {
        place.0.filter(|(round, _)| *round == self.round).map(|(_, key)| key)
    }
}
