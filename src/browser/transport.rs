//! Transports: windows, ports, workers and channels for messages.

use core::fmt;
use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Array, Function, Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use super::trap_guard;
use crate::Limits;
use portway_web::bindings::{self, JsMessageChannel, JsTransport};

/// A transport of messages: a window, a port, a worker or a channel.
///
/// The constructors accept values of `web-sys` and of any other binding. A client and a server on clones of one
/// transport share this transport. The transport is closed when its last client or server is dropped.
///
/// ```no_run
/// use portway::{Client, Origin, Transport, TransportError};
/// use wasm_bindgen::JsValue;
///
/// # fn run(iframe_window: JsValue) -> Result<(), TransportError> {
/// // For example, `iframe.content_window()` of web-sys returns this window.
/// let preview = Transport::window(&iframe_window, Origin::Only("https://preview.example"))?;
/// let client = Client::new(preview);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Transport(Rc<TransportHandle>);

#[derive(Debug)]
struct TransportHandle {
    transport: JsTransport,
    /// Whether a client or a server was created from this transport. If so, the JavaScript link of this client or
    /// server destroys the transport.
    used: Cell<bool>,
    limits: Cell<Option<Limits>>,
}

impl Drop for TransportHandle {
    fn drop(&mut self) {
        if !self.used.get() {
            // An error of `destroy` can be ignored, because the transport is not used any more.
            let _ = self.transport.destroy();
        }
    }
}

/// The allowed origins of a window. Messages from other origins are ignored, and messages are sent only to allowed
/// origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin<'a> {
    /// The origin of this document.
    #[default]
    Own,
    /// One origin, such as `https://example.com`.
    Only(&'a str),
    /// One of several origins.
    OneOf(&'a [&'a str]),
    /// The opaque origin of a sandboxed iframe.
    Opaque,
    /// Any origin. This variant disables the check: any page that is loaded into the window can send and receive
    /// messages.
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
    /// Creates a transport to another window or iframe.
    ///
    /// # Errors
    /// If the target is not a window, an origin is invalid, or this document has no origin for [`Origin::Own`].
    pub fn window(target: &impl AsRef<JsValue>, origin: Origin<'_>) -> Result<Self, TransportError> {
        let options = Object::new();
        Reflect::set(&options, &JsValue::from_str("origin"), &origin.to_js()).map_err(TransportError)?;
        Self::from_result(bindings::window_transport(target.as_ref(), &options))
    }

    /// Creates a transport over a `MessagePort`.
    ///
    /// # Errors
    /// If the value is not a port.
    pub fn port(port: &impl AsRef<JsValue>) -> Result<Self, TransportError> {
        Self::from_result(bindings::port_transport(port.as_ref()))
    }

    /// Creates two connected transports in this program, over a `MessageChannel`, for example for tests.
    ///
    /// # Errors
    /// If the platform has no `MessageChannel`.
    pub fn pair() -> Result<(Self, Self), TransportError> {
        let channel = JsMessageChannel::new().map_err(TransportError)?;
        Ok((Self::port(&channel.port1())?, Self::port(&channel.port2())?))
    }

    /// Creates a transport to a worker that this page has started. The transport does not terminate the worker.
    ///
    /// # Errors
    /// If the value is not a worker.
    pub fn worker(worker: &impl AsRef<JsValue>) -> Result<Self, TransportError> {
        Self::from_result(bindings::worker_transport(worker.as_ref()))
    }

    /// Creates a transport from this dedicated worker to the page that has started it.
    ///
    /// # Errors
    /// If the program does not run in a dedicated worker.
    pub fn current_worker() -> Result<Self, TransportError> {
        Self::from_result(bindings::self_transport())
    }

    /// Creates a transport to all contexts of this origin that have a `BroadcastChannel` of this name.
    ///
    /// # Errors
    /// If the platform has no `BroadcastChannel`.
    pub fn broadcast(name: &str) -> Result<Self, TransportError> {
        Self::from_result(bindings::broadcast_transport(&JsValue::from_str(name)))
    }

    /// Creates a transport from an object of JavaScript with the functions `send(message, transfer)`,
    /// `onMessage(handler)` and optionally `destroy()`.
    ///
    /// If the object does not clone messages, their values may have getters and proxies. Each value is read twice:
    /// first to count its visits, and then to convert it. A value is refused if its getter or proxy throws an
    /// exception, or if the conversion needs too many visits.
    ///
    /// # Errors
    /// If `send` or `onMessage` is missing.
    pub fn from_js(transport: JsValue) -> Result<Self, TransportError> {
        for name in ["send", "onMessage"] {
            let member = Reflect::get(&transport, &JsValue::from_str(name)).map_err(TransportError)?;
            if !member.has_type::<Function>() {
                let text = "transport must be an object with the functions send and onMessage";
                return Err(TransportError(js_sys::TypeError::new(text).into()));
            }
        }
        Self::from_result(Ok(transport))
    }

    /// Sets the limits for the clients and servers that are later created from this transport. Browsers use only
    /// [`pending_calls`](Limits::pending_calls), [`in_flight`](Limits::in_flight), [`batch_items`](Limits::batch_items)
    /// and [`conversion_visits`](Limits::conversion_visits).
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

    /// Returns the maximum number of visits to read a value from the peer.
    pub(super) fn max_visits(&self) -> usize {
        self.0.limits.get().unwrap_or(Limits::DEFAULT).conversion_visits
    }

    /// Returns the limits as the option `limits` of the JavaScript API. Returns `undefined` if the application has set
    /// no limits.
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

    pub(super) fn from_result(transport: Result<JsValue, JsValue>) -> Result<Self, TransportError> {
        trap_guard::install();
        let transport = transport.map_err(TransportError)?.unchecked_into();
        Ok(Self(Rc::new(TransportHandle { transport, used: Cell::new(false), limits: Cell::new(None) })))
    }

    /// Returns the transport object for a link in JavaScript. After this call, the link destroys the object, and the
    /// drop of this handle does not.
    pub(super) fn take(&self) -> &JsValue {
        self.0.used.set(true);
        &self.0.transport
    }
}

/// The error of a transport that cannot be created: an exception of JavaScript.
#[derive(Clone, Debug, PartialEq)]
pub struct TransportError(pub(super) JsValue);

impl TransportError {
    /// Returns the reason why [`Connect::open`](crate::Connect::open) has failed: `no-answer`, `wrong-origin`,
    /// `worker-failed`, `incompatible-version`, `refused` or `peer-gone`. Other errors have no reason.
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
