//! The wakers of futures that wait for the same event. The waker of a dropped future is removed.

use core::mem;
use core::task::Waker;

use slab::Slab;

/// The wakers of waiting futures.
///
/// Wake or drop the returned wakers only after the lock is released, since dropping a waker may drop a future.
#[derive(Debug, Default)]
pub(super) struct WakerSet {
    wakers: Slab<Waker>,
    /// The number of times that [`WakerSet::take`] has removed all wakers.
    round: u64,
}

/// The key of one future's waker: the round of the registration, and the index in the set.
#[derive(Debug, Default)]
pub(super) struct WakerKey(Option<(u64, usize)>);

impl WakerKey {
    /// Returns whether the future has registered a waker.
    pub(super) const fn is_registered(&self) -> bool {
        self.0.is_some()
    }
}

impl WakerSet {
    /// Registers a future's waker. Returns the one that it replaces.
    #[must_use = "a waker is dropped when nothing is locked"]
    pub(super) fn register(&mut self, key: &mut WakerKey, waker: &Waker) -> Option<Waker> {
        if let Some(known) = self.index(key).and_then(|index| self.wakers.get_mut(index)) {
            return (!known.will_wake(waker)).then(|| mem::replace(known, waker.clone()));
        }
        key.0 = Some((self.round, self.wakers.insert(waker.clone())));
        None
    }

    /// Removes a future's waker and returns it.
    #[must_use = "a waker is dropped when nothing is locked"]
    pub(super) fn remove(&mut self, key: &WakerKey) -> Option<Waker> {
        self.wakers.try_remove(self.index(key)?)
    }

    /// Removes all wakers and returns them. A future that continues to wait registers again.
    #[must_use = "the wakers must be woken"]
    pub(super) fn take(&mut self) -> Vec<Waker> {
        if self.wakers.is_empty() {
            return Vec::new();
        }
        self.round += 1;
        mem::take(&mut self.wakers).into_iter().map(|(_, waker)| waker).collect()
    }

    /// Returns the index of a future's waker, if it was not removed by [`WakerSet::take`].
    fn index(&self, key: &WakerKey) -> Option<usize> {
        key.0.filter(|(round, _)| *round == self.round).map(|(_, index)| index)
    }
}
