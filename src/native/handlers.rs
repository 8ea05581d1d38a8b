//! The registered handlers, by name.

use core::fmt;
use core::pin::Pin;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::value::RawValue;

use super::Text;
use super::context::Context;
use super::stream_sender::ItemSource;
use crate::error::RpcError;

/// The return value of a handler: the outcome, or a future of the outcome.
pub(super) enum HandlerOutcome {
    Ready(Result<Text, RpcError>),
    Pending(HandlerFuture),
}

/// The future of a running handler.
pub(super) type HandlerFuture = Pin<Box<dyn Future<Output = Result<Text, RpcError>> + Send>>;

/// The handler of a method that returns a stream.
pub(super) type StreamHandler = dyn Fn(Option<&RawValue>, Context) -> Result<ItemSource, RpcError> + Send + Sync;

/// The handler of a method.
pub(super) type MethodHandler = dyn Fn(Option<&RawValue>, Context) -> HandlerOutcome + Send + Sync;

/// The handler of a notification. Its error is the reason why the params are not of the handler's type.
pub(super) type NotificationHandler = dyn Fn(Option<&RawValue>, Context) -> Result<(), String> + Send + Sync;

/// A registered handler, and its name.
pub(super) type Registered<H> = (Arc<str>, Arc<H>);

type HandlerMap<H> = RwLock<BTreeMap<Arc<str>, Arc<H>>>;

#[derive(Default)]
pub(super) struct Handlers {
    methods: HandlerMap<MethodHandler>,
    streams: HandlerMap<StreamHandler>,
    notifications: HandlerMap<NotificationHandler>,
}

impl Handlers {
    pub(super) fn add_method(&self, name: &str, handler: Arc<MethodHandler>) {
        insert(&self.methods, name, handler);
    }

    pub(super) fn add_stream(&self, name: &str, handler: Arc<StreamHandler>) {
        insert(&self.streams, name, handler);
    }

    pub(super) fn add_notification(&self, name: &str, handler: Arc<NotificationHandler>) {
        insert(&self.notifications, name, handler);
    }

    pub(super) fn method(&self, name: &str) -> Option<Registered<MethodHandler>> {
        get(&self.methods, name)
    }

    pub(super) fn stream(&self, name: &str) -> Option<Registered<StreamHandler>> {
        get(&self.streams, name)
    }

    pub(super) fn notification(&self, name: &str) -> Option<Registered<NotificationHandler>> {
        get(&self.notifications, name)
    }

    /// Drops all handlers and the values that they own.
    pub(super) fn clear(&self) {
        drop((drain(&self.methods), drain(&self.streams), drain(&self.notifications)));
    }
}

fn insert<H: ?Sized>(handlers: &HandlerMap<H>, name: &str, handler: Arc<H>) {
    let replaced = handlers.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), handler);
    // A handler may own values of the application, so it is dropped outside of the lock.
    drop(replaced);
}

/// Removes all handlers. The caller drops them outside of the lock.
fn drain<H: ?Sized>(handlers: &HandlerMap<H>) -> BTreeMap<Arc<str>, Arc<H>> {
    std::mem::take(&mut *handlers.write().unwrap_or_else(PoisonError::into_inner))
}

fn get<H: ?Sized>(handlers: &HandlerMap<H>, name: &str) -> Option<Registered<H>> {
    let handlers = handlers.read().unwrap_or_else(PoisonError::into_inner);
    handlers.get_key_value(name).map(|(name, handler)| (Arc::clone(name), Arc::clone(handler)))
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").finish_non_exhaustive()
    }
}
