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
#[cfg(feature = "mcp-http")]
use crate::method_name::is_reserved;

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

/// The handler of a notification. The handler returns an error if the params are not of its type. The error is the
/// reason.
pub(super) type NotificationHandler = dyn Fn(Option<&RawValue>, Context) -> Result<(), String> + Send + Sync;

/// A registered handler, and its name.
pub(super) type Registered<H> = (Arc<str>, Arc<H>);

type HandlerMap<H> = RwLock<BTreeMap<Arc<str>, Arc<H>>>;

#[derive(Default)]
pub(super) struct Handlers {
    methods: HandlerMap<MethodHandler>,
    streams: HandlerMap<StreamHandler>,
    notifications: HandlerMap<NotificationHandler>,
    #[cfg(feature = "mcp-http")]
    fallback: RwLock<Option<Fallback>>,
}

/// The handlers of all requests and notifications whose methods have no handler of their own.
#[cfg(feature = "mcp-http")]
#[derive(Clone)]
pub(super) struct Fallback {
    /// `None` if requests without a handler of their own are answered with -32601.
    pub(super) method: Option<Arc<MethodHandler>>,
    pub(super) notification: Arc<NotificationHandler>,
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

    #[cfg(feature = "mcp-http")]
    pub(super) fn set_fallback(&self, fallback: Fallback) {
        let replaced = self.fallback.write().unwrap_or_else(PoisonError::into_inner).replace(fallback);
        drop(replaced);
    }

    pub(super) fn method(&self, name: &str) -> Option<Registered<MethodHandler>> {
        let found = get(&self.methods, name);
        #[cfg(feature = "mcp-http")]
        let found = found.or_else(|| Some((name.into(), self.fallback(name)?.method?)));
        found
    }

    pub(super) fn stream(&self, name: &str) -> Option<Registered<StreamHandler>> {
        get(&self.streams, name)
    }

    pub(super) fn notification(&self, name: &str) -> Option<Registered<NotificationHandler>> {
        let found = get(&self.notifications, name);
        #[cfg(feature = "mcp-http")]
        let found = found.or_else(|| Some((name.into(), self.fallback(name)?.notification)));
        found
    }

    /// Returns the fallback for this name. Returns `None` if no fallback is set, or if the name is reserved for the
    /// protocol.
    #[cfg(feature = "mcp-http")]
    fn fallback(&self, name: &str) -> Option<Fallback> {
        let fallback = self.fallback.read().unwrap_or_else(PoisonError::into_inner).clone();
        fallback.filter(|_| !is_reserved(name))
    }

    /// Drops all handlers and the values that they own.
    pub(super) fn clear(&self) {
        drop((drain(&self.methods), drain(&self.streams), drain(&self.notifications)));
        #[cfg(feature = "mcp-http")]
        {
            let fallback = self.fallback.write().unwrap_or_else(PoisonError::into_inner).take();
            drop(fallback);
        }
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
