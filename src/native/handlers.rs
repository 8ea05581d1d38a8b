//! What a server does: handlers by name.

use core::fmt;
use core::pin::Pin;
use std::boxed::Box;
use std::collections::HashMap;
use std::future::Future;
use std::string::String;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::value::RawValue;

use super::Text;
use super::context::Context;
use super::outflow::Source;
use crate::text::RpcError;

/// What a handler gives.
pub(super) enum Answer {
    Now(Result<Text, RpcError>),
    Later(HandlerFuture),
}

/// A handler at work.
pub(super) type HandlerFuture = Pin<Box<dyn Future<Output = Result<Text, RpcError>> + Send>>;

/// What gives the items of a stream.
pub(super) type StreamMethod = dyn Fn(Option<&RawValue>, Context) -> Result<Source, RpcError> + Send + Sync;
pub(super) type Method = dyn Fn(Option<&RawValue>, Context) -> Answer + Send + Sync;
/// The error is what does not fit in the params.
pub(super) type Notified = dyn Fn(Option<&RawValue>, Context) -> Result<(), String> + Send + Sync;

#[derive(Default)]
pub(super) struct Handlers {
    methods: RwLock<HashMap<Box<str>, Arc<Method>>>,
    streams: RwLock<HashMap<Box<str>, Arc<StreamMethod>>>,
    notifications: RwLock<HashMap<Box<str>, Arc<Notified>>>,
}

impl Handlers {
    pub(super) fn add_method(&self, name: &str, handler: Arc<Method>) {
        put(&self.methods, name, handler);
    }

    pub(super) fn add_stream(&self, name: &str, handler: Arc<StreamMethod>) {
        put(&self.streams, name, handler);
    }

    pub(super) fn add_notification(&self, name: &str, handler: Arc<Notified>) {
        put(&self.notifications, name, handler);
    }

    pub(super) fn method(&self, name: &str) -> Option<Arc<Method>> {
        find(&self.methods, name)
    }

    pub(super) fn stream(&self, name: &str) -> Option<Arc<StreamMethod>> {
        find(&self.streams, name)
    }

    pub(super) fn notification(&self, name: &str) -> Option<Arc<Notified>> {
        find(&self.notifications, name)
    }

    /// Lets go of all, and of what they own.
    pub(super) fn clear(&self) {
        drop((take(&self.methods), take(&self.streams), take(&self.notifications)));
    }
}

fn put<H: ?Sized>(handlers: &RwLock<HashMap<Box<str>, Arc<H>>>, name: &str, handler: Arc<H>) {
    let replaced = handlers.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), handler);
    // A handler may own anything; it is dropped when nothing is locked.
    drop(replaced);
}

/// All handlers, to be dropped when nothing is locked.
fn take<H: ?Sized>(handlers: &RwLock<HashMap<Box<str>, Arc<H>>>) -> HashMap<Box<str>, Arc<H>> {
    std::mem::take(&mut *handlers.write().unwrap_or_else(PoisonError::into_inner))
}

fn find<H: ?Sized>(handlers: &RwLock<HashMap<Box<str>, Arc<H>>>, name: &str) -> Option<Arc<H>> {
    handlers.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").finish_non_exhaustive()
    }
}
