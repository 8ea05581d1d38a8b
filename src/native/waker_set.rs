//! The wakers of futures that wait for the same event. The waker of a dropped future is removed.

use core::mem;
use core::task::Waker;

use slab::Slab;

/// The wakers of waiting futures.
///
/// Each set is in a mutex. Wake or drop the returned wakers only after this mutex is unlocked, because the drop of a
/// waker may drop a future.
#[derive(Debug, Default)]
pub(super) struct WakerSet {
    wakers: Slab<Waker>,
    /// The number of times that [`WakerSet::take`] has removed all wakers.
    round: u64,
}

/// The key of a waker: the value of `round` at the registration, and the index in the set. `None` before the
/// registration.
#[derive(Debug, Default)]
pub(super) struct WakerKey(Option<(u64, usize)>);

impl WakerKey {
    /// Returns whether the future has registered a waker.
    pub(super) const fn is_registered(&self) -> bool {
        self.0.is_some()
    }
}

impl WakerSet {
    /// Registers the waker of a future. Returns the replaced waker of the same future, or `None`.
    #[must_use = "the waker must be dropped after the lock is released"]
    pub(super) fn register(&mut self, key: &mut WakerKey, waker: &Waker) -> Option<Waker> {
        if let Some(known) = self.index(key).and_then(|index| self.wakers.get_mut(index)) {
            return (!known.will_wake(waker)).then(|| mem::replace(known, waker.clone()));
        }
        key.0 = Some((self.round, self.wakers.insert(waker.clone())));
        None
    }

    /// Removes the waker of a future, and returns it.
    #[must_use = "the waker must be dropped after the lock is released"]
    pub(super) fn remove(&mut self, key: &WakerKey) -> Option<Waker> {
        self.wakers.try_remove(self.index(key)?)
    }

    /// Removes all wakers, and returns them. A future that continues to wait registers its waker again.
    #[must_use = "the wakers must be woken"]
    pub(super) fn take(&mut self) -> Vec<Waker> {
        if self.wakers.is_empty() {
            return Vec::new();
        }
        self.round += 1;
        mem::take(&mut self.wakers).into_iter().map(|(_, waker)| waker).collect()
    }

    /// Returns the index of the waker of a future, or `None` after [`WakerSet::take`] has removed the waker.
    fn index(&self, key: &WakerKey) -> Option<usize> {
        key.0.filter(|(round, _)| *round == self.round).map(|(_, index)| index)
    }
}
