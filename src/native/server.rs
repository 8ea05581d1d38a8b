//! The server. It runs handlers for requests and notifications from the peer.

use core::fmt;
use core::pin::Pin;
use core::task::{Context as TaskContext, Poll};
use std::future::Future;
use std::sync::Arc;

use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Text;
use super::context::Context;
use super::diagnostic::Diagnostic;
#[cfg(feature = "mcp-http")]
use super::handlers::Fallback;
use super::handlers::{HandlerOutcome, MethodHandler, NotificationHandler};
use super::link::Link;
use super::stream_sender::ItemSource;
use super::transport::Transport;
use crate::error::Closed;
use crate::error::{RpcError, invalid_params};
use crate::json_value::{read_params, write_result};
use crate::method_name::is_reserved;

/// Handles the requests and notifications from the peer.
///
/// Handlers are registered by name. A second registration of a name replaces the handler. A request of an unknown
/// method is answered with the error -32601. A request with params that are not of the handler's type is answered with
/// the error -32602. If a handler panics, its request is answered with the error -32603, and the server continues.
///
/// Reading starts with [`Server::run`] or [`Server::forget`], so that all methods are registered before the first
/// request.
///
/// ```no_run
/// use portway::{Context, Framing, RpcError, Server, Transport};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Add { a: u32, b: u32 }
///
/// # async fn run() -> std::io::Result<()> {
/// let server = Server::new(Transport::stdio(Framing::ContentLength)?);
/// server
///     .method("add", |params: Add, _: Context| async move {
///         params.a.checked_add(params.b).ok_or_else(|| RpcError::invalid_params("too large"))
///     })
///     .on_notify("log", |(line,): (String,), _: Context| { /* show it */ });
/// let why = server.run().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "a server handles requests only when it is run"]
pub struct Server {
    link: Arc<Link>,
}

impl Server {
    /// Creates a server without methods.
    pub fn new(transport: Transport) -> Self {
        Self::on(transport.open(true))
    }

    pub(super) const fn on(link: Arc<Link>) -> Self {
        Self { link }
    }

    /// Registers an async handler for a method. Handlers start in the order in which requests arrive. Each future is
    /// polled once before the next handler starts. A pending future continues in a new task. The future is dropped if
    /// the caller cancels the request. Handlers must not block. Use `tokio::task::spawn_blocking` for blocking work.
    pub fn method<P, R, E, F, W>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, E>> + Send + 'static,
    {
        let handler = move |params: Option<&RawValue>, context| match read_params(params) {
            Err(problem) => HandlerOutcome::Ready(Err(invalid_params(&problem))),
            Ok(params) => {
                let work = handler(params, context);
                HandlerOutcome::Pending(Box::pin(async move { write_result(work.await) }))
            }
        };
        self.add_method(name, Arc::new(handler))
    }

    /// Registers a synchronous handler for a method. The response is sent when the handler returns.
    pub fn method_sync<P, R, E, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> Result<R, E> + Send + Sync + 'static,
    {
        let handler = move |params: Option<&RawValue>, context| match read_params(params) {
            Err(problem) => HandlerOutcome::Ready(Err(invalid_params(&problem))),
            Ok(params) => HandlerOutcome::Ready(write_result(handler(params, context))),
        };
        self.add_method(name, Arc::new(handler))
    }

    /// Registers a handler that returns a stream. The caller reads the items with
    /// [`Client::stream`](crate::Client::stream), and limits the number of unread items. An error ends the stream.
    pub fn stream_method<P, T, E, F, S>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        T: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> S + Send + Sync + 'static,
        S: Stream<Item = Result<T, E>> + Send + 'static,
    {
        let handler = move |params: Option<&RawValue>, context| -> Result<ItemSource, RpcError> {
            let params = read_params(params).map_err(|problem| invalid_params(&problem))?;
            Ok(Box::pin(SerializedItems(Box::pin(handler(params, context)))))
        };
        if self.may_register(name) {
            self.link.handlers.add_stream(name, Arc::new(handler));
        }
        self
    }

    /// Registers a handler for a notification. Notifications are handled in the order in which they arrive. A
    /// notification whose params are not of the handler's type is reported to [`Transport::on_diagnostic`].
    pub fn on_notify<P, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        F: Fn(P, Context) + Send + Sync + 'static,
    {
        let handler =
            move |params: Option<&RawValue>, context| read_params(params).map(|params| handler(params, context));
        self.add_notification(name, Arc::new(handler))
    }

    /// Runs the server until the link ends, and returns the reason. After the end of the input, running requests have
    /// the grace of the transport to complete.
    pub async fn run(self) -> Closed {
        match self.link.take_unstarted() {
            Some(driver) => driver.await,
            None => self.link.closed().await,
        }
    }

    /// Runs the server in a task until the link ends. The task runs in the runtime in which the transport was created.
    pub fn forget(self) {
        self.spawn_with(());
    }

    /// Runs the server in a task, and drops `other` when the link has ended.
    pub(super) fn spawn_with(self, other: impl Send + 'static) {
        let runtime = self.link.runtime.clone();
        runtime.spawn(async move {
            self.run().await;
            drop(other);
        });
    }

    /// Returns a handle that can stop the running server.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.link))
    }

    pub(super) fn add_method(&self, name: &str, handler: Arc<MethodHandler>) -> &Self {
        if self.may_register(name) {
            self.link.handlers.add_method(name, handler);
        }
        self
    }

    pub(super) fn add_notification(&self, name: &str, handler: Arc<NotificationHandler>) -> &Self {
        if self.may_register(name) {
            self.link.handlers.add_notification(name, handler);
        }
        self
    }

    /// Registers the handlers for all methods that have no handler of their own.
    #[cfg(feature = "mcp-http")]
    pub(super) fn set_fallback(&self, fallback: Fallback) {
        self.link.handlers.set_fallback(fallback);
    }

    /// Returns whether a handler may have this name.
    fn may_register(&self, name: &str) -> bool {
        let is_allowed = !is_reserved(name);
        if !is_allowed {
            self.link.diagnostics.report(Diagnostic::ReservedName { method: name });
        }
        is_allowed
    }
}

/// A stream that serializes its items to JSON text.
struct SerializedItems<S>(Pin<Box<S>>);

impl<T: Serialize, E: Into<RpcError>, S: Stream<Item = Result<T, E>>> Stream for SerializedItems<S> {
    type Item = Result<Text, RpcError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context).map(|item| item.map(write_result))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.link.destroy();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// Stops a running server, see [`Server::stopper`].
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Link>);

impl Stopper {
    /// Stops reading. No further request begins. Running requests have the grace of the transport to complete, and are
    /// answered. Then [`Server::run`] returns [`Closed::Local`].
    pub fn stop(&self) {
        self.0.stop();
    }
}
