//! A client and a server on one transport.

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;
use super::client::Client;
use super::context::Context;
use super::error::{CallError, Closed};
use super::server::{Server, Stopper};
use super::transport::Transport;
use crate::text::RpcError;

/// Calls the other side, and serves it, over one transport.
///
/// Nothing is read before the first call, [`Peer::run`] or [`Peer::forget`].
///
/// ```no_run
/// use portway::{Context, Framing, Peer, RpcError, Transport};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let peer = Peer::new(Transport::unix("/run/editor.sock", Framing::ContentLength).await?);
/// let client = peer.client().clone();
/// peer.method("greet", move |(name,): (String,), _: Context| {
///     let client = client.clone();
///     async move {
///         let greeting: String = client.call("translate", &("hello",)).await?;
///         Ok::<_, RpcError>(format!("{greeting}, {name}"))
///     }
/// });
/// peer.notify("ready", &())?;
/// let why = peer.run().await;
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
    /// A peer without methods, whose calls wait for 10 seconds.
    pub fn new(transport: Transport) -> Self {
        Self::made(transport, false)
    }

    /// `answers_noise` tells whether what cannot be read is answered: where everybody who connects is a client.
    pub(super) fn made(transport: Transport, answers_noise: bool) -> Self {
        let link = transport.open(answers_noise);
        Self { client: Client::on(Arc::clone(&link)), server: Server::on(link) }
    }

    /// The half that calls. Its clones end with the peer.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// The half that serves.
    pub const fn server(&self) -> &Server {
        &self.server
    }

    /// See [`Client::call`].
    pub fn call<R: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Call<R> {
        self.client.call(method, params)
    }

    /// See [`Client::notify`].
    ///
    /// # Errors
    /// If it cannot be sent.
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

    /// See [`Server::on_notify`].
    pub fn on_notify<P, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        F: Fn(P, Context) + Send + Sync + 'static,
    {
        self.server.on_notify(name, handler);
        self
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
        server.keep(client);
    }

    /// See [`Server::stopper`].
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }
}
