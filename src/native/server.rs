//! The server: runs handlers for what the other side asks.

use core::fmt;
use core::pin::Pin;
use core::task::{Context as TaskContext, Poll};
use std::boxed::Box;
use std::future::Future;
use std::sync::Arc;

use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Text;
use super::context::Context;
use super::diagnostic::Diagnostic;
use super::error::Closed;
use super::handlers::{Answer, Method};
use super::link::Link;
use super::outflow::Source;
use super::transport::Transport;
use crate::text::{RpcError, invalid_params, read_params, write_result};

/// Serves the other side.
///
/// Methods and notifications are registered by name; a name that is registered again gets the new handler. Methods that
/// nobody has registered are answered with -32601, and params that do not fit the type of a handler with -32602. A handler
/// that panics is answered with -32603, and the server lives on.
///
/// Nothing is read before [`Server::run`] or [`Server::forget`], so that the first request finds all methods.
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
#[must_use = "a server serves when it is run"]
pub struct Server {
    link: Arc<Link>,
}

impl Server {
    /// A server without methods.
    pub fn new(transport: Transport) -> Self {
        Self::on(transport.open(true))
    }

    pub(super) const fn on(link: Arc<Link>) -> Self {
        Self { link }
    }

    /// Has a handler for a method. The handler is run at once, in the order in which requests arrive, and so is its future up
    /// to where it first waits; the rest runs as a task of its own, beside others. It is dropped if the caller cancels the
    /// request. Like all that runs in tasks it must not block: for that there is `tokio::task::spawn_blocking`.
    pub fn method<P, R, E, F, W>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, E>> + Send + 'static,
    {
        let handler = move |params: Option<&RawValue>, context| match read_params(params) {
            Err(problem) => Answer::Now(Err(invalid_params(&problem))),
            Ok(params) => {
                let work = handler(params, context);
                Answer::Later(Box::pin(async move { write_result(work.await) }))
            }
        };
        self.add_method(name, Arc::new(handler))
    }

    /// Has a handler that answers at once.
    pub fn method_sync<P, R, E, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> Result<R, E> + Send + Sync + 'static,
    {
        let handler = move |params: Option<&RawValue>, context| match read_params(params) {
            Err(problem) => Answer::Now(Err(invalid_params(&problem))),
            Ok(params) => Answer::Now(write_result(handler(params, context))),
        };
        self.add_method(name, Arc::new(handler))
    }

    /// Has a handler whose answer is a stream: the caller gets its items one by one, by [`Client::stream`](crate::Client::stream),
    /// and no more of them than it has room for. An error is the last of them.
    pub fn stream_method<P, T, E, F, S>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        T: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> S + Send + Sync + 'static,
        S: Stream<Item = Result<T, E>> + Send + 'static,
    {
        let handler = move |params: Option<&RawValue>, context| -> Result<Source, RpcError> {
            let params = read_params(params).map_err(|problem| invalid_params(&problem))?;
            Ok(Box::pin(Written(Box::pin(handler(params, context)))))
        };
        if self.may_register(name) {
            self.link.handlers.add_stream(name, Arc::new(handler));
        }
        self
    }

    /// Has a handler for a notification. Notifications are handled in the order in which they arrive. One whose params do
    /// not fit the type is told to [`Transport::on_diagnostic`].
    pub fn on_notify<P, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        F: Fn(P, Context) + Send + Sync + 'static,
    {
        let handler =
            move |params: Option<&RawValue>, context| read_params(params).map(|params| handler(params, context));
        if self.may_register(name) {
            self.link.handlers.add_notification(name, Arc::new(handler));
        }
        self
    }

    /// Serves until the link ends, and says why it has. At the end of the input, requests that are being worked on are
    /// finished, within the grace of the transport.
    pub async fn run(self) -> Closed {
        match self.link.take_idle() {
            Some(driver) => driver.await,
            None => self.link.closed().await,
        }
    }

    /// Serves for as long as the link lasts, in a task of the runtime that the transport was made in.
    pub fn forget(self) {
        self.keep(());
    }

    /// The same, and keeps something else as long.
    pub(super) fn keep(self, other: impl Send + 'static) {
        let runtime = self.link.runtime.clone();
        runtime.spawn(async move {
            self.run().await;
            drop(other);
        });
    }

    /// Something that can stop the server while it runs.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.link))
    }

    fn add_method(&self, name: &str, handler: Arc<Method>) -> &Self {
        if self.may_register(name) {
            self.link.handlers.add_method(name, handler);
        }
        self
    }

    /// Names that begin with `rpc.` are the protocol's own (JSON-RPC 2.0 §4).
    fn may_register(&self, name: &str) -> bool {
        let may = !name.starts_with("rpc.");
        if !may {
            self.link.listener.tell(Diagnostic::ReservedName { method: name });
        }
        may
    }
}

/// A stream, with its items as JSON text.
struct Written<S>(Pin<Box<S>>);

impl<T: Serialize, E: Into<RpcError>, S: Stream<Item = Result<T, E>>> Stream for Written<S> {
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

/// Stops a server while it runs, see [`Server::stopper`].
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Link>);

impl Stopper {
    /// Has the server read nothing more and begin no further request. What runs is finished and answered, within the grace of
    /// the transport; then [`Server::run`] ends with [`Closed::Local`].
    pub fn stop(&self) {
        self.0.stop();
    }
}
