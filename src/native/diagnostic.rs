//! What happens on a link and concerns nobody's call: for logs.

use core::fmt;
use std::any::Any;
use std::sync::Arc;

use super::running::{guarded, text_of};
use crate::codec::frame::FrameFault;
use crate::codec::framing::Framing;
use crate::message::{ErrorCode, Id, Unreadable};
use crate::text::RpcError;

/// Something to log. It holds no payload but that of [`Diagnostic::Noise`], which is not the protocol's.
#[derive(Debug)]
#[non_exhaustive]
pub enum Diagnostic<'a> {
    /// Bytes that belong to no message: a peer that prints to its standard output, for example. With WIPC, that is what is
    /// passed through.
    Noise(&'a [u8]),
    /// What comes looks like another framing than the one that is spoken here.
    OtherFraming {
        /// The framing that the peer seems to use.
        peer: Framing,
        /// The framing of this side.
        own: Framing,
    },
    /// A frame could not be taken. A server has answered it, if [`FrameFault::fault`] has an answer.
    Frame(FrameFault),
    /// What came is no message that a handler could get, such as text that is no JSON. A server has answered it.
    Rejected {
        /// The id that it came with, `null` included; `None` if it has none, or none that can be echoed.
        id: Option<&'a Id>,
        /// The method that it names, if it names one, and no longer one than a method can have.
        method: Option<&'a str>,
        /// The error that it was answered with.
        error: &'a RpcError,
    },
    /// A notification that nobody has a handler for.
    UnknownNotification {
        /// Its name.
        method: &'a str,
    },
    /// A notification was dropped: as many that came before it are still at work as
    /// [`Limits::in_flight`](crate::Limits::in_flight) allows, or with as many bytes as
    /// [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes) does.
    DroppedNotification {
        /// Its name.
        method: &'a str,
    },
    /// The params of a notification do not fit its handler.
    InvalidNotification {
        /// Its name.
        method: &'a str,
        /// What does not fit.
        problem: &'a str,
    },
    /// A request was answered: by its handler, or since there is none.
    Answered {
        /// Its name.
        method: &'a str,
        /// Its id.
        id: &'a Id,
        /// The error, if it is one.
        error: Option<&'a RpcError>,
    },
    /// A handler has panicked: the caller was answered -32603 without the text. Or another function of the application
    /// has panicked: the link goes on.
    Panicked {
        /// The method or notification; `OPEN`, `CLOSE` or `DATA` for a handler of frames; `on_stderr`, `on_exit` and so
        /// on for a function that was passed to [`Process`](crate::Process) or [`Transport`](crate::Transport) under
        /// that name; `set_up` for the function that sets up a peer.
        method: &'a str,
        /// The text of the panic.
        message: &'a str,
    },
    /// A response came to a request that was never sent. A response to a call that was cancelled or has timed out is
    /// dropped in silence.
    UnmatchedResponse {
        /// Its id.
        id: &'a Id,
    },
    /// An answer came that cannot be read, and its call is not known. No call ends by it.
    UnreadableAnswer(Unreadable),
    /// The other side could not read something of ours, and could not say what.
    PeerError {
        /// What it says.
        code: ErrorCode,
        /// What it says.
        message: &'a str,
    },
    /// A handler was not registered, since names that begin with `rpc.` are reserved (JSON-RPC 2.0 §4).
    ReservedName {
        /// The name.
        method: &'a str,
    },
    /// Something came that is neither request nor response, and was passed over.
    Malformed,
}

/// Who hears of diagnostics.
#[derive(Clone, Default)]
pub(super) struct Listener(Option<Arc<Tell>>);

type Tell = dyn Fn(Diagnostic<'_>) + Send + Sync;

impl Listener {
    pub(super) fn new(listener: impl Fn(Diagnostic<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Whether anybody listens: what is told need not be found out otherwise.
    pub(super) const fn is_there(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn tell(&self, diagnostic: Diagnostic<'_>) {
        let Some(listener) = &self.0 else { return };
        if let Err(panic) = guarded(|| listener(diagnostic)) {
            // The listener may panic again.
            let panicked = Diagnostic::Panicked { method: "on_diagnostic", message: text_of(&*panic) };
            let _ = guarded(|| listener(panicked));
        }
    }

    /// Runs a function of the application under this name. If it panics, reports that and returns `None`.
    pub(super) fn guard<T>(&self, name: &str, run: impl FnOnce() -> T) -> Option<T> {
        let report = |panic: &(dyn Any + Send)| {
            self.tell(Diagnostic::Panicked { method: name, message: text_of(panic) });
        };
        guarded(run).map_err(|panic| report(&*panic)).ok()
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").field(&self.0.is_some()).finish()
    }
}
