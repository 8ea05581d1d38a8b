//! A client and a server on one transport.

use std::future::Future;
use std::mem;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

use super::call::Call;
use super::client::Client;
use super::connect::{Connect, Sessions};
use super::context::Context;
use super::error::{CallError, RpcError};
use super::server::Server;
use super::transport::Transport;

/// Calls the other side, and serves it, over one transport.
///
/// ```no_run
/// use portway::{Client, Context, Peer, RpcError, Transport};
/// # use wasm_bindgen::JsValue;
///
/// # async fn run(port: JsValue) -> Result<(), JsValue> {
/// let peer = Peer::new(Transport::port(&port)?);
/// let client = peer.client().clone();
/// peer.method("greet", move |(name,): (String,), _: Context| {
///     let client = client.clone();
///     async move {
///         let greeting: String = client.call("translate", &("hello",)).await?;
///         Ok::<_, RpcError>(format!("{greeting}, {name}"))
///     }
/// });
/// peer.notify("ready", &())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a peer ends when it is dropped"]
pub struct Peer {
    client: Client,
    server: Server,
    /// Last, since JavaScript calls it until the others are gone.
    _sessions: Option<Sessions>,
}

impl Peer {
    /// A peer without methods, whose calls wait for 10 seconds.
    pub fn new(transport: Transport) -> Self {
        Self { client: Client::new(transport.clone()), server: Server::new(transport), _sessions: None }
    }

    /// A peer that finds its other side by itself, and again after that was reloaded: a frame, a window, a worker, a port, or
    /// in a worker its own global scope. The other side connects, too.
    ///
    /// ```no_run
    /// # use portway::{CallError, Origin, Peer};
    /// # async fn run(frame: wasm_bindgen::JsValue) -> Result<(), wasm_bindgen::JsValue> {
    /// let preview = Peer::connect(&frame)
    ///     .origin(Origin::Only("https://preview.example"))
    ///     .on_lost(|reason: CallError| { /* it may be back */ })
    ///     .open(|peer| { peer.on_notify("log", |(line,): (String,), _| { /* show it */ }); })
    ///     .await?;
    /// let title: String = preview.call("title", &()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect(target: &impl AsRef<JsValue>) -> Connect {
        Connect::new(target.as_ref().clone())
    }

    pub(super) fn with_sessions(mut self, sessions: Sessions) -> Self {
        self._sessions = Some(sessions);
        self
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
        F: Fn(P, Context) -> W + 'static,
        W: Future<Output = Result<R, E>> + 'static,
    {
        self.server.method(name, handler);
        self
    }

    /// See [`Server::on_notify`].
    pub fn on_notify<P, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        F: Fn(P, Context) + 'static,
    {
        self.server.on_notify(name, handler);
        self
    }

    /// Keeps the peer, and its methods, for the rest of the program.
    pub fn forget(self) {
        mem::forget(self);
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.client.destroy();
    }
}
