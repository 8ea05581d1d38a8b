//! The identity of the peer of a link.

use core::any::Any;
use core::fmt;
use std::sync::Arc;

use super::link::Link;

/// A value of the application that describes the peer.
#[derive(Clone)]
pub(super) struct Identity(pub(super) Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

impl Link {
    /// Returns the identity of the peer, if the identity has the type `T`.
    pub(super) fn identity<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.identity.as_ref()?.0).downcast().ok()
    }
}
