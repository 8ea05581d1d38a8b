//! The errors of calls, and the reasons why links end.

use core::fmt;
use std::io;
use std::process::ExitStatus;
use std::string::{String, ToString};

use crate::ErrorCode;
use crate::Framing;
use crate::error::{HANDLER_PANICKED, RpcError};
use crate::message::Unreadable;

/// The `data.reason` of a peer whose program panicked or trapped.
const PEER_DIED: &str = "peer-died";

/// Why a call failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// The peer responded with an error.
    Remote(RpcError),
    /// The handler of the peer panicked. The peer continues.
    HandlerPanicked,
    /// The program of the peer has panicked or trapped, and cannot handle requests any more. Programs compiled to wasm
    /// report this.
    PeerDied,
    /// No response arrived within the timeout.
    TimedOut,
    /// The client was destroyed.
    Destroyed,
    /// The peer closed the stream, or its process exited. Later calls fail at once.
    PeerGone,
    /// The link failed in another way. Later calls fail at once.
    Lost(Closed),
    /// The response has neither result nor error.
    InvalidResponse,
    /// The response was received, but cannot be read, for this reason.
    Unreadable(Unreadable),
    /// Too many calls are pending. This one was not sent.
    TooManyCalls,
    /// The peer does not read, and the unwritten output exceeds
    /// [`Limits::unwritten_bytes`](crate::Limits::unwritten_bytes). This notification or call was not sent.
    Congested,
    /// The params are neither an object nor an array, serde cannot serialize them, or over WIPC the message would be
    /// longer than [`Limits::message_bytes`](crate::Limits::message_bytes). The message was not sent.
    Params(String),
    /// The framing cannot carry raw frames; see [`Client::send_frame`](crate::Client::send_frame).
    NoFrames(Framing),
    /// The result does not fit the expected type.
    Deserialize(String),
}

impl CallError {
    /// Returns the error from the peer, if the peer responded with one.
    #[must_use]
    pub const fn remote(&self) -> Option<&RpcError> {
        match self {
            Self::Remote(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the error of a call with this error response.
    pub(super) fn from_answer(error: RpcError) -> Self {
        let reason = if error.code == ErrorCode::INTERNAL_ERROR { error.reason() } else { None };
        match reason.as_deref() {
            Some(HANDLER_PANICKED) => Self::HandlerPanicked,
            Some(PEER_DIED) => Self::PeerDied,
            _ => Self::Remote(error),
        }
    }

    pub(super) fn from_end(closed: &Closed) -> Self {
        match closed {
            Closed::Local => Self::Destroyed,
            Closed::End | Closed::Exited(_) => Self::PeerGone,
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
            Self::PeerGone => f.write_str("the peer is gone"),
            Self::Lost(_) => f.write_str("the link is lost"),
            Self::InvalidResponse => f.write_str("the response has neither result nor error"),
            Self::Unreadable(why) => write!(f, "the response cannot be read: {why}"),
            Self::TooManyCalls => f.write_str("too many calls are pending"),
            Self::Congested => f.write_str("the peer does not read"),
            Self::Params(problem) => write!(f, "the params cannot be sent: {problem}"),
            Self::NoFrames(framing) => write!(f, "{framing} cannot carry raw frames; use Framing::Wipc"),
            Self::Deserialize(problem) => write!(f, "failed to deserialize the result: {problem}"),
        }
    }
}

impl core::error::Error for CallError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // The text of this error is that of the peer's error.
            Self::Remote(error) => error.source(),
            Self::Lost(closed) => Some(closed),
            _ => None,
        }
    }
}

impl From<RpcError> for CallError {
    fn from(error: RpcError) -> Self {
        Self::Remote(error)
    }
}

/// Lets a handler use `?` on its own calls. An error from a peer is passed on unchanged. Any other error becomes an
/// internal error with a fixed text, since its source may contain paths or values of this side.
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

/// Why a link has ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Closed {
    /// This side closed the link.
    Local,
    /// The peer closed the stream between two messages.
    End,
    /// The child process exited between two messages.
    Exited(ExitStatus),
    /// The stream ended within a message, after this many bytes.
    Truncated(usize),
    /// Reading or writing failed, for example since the peer stopped reading.
    Io(io::ErrorKind, String),
    /// The peer uses another framing.
    OtherFraming {
        /// The framing that the peer uses.
        peer: Framing,
        /// The framing of this side.
        own: Framing,
    },
    /// The input is not JSON-RPC: this many consecutive lines were not messages.
    NoMessages(usize),
}

impl Closed {
    pub(super) fn from_io(error: &io::Error) -> Self {
        Self::Io(error.kind(), error.to_string())
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("this side closed the link"),
            Self::End => f.write_str("the peer closed the stream"),
            Self::Exited(status) => write!(f, "the process exited: {status}"),
            Self::Truncated(held) => write!(f, "the stream ended within a message, after {held} bytes"),
            Self::Io(_, problem) => f.write_str(problem),
            Self::OtherFraming { peer, own } => write!(f, "the peer sends {peer}, but this side expects {own}"),
            Self::NoMessages(lines) => write!(f, "{lines} consecutive lines were not messages"),
        }
    }
}

impl core::error::Error for Closed {}
