//! How calls fail, what handlers fail with, and how links end.

use core::fmt;
use std::io;
use std::process::ExitStatus;
use std::string::{String, ToString};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;

use super::Text;
use crate::codec::framing::Framing;
use crate::message::{ErrorCode, ErrorObject};

/// An error that crosses the wire: what a handler answers with, and what the caller gets.
///
/// ```
/// use portway::{ErrorCode, RpcError};
///
/// const BUILD_FAILED: ErrorCode = ErrorCode::new(-32001);
///
/// let error = RpcError::new(BUILD_FAILED, "no such file").with_data(&["main.rs"]);
/// assert_eq!(error.data::<Vec<String>>(), Some(Ok(vec!["main.rs".to_owned()])));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RpcError {
    /// What kind of error this is.
    pub code: ErrorCode,
    /// A short description.
    pub message: String,
    /// More about the error, as JSON text. [`RpcError::data`] reads it.
    pub raw_data: Option<Text>,
}

impl RpcError {
    /// An error without data.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), raw_data: None }
    }

    /// The error for params that do not fit the method, -32602.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// The error for all that went wrong inside, -32603.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }

    /// The same, with data. Data that serde cannot write is replaced by the reason.
    #[must_use]
    pub fn with_data(self, data: &(impl Serialize + ?Sized)) -> Self {
        let data = to_raw_value(data).or_else(|problem| to_raw_value(&problem.to_string())).ok();
        Self { raw_data: data, ..self }
    }

    /// The data, if there is any.
    ///
    /// # Errors
    /// If it is not of this type; with the reason.
    pub fn data<T: DeserializeOwned>(&self) -> Option<Result<T, String>> {
        let data = self.raw_data.as_deref()?;
        Some(serde_json::from_str(data.get()).map_err(|problem| problem.to_string()))
    }
}

/// Data is compared by its text.
impl PartialEq for RpcError {
    fn eq(&self, other: &Self) -> bool {
        let text = |error: &Self| error.raw_data.as_deref().map(|data| data.get().to_string());
        self.code == other.code && self.message == other.message && text(self) == text(other)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl core::error::Error for RpcError {}

impl From<ErrorObject<Text>> for RpcError {
    fn from(error: ErrorObject<Text>) -> Self {
        Self { code: error.code, message: error.message.into(), raw_data: error.data }
    }
}

impl From<RpcError> for ErrorObject<Text> {
    fn from(error: RpcError) -> Self {
        Self { code: error.code, message: error.message.into(), data: error.raw_data }
    }
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// The other side answered with an error.
    Remote(RpcError),
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
    /// Too many calls wait already; this one was not sent.
    TooManyCalls,
    /// The other side does not read, and what waits to be written is more than
    /// [`Limits::unwritten_bytes`](crate::Limits::unwritten_bytes); this notification was not sent.
    Congested,
    /// The params are neither object nor array, or serde cannot write them; nothing was sent.
    Params(String),
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
            Self::TimedOut => f.write_str("the call timed out"),
            Self::Destroyed => f.write_str("the client was destroyed"),
            Self::PeerGone => f.write_str("the other side is gone"),
            Self::Lost(closed) => write!(f, "the link is lost: {closed}"),
            Self::InvalidResponse => f.write_str("the response has neither result nor error"),
            Self::TooManyCalls => f.write_str("too many calls are pending"),
            Self::Congested => f.write_str("the other side does not read"),
            Self::Params(problem) => write!(f, "the params cannot be sent: {problem}"),
            Self::Deserialize(problem) => write!(f, "the result is not as expected: {problem}"),
        }
    }
}

impl core::error::Error for CallError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Remote(error) => Some(error),
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

/// So that a handler that calls on may use `?`: an error of the other side is passed on as it is, any other is internal.
impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Remote(error) => error,
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
    OtherFraming(Framing),
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
            Self::OtherFraming(framing) => write!(f, "the other side speaks {framing}"),
            Self::NoMessages(lines) => write!(f, "none of {lines} lines in a row is a message"),
        }
    }
}

impl core::error::Error for Closed {}
