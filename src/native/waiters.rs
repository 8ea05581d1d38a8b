//! The wakers of futures that wait for the same event. The waker of a dropped future is removed.

use core::mem;
use core::task::Waker;
use std::vec::Vec;

use slab::Slab;

/// The wakers of waiting futures.
///
/// Wake or drop the returned wakers only after the lock is released, since dropping a waker may drop a future.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    wakers: Slab<Waker>,
    /// How often all were woken.
    round: u64,
}

/// The key of one future's waker.
#[derive(Debug, Default)]
pub(super) struct Place(Option<(u64, usize)>);

impl Place {
    /// Whether the future has waited at all.
    pub(super) const fn is_taken(&self) -> bool {
        self.0.is_some()
    }
}

impl Waiters {
    /// Registers a future's waker. Returns the one that it replaces.
    #[must_use = "a waker is dropped when nothing is locked"]
    pub(super) fn wait(&mut self, place: &mut Place, waker: &Waker) -> Option<Waker> {
        if let Some(known) = self.key(place).and_then(|key| self.wakers.get_mut(key)) {
            return (!known.will_wake(waker)).then(|| mem::replace(known, waker.clone()));
        }
        place.0 = Some((self.round, self.wakers.insert(waker.clone())));
        None
    }

    /// Removes a future's waker and returns it.
    #[must_use = "a waker is dropped when nothing is locked"]
    pub(super) fn leave(&mut self, place: &Place) -> Option<Waker> {
        self.wakers.try_remove(self.key(place)?)
    }

    /// Removes all wakers and returns them. A future that goes on waiting registers again.
    #[must_use = "the wakers must be woken"]
    pub(super) fn take(&mut self) -> Vec<Waker> {
        if self.wakers.is_empty() {
            return Vec::new();
        }
        self.round += 1;
        mem::take(&mut self.wakers).into_iter().map(|(_, waker)| waker).collect()
    }

    /// The index of a future's waker, if it was not woken.
    fn key(&self, place: &Place) -> Option<usize> {
        place.0.filter(|(round, _)| *round == self.round).map(|(_, key)| key)
    }
}
