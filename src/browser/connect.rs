//! Peers that connect by a handshake, and reconnect automatically.

use core::fmt;
use core::time::Duration;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen_futures::JsFuture;

use super::call::milliseconds;
use super::client::error_of_event;
use super::limits::{CONNECT_TIMEOUT, HEARTBEAT};
use super::peer::Peer;
use super::transport::{Origin, Transport, TransportError};
use super::trap_guard::install;
use crate::Limits;
use crate::error::CallError;
use portway_web::bindings::session_to;

/// The options of a connection. [`Peer::connect`] creates them.
#[must_use = "`open` connects"]
pub struct Connect {
    target: JsValue,
    origin: JsValue,
    channel: String,
    heartbeat: Option<Duration>,
    timeout: Option<Duration>,
    limits: Limits,
    on_session: Box<dyn Fn(u32)>,
    on_lost: Box<dyn Fn(CallError)>,
}

/// The callbacks for the start and the end of each session. The peer owns the callbacks, because JavaScript calls them
/// while the peer exists.
#[derive(Debug)]
pub(super) struct Sessions {
    _begins: Closure<dyn Fn(u32)>,
    _ends: Closure<dyn Fn(u32, JsValue)>,
}

impl Connect {
    pub(super) fn new(target: JsValue) -> Self {
        Self {
            target,
            origin: JsValue::UNDEFINED,
            channel: String::new(),
            heartbeat: Some(HEARTBEAT),
            timeout: Some(CONNECT_TIMEOUT),
            limits: Limits::DEFAULT,
            on_session: Box::new(|_| {}),
            on_lost: Box::new(|_| {}),
        }
    }

    /// Sets the origin that a window must have. Default: the origin of this document.
    pub fn origin(self, origin: Origin<'_>) -> Self {
        Self { origin: origin.to_js(), ..self }
    }

    /// Sets the name of the connection. Both peers of a connection must set the same name. Several connections between
    /// the same two contexts must have different names. Default: an empty name.
    pub fn channel(self, name: impl Into<String>) -> Self {
        Self { channel: name.into(), ..self }
    }

    /// Sets the maximum time until the first session begins. Default: 10 seconds. `None` disables the timeout.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { timeout: timeout.into(), ..self }
    }

    /// Sets the limits of the connection, see [`Transport::with_limits`].
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the maximum time without a message from the peer. After this time, pending calls end with
    /// [`CallError::Unresponsive`]. During this time, a silent peer receives pings. A Web Lock replaces this timer if
    /// both peers share Web Locks. Default: 10 seconds. `None` disables the timer.
    pub fn heartbeat(self, every: impl Into<Option<Duration>>) -> Self {
        Self { heartbeat: every.into(), ..self }
    }

    /// Registers a listener for the start of each session. The listener receives the number of the session. The first
    /// session has the number 1.
    pub fn on_session(self, listener: impl Fn(u32) + 'static) -> Self {
        Self { on_session: Box::new(listener), ..self }
    }

    /// Registers a listener for the end of each session. The listener receives the reason.
    pub fn on_lost(self, listener: impl Fn(CallError) + 'static) -> Self {
        Self { on_lost: Box::new(listener), ..self }
    }

    /// Connects, and waits for the first session. `set_up` is called before any request is handled, and can register
    /// methods. If the future is dropped, the connection is abandoned.
    ///
    /// # Errors
    /// If the connection fails, or the peer does not answer within the timeout. [`TransportError::reason`] returns the
    /// reason.
    pub async fn open(self, set_up: impl FnOnce(&Peer)) -> Result<Peer, TransportError> {
        install();
        let (on_session, on_lost) = (self.on_session, self.on_lost);
        let begins = Closure::new(on_session);
        let max_visits = self.limits.conversion_visits;
        let ends = Closure::new(move |event, error| on_lost(error_of_event(event, error, max_visits)));
        let heartbeat = self.heartbeat.map_or(0.0, |every| milliseconds(Some(every)));
        let timeout = milliseconds(self.timeout);
        let session = session_to(&self.target, &self.origin, &self.channel, heartbeat, timeout, &begins, &ends)
            .map_err(TransportError)?;
        let transport = Transport::from_result(Ok(session.transport()))?.with_limits(self.limits);
        let peer = Peer::new(transport).with_sessions(Sessions { _begins: begins, _ends: ends });
        set_up(&peer);
        JsFuture::from(session.open()).await.map_err(TransportError)?;
        Ok(peer)
    }
}

impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connect").field("channel", &self.channel).finish_non_exhaustive()
    }
}
