//! Transports: the boundaries that messages cross.

use core::fmt;
use std::cell::Cell;
use std::rc::Rc;
use std::string::String;

use js_sys::{Array, Function, Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use super::bridge::{self, JsTransport};
use crate::Limits;

/// A boundary that messages cross: a window, a port, a worker, a channel.
///
/// Everything from JavaScript is taken as it is: values of `web-sys` and of any other binding. A client and a server that
/// are made from clones of one transport share it. It is closed when the last of them is gone.
///
/// ```no_run
/// use portway::{Client, Origin, Transport, TransportError};
/// use wasm_bindgen::JsValue;
///
/// # fn run(iframe_window: JsValue) -> Result<(), TransportError> {
/// // `iframe.content_window()` of web-sys, for example.
/// let preview = Transport::window(&iframe_window, Origin::Only("https://preview.example"))?;
/// let client = Client::new(preview);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Transport(Rc<Boundary>);

#[derive(Debug)]
struct Boundary {
    transport: JsTransport,
    /// Whether a link has it, which destroys it at its own end.
    used: Cell<bool>,
    limits: Cell<Option<Limits>>,
}

impl Drop for Boundary {
    fn drop(&mut self) {
        if !self.used.get() {
            // What cannot be destroyed is left alone.
            let _ = self.transport.destroy();
        }
    }
}

/// Which origins a window may have. Messages of others are not heard, and messages to it are for no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin<'a> {
    /// That of this document.
    #[default]
    Own,
    /// Exactly this one, such as `https://example.com`.
    Only(&'a str),
    /// One of these.
    OneOf(&'a [&'a str]),
    /// That of a sandboxed frame, which has none that could be named.
    Opaque,
    /// Whatever it is. Whoever gets hold of the window can then talk along.
    Any,
}

impl Origin<'_> {
    pub(super) fn to_js(self) -> JsValue {
        match self {
            Self::Own => JsValue::UNDEFINED,
            Self::Only(origin) => JsValue::from_str(origin),
            Self::OneOf(origins) => origins.iter().map(|origin| JsValue::from_str(origin)).collect::<Array>().into(),
            Self::Opaque => JsValue::from_str("null"),
            Self::Any => JsValue::from_str("*"),
        }
    }
}

impl Transport {
    /// Another window or frame.
    ///
    /// # Errors
    /// If the target is no window, an origin is none, or this document has no origin to fall back on.
    pub fn window(target: &impl AsRef<JsValue>, origin: Origin<'_>) -> Result<Self, TransportError> {
        let options = Object::new();
        Reflect::set(&options, &JsValue::from_str("origin"), &origin.to_js()).map_err(TransportError)?;
        Self::made(bridge::window_transport(target.as_ref(), &options))
    }

    /// The other end of a `MessagePort`.
    ///
    /// # Errors
    /// If it is no port.
    pub fn port(port: &impl AsRef<JsValue>) -> Result<Self, TransportError> {
        Self::made(bridge::port_transport(port.as_ref()))
    }

    /// A worker, for the page that has started it. It is not terminated with the transport.
    ///
    /// # Errors
    /// If it is no worker.
    pub fn worker(worker: &impl AsRef<JsValue>) -> Result<Self, TransportError> {
        Self::made(bridge::worker_transport(worker.as_ref()))
    }

    /// The page that has started this dedicated worker.
    ///
    /// # Errors
    /// If this is no dedicated worker.
    pub fn current_worker() -> Result<Self, TransportError> {
        Self::made(bridge::self_transport())
    }

    /// Everybody of this origin who has a `BroadcastChannel` of this name.
    ///
    /// # Errors
    /// If the platform has no such channels.
    pub fn broadcast(name: &str) -> Result<Self, TransportError> {
        Self::made(bridge::broadcast_transport(&JsValue::from_str(name)))
    }

    /// An object of JavaScript with the functions `send(message, transfer)`, `onMessage(handler)` and perhaps `destroy()`.
    ///
    /// Messages that it does not clone may hold getters and proxies. Such a value is read twice: to count its visits, and to
    /// convert it, which is counted again. If it throws, or takes too many visits the second time, it is refused.
    ///
    /// # Errors
    /// If it has no such functions.
    pub fn from_js(transport: JsValue) -> Result<Self, TransportError> {
        for name in ["send", "onMessage"] {
            let member = Reflect::get(&transport, &JsValue::from_str(name)).map_err(TransportError)?;
            if !member.has_type::<Function>() {
                let text = "a transport is an object with the functions send and onMessage";
                return Err(TransportError(js_sys::TypeError::new(text).into()));
            }
        }
        Self::made(Ok(transport))
    }

    /// Sets bounds on the peer, for the clients and servers that are made from this transport afterwards. A browser uses
    /// [`pending_calls`](Limits::pending_calls), [`in_flight`](Limits::in_flight), [`batch_items`](Limits::batch_items) and
    /// [`conversion_visits`](Limits::conversion_visits); it ignores the other limits.
    ///
    /// ```no_run
    /// use portway::{Limits, Server, Transport};
    ///
    /// # fn run() -> Result<(), portway::TransportError> {
    /// let mut limits = Limits::DEFAULT;
    /// limits.conversion_visits = 10_000;
    /// let server = Server::new(Transport::current_worker()?.with_limits(limits));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "the transport with these limits is returned"]
    pub fn with_limits(self, limits: Limits) -> Self {
        self.0.limits.set(Some(limits));
        self
    }

    /// Most visits to read a value of the peer.
    pub(super) fn max_visits(&self) -> usize {
        self.0.limits.get().unwrap_or(Limits::DEFAULT).conversion_visits
    }

    /// The limits of a link, as JavaScript takes them.
    pub(super) fn js_limits(&self) -> JsValue {
        let Some(limits) = self.0.limits.get() else { return JsValue::UNDEFINED };
        let entries = Array::new();
        for (name, limit) in
            [("pendingCalls", limits.pending_calls), ("inFlight", limits.in_flight), ("batchItems", limits.batch_items)]
        {
            entries.push(&Array::of2(&JsValue::from_str(name), &JsValue::from_f64(limit as f64)));
        }
        Object::from_entries(&entries).map_or(JsValue::UNDEFINED, JsValue::from)
    }

    pub(super) fn made(transport: Result<JsValue, JsValue>) -> Result<Self, TransportError> {
        bridge::install_core();
        let transport = transport.map_err(TransportError)?.unchecked_into();
        Ok(Self(Rc::new(Boundary { transport, used: Cell::new(false), limits: Cell::new(None) })))
    }

    /// Hands it to a link.
    pub(super) fn used(&self) -> &JsValue {
        self.0.used.set(true);
        &self.0.transport
    }
}

/// Why there is no transport: the error that JavaScript has thrown.
#[derive(Clone, Debug, PartialEq)]
pub struct TransportError(pub(super) JsValue);

impl TransportError {
    /// Why [`Connect::open`](crate::Connect::open) has failed: `no-answer`, `wrong-origin`, `worker-failed`,
    /// `incompatible-version`, `refused` or `peer-gone`. Other errors have no reason.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        Reflect::get(&self.0, &JsValue::from_str("reason")).ok()?.as_string()
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.dyn_ref::<js_sys::Error>() {
            Some(error) => f.write_str(&String::from(error.message())),
            None => write!(f, "{:?}", self.0),
        }
    }
}

impl core::error::Error for TransportError {}

impl From<TransportError> for JsValue {
    fn from(error: TransportError) -> Self {
        error.0
    }
}
