//! Figures for each method, in bounded memory.

use alloc::collections::BTreeMap;

use super::durations::Durations;
use super::methods::{MethodId, Methods};
use crate::limits::MAX_METHODS;

/// The figures of a method.
#[derive(Clone, Debug, Default)]
pub struct MethodFigures {
    /// The number of calls.
    pub calls: u64,
    /// The number of notifications.
    pub notifications: u64,
    /// The number of calls that ended with an error.
    pub errors: u64,
    /// The number of calls that are pending.
    pub pending: u64,
    /// The number of calls that the close of a link ended.
    pub ended: u64,
    /// The bytes of single requests, notifications and responses.
    pub bytes: u64,
    /// The durations of answered calls.
    pub durations: Durations,
}

impl MethodFigures {
    /// Adds the bytes of a message. Records may have any size, so the sum could exceed the range.
    pub const fn add_bytes(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Adds the figures of another method.
    pub fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.notifications += other.notifications;
        self.errors += other.errors;
        self.pending += other.pending;
        self.ended += other.ended;
        self.add_bytes(other.bytes);
        self.durations.merge(&other.durations);
    }
}

/// The figures of all methods, by link and method. There are at most [`MAX_METHODS`] pairs of a link and a method. All
/// further methods of a link share the figures of [`MethodId::NONE`].
#[derive(Debug, Default)]
pub struct Statistics {
    figures: BTreeMap<(u32, MethodId), MethodFigures>,
}

impl Statistics {
    /// Returns the figures of a method on a link. Adds a reference to the method if the figures are new.
    pub fn of(&mut self, link: u32, method: MethodId, methods: &mut Methods) -> &mut MethodFigures {
        let key = (link, method);
        let key = if self.figures.contains_key(&key) {
            key
        } else if self.figures.len() < MAX_METHODS {
            methods.retain(method);
            key
        } else {
            (link, MethodId::NONE)
        };
        self.figures.entry(key).or_default()
    }

    /// Iterates over the figures of each link and method.
    pub fn iter(&self) -> impl Iterator<Item = (u32, MethodId, &MethodFigures)> {
        self.figures.iter().map(|((link, method), figures)| (*link, *method, figures))
    }

    /// Removes all figures.
    pub fn clear(&mut self, methods: &mut Methods) {
        for (_, method) in core::mem::take(&mut self.figures).into_keys() {
            methods.release(method);
        }
    }
}
