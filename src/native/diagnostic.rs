//! Events of a link for logs.

use core::fmt;
use std::any::Any;
use std::sync::Arc;

use super::in_flight::{catch_panic, panic_message};
use crate::ErrorCode;
use crate::Framing;
use crate::codec::frame::FrameFault;
use crate::error::RpcError;
use crate::message::{Id, Unreadable};

/// An event for a log. It contains no payload of a message. The bytes in [`Diagnostic::Noise`] are outside of messages.
#[derive(Debug)]
#[non_exhaustive]
pub enum Diagnostic<'a> {
    /// Bytes outside of messages, for example if a peer prints to its standard output. With WIPC, these bytes are the
    /// passthrough.
    Noise(&'a [u8]),
    /// The input seems to use another framing.
    OtherFraming {
        /// The framing that the peer seems to use.
        peer: Framing,
        /// The framing of this program.
        own: Framing,
    },
    /// A frame was rejected. If [`FrameFault::fault`] returns an error, a [`Server`](crate::Server) has replied with
    /// this error.
    Frame(FrameFault),
    /// The input is not a message for a handler, for example because it is not JSON. A [`Server`](crate::Server) has
    /// replied to the input, unless the input is a response.
    Rejected {
        /// The id of the message, which may be null. `None` if the message has no id, or an id that a response cannot
        /// repeat.
        id: Option<&'a Id>,
        /// The method of the message. `None` if the message has no method, or a name that is too long.
        method: Option<&'a str>,
        /// The error of the response.
        error: &'a RpcError,
    },
    /// A notification without a handler.
    UnknownNotification {
        /// The name of the method.
        method: &'a str,
    },
    /// A notification was dropped, because the running notifications have reached
    /// [`Limits::in_flight`](crate::Limits::in_flight) or
    /// [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes).
    DroppedNotification {
        /// The name of the method.
        method: &'a str,
    },
    /// The params of a notification are not of its handler's type.
    InvalidNotification {
        /// The name of the method.
        method: &'a str,
        /// The reason.
        problem: &'a str,
    },
    /// A request was answered. A request without a handler is answered with an error.
    Answered {
        /// The name of the method.
        method: &'a str,
        /// The id of the request.
        id: &'a Id,
        /// The error of the response, or `None` if the handler succeeded.
        error: Option<&'a RpcError>,
    },
    /// A handler or another callback of the application panicked. The caller of a handler received the error -32603
    /// without the panic message. The link continues.
    Panicked {
        /// For a handler, the name of the method or notification. For a frame callback, `OPEN`, `CLOSE` or `DATA`. For
        /// another callback of [`Process`](crate::Process) or [`Transport`](crate::Transport), the name of the function
        /// that registers the callback, such as `on_stderr`. For the function that sets up a peer, `set_up`.
        method: &'a str,
        /// The panic message.
        message: &'a str,
    },
    /// A response does not match any request. Responses to calls that were cancelled or timed out are ignored without a
    /// diagnostic.
    UnmatchedResponse {
        /// The id of the response.
        id: &'a Id,
    },
    /// A response cannot be decoded, and its call is unknown. The response ends no call.
    UnreadableAnswer(Unreadable),
    /// The peer sent an error with the id null, because it could not read a message of this program.
    PeerError {
        /// The code of the error.
        code: ErrorCode,
        /// The message of the error.
        message: &'a str,
    },
    /// A handler was not registered, because names that begin with `rpc.` are reserved (JSON-RPC 2.0 §4).
    ReservedName {
        /// The name.
        method: &'a str,
    },
    /// An invalid message, or an invalid element of a batch, was ignored. No answer was sent.
    Malformed,
}

/// The callback for diagnostics, if one is set.
#[derive(Clone, Default)]
pub(super) struct DiagnosticSink(Option<Arc<OnDiagnostic>>);

type OnDiagnostic = dyn Fn(Diagnostic<'_>) + Send + Sync;

impl DiagnosticSink {
    pub(super) fn new(callback: impl Fn(Diagnostic<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    /// Returns whether a callback is set. Without a callback, the caller need not create a diagnostic.
    pub(super) const fn is_set(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn report(&self, diagnostic: Diagnostic<'_>) {
        let Some(callback) = &self.0 else { return };
        if let Err(panic) = catch_panic(|| callback(diagnostic)) {
            // The callback may panic again. The second panic is ignored.
            let panicked = Diagnostic::Panicked { method: "on_diagnostic", message: panic_message(&*panic) };
            let _ = catch_panic(|| callback(panicked));
        }
    }

    /// Runs code of the application. If the code panics, reports the panic under `name`, and returns `None`.
    pub(super) fn run_user_code<T>(&self, name: &str, run: impl FnOnce() -> T) -> Option<T> {
        let report = |panic: &(dyn Any + Send)| {
            self.report(Diagnostic::Panicked { method: name, message: panic_message(panic) });
        };
        catch_panic(run).map_err(|panic| report(&*panic)).ok()
    }
}

impl fmt::Debug for DiagnosticSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DiagnosticSink").field(&self.0.is_some()).finish()
    }
}
