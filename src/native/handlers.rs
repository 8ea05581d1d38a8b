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
use super::error::RpcError;

/// What a handler gives.
pub(super) enum Answer {
    Now(Result<Text, RpcError>),
    Later(HandlerFuture),
}

/// A handler at work.
pub(super) type HandlerFuture = Pin<Box<dyn Future<Output = Result<Text, RpcError>> + Send>>;

pub(super) type Method = dyn Fn(Option<&RawValue>, Context) -> Answer + Send + Sync;
/// The error is what does not fit in the params.
pub(super) type Notified = dyn Fn(Option<&RawValue>, Context) -> Result<(), String> + Send + Sync;

#[derive(Default)]
pub(super) struct Handlers {
    methods: RwLock<HashMap<Box<str>, Arc<Method>>>,
    notifications: RwLock<HashMap<Box<str>, Arc<Notified>>>,
}

impl Handlers {
    pub(super) fn add_method(&self, name: &str, handler: Arc<Method>) {
        put(&self.methods, name, handler);
    }

    pub(super) fn add_notification(&self, name: &str, handler: Arc<Notified>) {
        put(&self.notifications, name, handler);
    }

    pub(super) fn method(&self, name: &str) -> Option<Arc<Method>> {
        find(&self.methods, name)
    }

    pub(super) fn notification(&self, name: &str) -> Option<Arc<Notified>> {
        find(&self.notifications, name)
    }

    /// Lets go of all, and of what they own.
    pub(super) fn clear(&self) {
        let methods = std::mem::take(&mut *self.methods.write().unwrap_or_else(PoisonError::into_inner));
        let notifications = std::mem::take(&mut *self.notifications.write().unwrap_or_else(PoisonError::into_inner));
        drop((methods, notifications));
    }
}

fn put<H: ?Sized>(handlers: &RwLock<HashMap<Box<str>, Arc<H>>>, name: &str, handler: Arc<H>) {
    let replaced = handlers.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), handler);
    // A handler may own anything; it is dropped when nothing is locked.
    drop(replaced);
}

fn find<H: ?Sized>(handlers: &RwLock<HashMap<Box<str>, Arc<H>>>, name: &str) -> Option<Arc<H>> {
    handlers.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").finish_non_exhaustive()
    }
}
