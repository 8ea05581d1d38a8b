//! A client and a server on one transport.

use core::any::Any;
use core::time::Duration;
use std::future::Future;
use std::sync::Arc;

use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;
use super::client::Client;
use super::context::Context;
use super::response_stream::Items;
use super::server::{Server, Stopper};
use super::transport::Transport;
use crate::codec::wipc::FrameType;
use crate::error::RpcError;
use crate::error::{CallError, Closed};

/// A client and a server on one transport. A peer calls methods of the remote peer, and answers the requests of the
/// remote peer.
///
/// Reading starts when the peer first sends a call, a notification or a frame. Reading also starts with [`Peer::run`]
/// and [`Peer::forget`].
///
/// ```
/// use portway::{Context, Peer, RpcError, Transport};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (here, there) = Transport::pair()?;
/// # let editor = Peer::new(there);
/// # editor.method_sync("translate", |(_,): (String,), _: Context| Ok::<_, RpcError>("salut"));
/// // For example, `Transport::unix` or `Transport::stdio` creates a transport.
/// let peer = Peer::new(here);
/// let client = peer.client().clone();
/// peer.method("greet", move |(name,): (String,), _: Context| {
///     let client = client.clone();
///     async move {
///         let greeting: String = client.call("translate", &("hello",)).await?;
///         Ok::<_, RpcError>(format!("{greeting}, {name}"))
///     }
/// });
/// peer.notify("ready", &())?;
/// # let call = tokio::spawn(async move { editor.call::<String>("greet", &("Ada",)).await });
/// let why = peer.run().await;
/// # assert_eq!(call.await?, Ok("salut, Ada".to_owned()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a peer ends when it is dropped"]
pub struct Peer {
    client: Client,
    server: Server,
}

impl Peer {
    /// Creates a peer without methods, whose calls time out after 10 seconds.
    pub fn new(transport: Transport) -> Self {
        Self::from_parts(transport, false)
    }

    /// Creates a peer. If `replies_to_invalid` is true, the peer responds to invalid input, like a server.
    pub(super) fn from_parts(transport: Transport, replies_to_invalid: bool) -> Self {
        let link = transport.open(replies_to_invalid);
        Self { client: Client::on(Arc::clone(&link)), server: Server::on(link) }
    }

    /// Creates a peer that responds to invalid input, and calls `set_up`, which adds the methods. Returns `None` if
    /// `set_up` panics.
    pub(super) fn set_up_on(transport: Transport, set_up: impl Fn(&Self)) -> Option<Self> {
        let peer = Self::from_parts(transport, true);
        let diagnostics = &peer.client.link().diagnostics;
        diagnostics.run_user_code("set_up", || set_up(&peer))?;
        Some(peer)
    }

    /// See [`Client::with_timeout`].
    pub fn with_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { client: self.client.with_timeout(timeout), ..self }
    }

    /// Returns the client. When the peer is dropped, the client and its clones are destroyed.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the server.
    pub const fn server(&self) -> &Server {
        &self.server
    }

    /// See [`Client::call`].
    pub fn call<R: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Call<R> {
        self.client.call(method, params)
    }

    /// See [`Client::stream`].
    pub fn stream<T: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Items<T> {
        self.client.stream(method, params)
    }

    /// See [`Client::notify`].
    ///
    /// # Errors
    /// The errors of [`Client::notify`].
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        self.client.notify(method, params)
    }

    /// See [`Server::method`].
    pub fn method<P, R, E, F, W>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, E>> + Send + 'static,
    {
        self.server.method(name, handler);
        self
    }

    /// See [`Server::method_sync`].
    pub fn method_sync<P, R, E, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> Result<R, E> + Send + Sync + 'static,
    {
        self.server.method_sync(name, handler);
        self
    }

    /// See [`Server::stream_method`].
    pub fn stream_method<P, T, E, F, S>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        T: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> S + Send + Sync + 'static,
        S: Stream<Item = Result<T, E>> + Send + 'static,
    {
        self.server.stream_method(name, handler);
        self
    }

    /// See [`Server::on_notify`].
    pub fn on_notify<P, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        F: Fn(P, Context) + Send + Sync + 'static,
    {
        self.server.on_notify(name, handler);
        self
    }

    /// See [`Client::send_frame`].
    ///
    /// # Errors
    /// The errors of [`Client::send_frame`].
    pub fn send_frame(&self, frame_type: FrameType, payload: &[u8]) -> Result<(), CallError> {
        self.client.send_frame(frame_type, payload)
    }

    /// Returns the identity of the remote peer, like [`Context::identity`].
    #[must_use]
    pub fn identity<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.client.link().identity()
    }

    /// See [`Client::ready`].
    pub async fn ready(&self) {
        self.client.ready().await;
    }

    /// See [`Client::closed`].
    pub async fn closed(&self) -> Closed {
        self.client.closed().await
    }

    /// See [`Client::pending`].
    #[must_use]
    pub fn pending(&self) -> usize {
        self.client.pending()
    }

    /// Closes the peer now. Pending calls fail, and running requests are aborted. A repeated call has no effect.
    pub fn destroy(&self) {
        self.client.destroy();
    }

    /// See [`Server::run`].
    pub async fn run(self) -> Closed {
        let Self { client, server } = self;
        let why = server.run().await;
        drop(client);
        why
    }

    /// See [`Server::forget`].
    pub fn forget(self) {
        let Self { client, server } = self;
        server.spawn_with(client);
    }

    /// See [`Server::stopper`].
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }
}
