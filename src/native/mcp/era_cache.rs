//! The eras of HTTP servers, by origin.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Era;
use crate::native::limits::MAX_MCP_ORIGINS;

/// The eras of the HTTP servers to which an application has connected, by origin: scheme, host and port. With
/// [`Options::era_cache`](super::Options::era_cache), a further connection to an origin does not detect the era again.
/// If the server then refuses this era, the era is detected, and the cache is corrected. All clones share one cache.
#[derive(Clone, Debug, Default)]
pub struct EraCache(Arc<Mutex<BTreeMap<String, Era>>>);

impl EraCache {
    /// Creates an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn get(&self, origin: &str) -> Option<Era> {
        self.lock().get(origin).copied()
    }

    pub(super) fn insert(&self, origin: String, era: Era) {
        let mut eras = self.lock();
        eras.insert(origin, era);
        if eras.len() > MAX_MCP_ORIGINS {
            eras.pop_first();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Era>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_origins_is_limited() {
        let cache = EraCache::new();
        for number in 0..=MAX_MCP_ORIGINS {
            cache.insert(format!("http://host:{number:05}"), Era::Legacy);
        }
        assert_eq!(cache.lock().len(), MAX_MCP_ORIGINS);
        assert_eq!(cache.get("http://host:00000"), None);
        assert_eq!(cache.get("http://host:00001"), Some(Era::Legacy));
    }
}
