//! A client and a server on one transport.

use core::time::Duration;
use std::future::Future;
use std::mem;

use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

use super::call::Call;
use super::client::Client;
use super::connect::{Connect, Sessions};
use super::context::Context;
use super::response_stream::Items;
use super::server::Server;
use super::transport::Transport;
use crate::error::{CallError, RpcError};

/// A client and a server on one transport. A peer calls methods of the remote peer, and answers the requests of the
/// remote peer.
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
    /// JavaScript calls these callbacks until the client and the server are dropped. This field is the last field, so
    /// it is dropped last.
    _sessions: Option<Sessions>,
}

impl Peer {
    /// Creates a peer without methods, whose calls time out after 10 seconds.
    pub fn new(transport: Transport) -> Self {
        Self { client: Client::new(transport.clone()), server: Server::new(transport), _sessions: None }
    }

    /// Returns the options of a connection to an iframe, a window, a worker or a port. In a worker, the global scope is
    /// the target for a connection to the page. The code in the target must also connect. After a reload of the page or
    /// the target, the peers connect again.
    ///
    /// ```no_run
    /// # use portway::{CallError, Context, Origin, Peer};
    /// # async fn run(frame: wasm_bindgen::JsValue) -> Result<(), wasm_bindgen::JsValue> {
    /// let preview = Peer::connect(&frame)
    ///     .origin(Origin::Only("https://preview.example"))
    ///     .on_lost(|reason: CallError| { /* the peers may connect again */ })
    ///     .open(|peer| { peer.on_notify("log", |(line,): (String,), _: Context| { /* show it */ }); })
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

    /// See [`Client::with_timeout`].
    pub fn with_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.client = self.client.clone().with_timeout(timeout);
        self
    }

    /// Returns the client. The client and its clones are destroyed when the peer is dropped.
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

    /// See [`Client::call_js`].
    pub fn call_js(&self, method: &str, params: &JsValue) -> Call<JsValue> {
        self.client.call_js(method, params)
    }

    /// See [`Client::notify_js`].
    ///
    /// # Errors
    /// If the notification cannot be sent.
    pub fn notify_js(&self, method: &str, params: &JsValue, transfer: Option<&js_sys::Array>) -> Result<(), CallError> {
        self.client.notify_js(method, params, transfer)
    }

    /// See [`Client::notify`].
    ///
    /// # Errors
    /// If the notification cannot be sent.
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

    /// See [`Server::method_sync`].
    pub fn method_sync<P, R, E, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> Result<R, E> + 'static,
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
        F: Fn(P, Context) -> S + 'static,
        S: Stream<Item = Result<T, E>> + 'static,
    {
        self.server.stream_method(name, handler);
        self
    }

    /// See [`Server::method_js`].
    pub fn method_js<E, F, W>(&self, name: &str, handler: F) -> &Self
    where
        E: Into<RpcError>,
        F: Fn(JsValue, Context) -> W + 'static,
        W: Future<Output = Result<JsValue, E>> + 'static,
    {
        self.server.method_js(name, handler);
        self
    }

    /// See [`Server::on_notify_js`].
    pub fn on_notify_js<F>(&self, name: &str, handler: F) -> &Self
    where
        F: Fn(JsValue, Context) + 'static,
    {
        self.server.on_notify_js(name, handler);
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

    /// See [`Client::pending`].
    #[must_use]
    pub fn pending(&self) -> usize {
        self.client.pending()
    }

    /// Destroys the peer. Its pending calls end with an error, and its running requests are aborted. Later calls of
    /// this function have no effect.
    pub fn destroy(&self) {
        self.client.destroy();
        self.server.end();
    }

    /// Keeps the peer and its methods until the program ends.
    pub fn forget(self) {
        mem::forget(self);
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.client.destroy();
    }
}
