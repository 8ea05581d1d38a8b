//! How calls fail, and how links end.

use core::fmt;
use std::io;
use std::process::ExitStatus;
use std::string::{String, ToString};

use crate::codec::framing::Framing;
use crate::message::{ErrorCode, Unreadable};
use crate::text::{HANDLER_PANICKED, RpcError};

/// The `data.reason` of a peer whose program has died.
const PEER_DIED: &str = "peer-died";

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// The peer answered with an error.
    Remote(RpcError),
    /// The handler of the peer has panicked. The peer goes on.
    HandlerPanicked,
    /// The program of the peer has died of a panic or a trap, and answers no more requests. Programs that are compiled
    /// to wasm report it.
    PeerDied,
    /// No answer came in time.
    TimedOut,
    /// The client was destroyed.
    Destroyed,
    /// The other side has closed the stream, or its process has ended. Later calls fail at once.
    PeerGone,
    /// The link broke in another way. Later calls fail at once.
    Lost(Closed),
    /// The answer has neither result nor error.
    InvalidResponse,
    /// The answer has come, but cannot be read here, for this reason.
    Unreadable(Unreadable),
    /// Too many calls wait already; this one was not sent.
    TooManyCalls,
    /// The other side does not read, and what waits to be written is more than
    /// [`Limits::unwritten_bytes`](crate::Limits::unwritten_bytes); this notification or call was not sent.
    Congested,
    /// The params are neither object nor array, or serde cannot write them, or over WIPC the message would be longer than
    /// [`Limits::message_bytes`](crate::Limits::message_bytes); nothing was sent.
    Params(String),
    /// The framing has no frames but messages; see [`Client::send_frame`](crate::Client::send_frame).
    NoFrames(Framing),
    /// The result is not of the type that was asked for.
    Deserialize(String),
}

impl CallError {
    /// The error of the other side, if this is one.
    #[must_use]
    pub const fn remote(&self) -> Option<&RpcError> {
        match self {
            Self::Remote(error) => Some(error),
            _ => None,
        }
    }

    /// The error of a call that was answered with this error object.
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
            Self::PeerGone => f.write_str("the other side is gone"),
            Self::Lost(_) => f.write_str("the link is lost"),
            Self::InvalidResponse => f.write_str("the response has neither result nor error"),
            Self::Unreadable(why) => write!(f, "the answer cannot be read: {why}"),
            Self::TooManyCalls => f.write_str("too many calls are pending"),
            Self::Congested => f.write_str("the other side does not read"),
            Self::Params(problem) => write!(f, "the params cannot be sent: {problem}"),
            Self::NoFrames(framing) => write!(f, "there are no frames but messages in {framing}"),
            Self::Deserialize(problem) => write!(f, "the result is not as expected: {problem}"),
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

/// So that a handler that calls on may use `?`: an error of the peer is passed on as it is. Any other is internal, and has only
/// a text of this crate: those of its source can hold paths, values and stacks, and stay here.
impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Remote(error) => error,
            CallError::Lost(_) => Self::internal("the link is lost"),
            CallError::Params(_) => Self::internal("the params cannot be sent"),
            CallError::Deserialize(_) => Self::internal("the result is not as expected"),
            other => Self::internal(other.to_string()),
        }
    }
}

/// Why a link has ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Closed {
    /// This side has ended it.
    Local,
    /// The other side has closed the stream between two messages.
    End,
    /// The child process has ended between two messages.
    Exited(ExitStatus),
    /// The stream has ended inside of a message, of which so many bytes had come.
    Truncated(usize),
    /// Reading or writing has failed, for example since the other side reads no more.
    Io(io::ErrorKind, String),
    /// What comes is in another framing.
    OtherFraming {
        /// The framing that the peer uses.
        peer: Framing,
        /// The framing of this side.
        own: Framing,
    },
    /// What comes is no JSON-RPC: this many lines in a row.
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
            Self::Local => f.write_str("this side has ended it"),
            Self::End => f.write_str("the other side has closed the stream"),
            Self::Exited(status) => write!(f, "the process has ended, {status}"),
            Self::Truncated(held) => write!(f, "the stream has ended inside of a message, after {held} bytes of it"),
            Self::Io(_, problem) => f.write_str(problem),
            Self::OtherFraming { peer, own } => write!(f, "the peer speaks {peer}, and this side {own}"),
            Self::NoMessages(lines) => write!(f, "none of {lines} lines in a row is a message"),
        }
    }
}

impl core::error::Error for Closed {}
