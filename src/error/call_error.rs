//! The errors of calls.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use core::convert::Infallible;
use core::fmt;

use super::{Closed, HANDLER_PANICKED, RpcError};
use crate::ErrorCode;
use crate::Framing;
use crate::message::Unreadable;

/// The `data.reason` of the errors that a peer sends after its program panicked or trapped.
const PEER_DIED: &str = "peer-died";

/// The reason why a call failed.
///
/// The variants are the same natively and in browsers, so that one `match` compiles for both platforms. If only one
/// platform returns a variant, the documentation of the variant names that platform.
///
/// ```
/// use portway::CallError;
///
/// fn describe(error: &CallError) -> String {
///     match error {
///         CallError::Remote(error) => match error.data::<Vec<String>>() {
///             Some(Ok(files)) => format!("{}: {}", error.message, files.join(", ")),
///             _ => error.message.clone(),
///         },
///         CallError::TimedOut => "try again".to_owned(),
///         CallError::PeerGone | CallError::SessionEnded | CallError::Lost(_) => "connect again".to_owned(),
///         other => other.to_string(),
///     }
/// }
/// # assert_eq!(describe(&CallError::SessionEnded), "connect again");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// The peer responded with an error. The text of this variant is the text of the peer's error, so `source` returns
    /// `None`. [`CallError::remote`] returns the peer's error.
    Remote(RpcError),
    /// The handler of the peer panicked, and the peer continues to handle requests. If the peer is compiled to wasm, a
    /// panic ends its program instead, and calls end with [`CallError::PeerDied`].
    HandlerPanicked,
    /// The program of the peer has panicked or trapped, and cannot handle requests any more. Only programs that are
    /// compiled to wasm send this error.
    PeerDied,
    /// No response arrived within the timeout.
    TimedOut,
    /// The client was destroyed.
    Destroyed,
    /// The peer was reloaded or closed, or has started a new session. Later calls wait for the next session. This error
    /// occurs only in browsers.
    SessionEnded,
    /// Natively, the peer closed the stream, its process exited, or a WebSocket was closed with 1000, 1001 or 1005.
    /// Later calls fail at once. In browsers, the peer was closed, removed or terminated, or has not started. Later
    /// calls fail at once, until the peer sends a message.
    PeerGone,
    /// The peer does not answer heartbeats. Later calls are still sent. This error occurs only in browsers.
    Unresponsive,
    /// The link failed for another reason. Later calls fail at once. This error occurs only natively.
    Lost(Closed),
    /// The response has neither result nor error.
    InvalidResponse,
    /// The response was received, but cannot be decoded. The value is the reason. In browsers, the reason is always
    /// [`Unreadable::MessageError`].
    Unreadable(Unreadable),
    /// Too many calls are pending. The call was not sent.
    TooManyCalls,
    /// The peer does not read, and the unwritten output exceeds
    /// [`Limits::unwritten_bytes`](crate::Limits::unwritten_bytes). The notification or call was not sent. This error
    /// occurs only natively.
    Congested,
    /// The params are neither an object nor an array, or serde cannot serialize them. With `Profile::MCP`, this error
    /// also means that the params are an array, or that the method begins with `rpc.`. Over WIPC, this error also means
    /// that the message would be longer than [`Limits::message_bytes`](crate::Limits::message_bytes). The message was
    /// not sent.
    Params(String),
    /// The transport could not send the message, for example because its params cannot be cloned. This error occurs
    /// only in browsers.
    Send(SendError),
    /// The transport cannot send raw frames. The value is the framing of the transport, or `None` if the transport
    /// sends whole messages. Only `Client::send_frame` returns this error, which occurs only natively.
    NoFrames(Option<Framing>),
    /// The result is not of the expected type. In browsers, this error also means that a value from the peer is nested
    /// too deep, or needs more visits than [`Limits::conversion_visits`](crate::Limits::conversion_visits). The value
    /// is a result, an error, an item or a progress value.
    Deserialize(String),
}

impl CallError {
    /// Returns the error from the peer, or `None` if the peer did not respond with an error.
    #[must_use]
    pub const fn remote(&self) -> Option<&RpcError> {
        match self {
            Self::Remote(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the error of a call to which the peer has responded with `error`.
    pub(crate) fn from_answer(error: RpcError) -> Self {
        let reason = if error.code == ErrorCode::INTERNAL_ERROR { error.reason() } else { None };
        match reason.as_deref() {
            Some(HANDLER_PANICKED) => Self::HandlerPanicked,
            Some(PEER_DIED) => Self::PeerDied,
            _ => Self::Remote(error),
        }
    }

    /// Returns the error for the calls that are pending when the link ends.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub(crate) fn from_end(closed: &Closed) -> Self {
        match closed {
            Closed::Local => Self::Destroyed,
            Closed::End | Closed::Exited(_) | Closed::WebSocket { code: 1000 | 1001 | 1005, .. } => Self::PeerGone,
            other => Self::Lost(other.clone()),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote(error) => error.fmt(f),
            Self::HandlerPanicked => f.write_str("the handler of the peer has panicked"),
            Self::PeerDied => f.write_str("the program of the peer has died"),
            Self::TimedOut => f.write_str("the call timed out"),
            Self::Destroyed => f.write_str("the client was destroyed"),
            Self::SessionEnded => f.write_str("the peer has ended the session"),
            Self::PeerGone => f.write_str("the peer is gone"),
            Self::Unresponsive => f.write_str("the peer does not respond"),
            Self::Lost(_) => f.write_str("the link is lost"),
            Self::InvalidResponse => f.write_str("the response has neither result nor error"),
            Self::Unreadable(why) => write!(f, "the response cannot be read: {why}"),
            Self::TooManyCalls => f.write_str("too many calls are pending"),
            Self::Congested => f.write_str("the peer does not read"),
            Self::Params(problem) => write!(f, "the params cannot be sent: {problem}"),
            Self::Send(problem) => problem.fmt(f),
            Self::NoFrames(None) => f.write_str("whole messages cannot carry raw frames; use Framing::Wipc"),
            Self::NoFrames(Some(framing)) => write!(f, "{framing} cannot carry raw frames; use Framing::Wipc"),
            Self::Deserialize(problem) => write!(f, "failed to deserialize the result: {problem}"),
        }
    }
}

impl core::error::Error for CallError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Lost(closed) => Some(closed),
            // The text of `Remote` already is the text of the peer's error. `CallError::remote` returns the peer's
            // error.
            _ => None,
        }
    }
}

impl From<RpcError> for CallError {
    fn from(error: RpcError) -> Self {
        Self::Remote(error)
    }
}

/// Permits the operator `?` on calls inside a handler. An error from a peer is returned unchanged. Any other error
/// becomes an internal error with a fixed text, because its source may contain paths, values and stacks of this
/// program.
impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Remote(error) => error,
            CallError::Lost(_) => Self::internal("the link is lost"),
            CallError::Params(_) => Self::internal("the params cannot be sent"),
            CallError::Deserialize(_) => Self::internal("failed to deserialize the result"),
            other => Self::internal(other.to_string()),
        }
    }
}

/// The error of a transport that could not send a message. It occurs only in browsers, and is an exception of
/// JavaScript.
///
/// The text of this error contains only the name of the exception, because the message of the exception may contain the
/// source of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct SendError(
    #[cfg(all(target_family = "wasm", target_os = "unknown"))] pub(crate) wasm_bindgen::JsValue,
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))] Infallible,
);

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl fmt::Display for SendError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl core::error::Error for SendError {}
