//! Peers that find their other side by themselves.

use core::fmt;
use core::time::Duration;
use std::boxed::Box;
use std::string::String;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen_futures::JsFuture;

use super::bridge::{install_core, session_to};
use super::call::milliseconds;
use super::client::failure;
use super::error::CallError;
use super::limits::{CONNECT_TIMEOUT, HEARTBEAT};
use super::peer::Peer;
use super::transport::{Origin, Transport, TransportError};
use crate::Limits;

/// How a peer connects, made by [`Peer::connect`].
#[must_use = "it connects by `open`"]
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

/// What JavaScript calls as sessions come and go, as long as the peer lives.
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

    /// The origin of a window, which otherwise is that of this document.
    pub fn origin(self, origin: Origin<'_>) -> Self {
        Self { origin: origin.to_js(), ..self }
    }

    /// A name by which several connections between the same two are told apart. Both sides name it.
    pub fn channel(self, name: impl Into<String>) -> Self {
        Self { channel: name.into(), ..self }
    }

    /// How long to wait for the first session: 10 seconds, if nothing is said. `None` waits for ever.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { timeout: timeout.into(), ..self }
    }

    /// Sets bounds on the peer, see [`Transport::with_limits`].
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// How often the other side is asked whether it is there, where nothing else tells: every 10 seconds, if nothing is
    /// said. `None` never asks.
    pub fn heartbeat(self, every: impl Into<Option<Duration>>) -> Self {
        Self { heartbeat: every.into(), ..self }
    }

    /// Runs a function at the start of each session, with its number: 1 is the first.
    pub fn on_session(self, listener: impl Fn(u32) + 'static) -> Self {
        Self { on_session: Box::new(listener), ..self }
    }

    /// Runs a function at the end of each session, with the reason.
    pub fn on_lost(self, listener: impl Fn(CallError) + 'static) -> Self {
        Self { on_lost: Box::new(listener), ..self }
    }

    /// Connects. The methods that `set_up` registers are there before anything is asked. Dropping the future gives it up.
    ///
    /// # Errors
    /// If the target cannot be connected to, or does not answer in time; [`TransportError::reason`] says why.
    pub async fn open(self, set_up: impl FnOnce(&Peer)) -> Result<Peer, TransportError> {
        install_core();
        let (on_session, on_lost) = (self.on_session, self.on_lost);
        let begins = Closure::new(on_session);
        let max_visits = self.limits.conversion_visits;
        let ends = Closure::new(move |what, error| on_lost(failure(what, error, max_visits)));
        let heartbeat = self.heartbeat.map_or(0.0, |every| milliseconds(Some(every)));
        let timeout = milliseconds(self.timeout);
        let session = session_to(&self.target, &self.origin, &self.channel, heartbeat, timeout, &begins, &ends)
            .map_err(TransportError)?;
        let transport = Transport::made(Ok(session.transport()))?.with_limits(self.limits);
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
