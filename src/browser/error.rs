//! The errors of calls and of handlers.

use core::fmt;
use std::collections::BTreeMap;
use std::format;
use std::string::{String, ToString};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;

use super::convert::{from_js, to_js};
use super::visits::ReadError;
use crate::ErrorCode;
use crate::Limits;
use portway_web::bindings::{error_code, error_data, error_message, error_name, new_call_error, new_rpc_error};

/// The `data.reason` of a native peer whose handler has panicked.
const HANDLER_PANICKED: &str = "handler-panicked";

/// An error object of JSON-RPC: the error of a handler, which the caller receives.
///
/// ```no_run
/// use portway::{ErrorCode, RpcError};
///
/// const BUILD_FAILED: ErrorCode = ErrorCode::new(-32001);
///
/// fn build(entry: &str) -> Result<u32, RpcError> {
///     Err(RpcError::new(BUILD_FAILED, "no such file").with_data(&[entry]))
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RpcError {
    /// The code of the error.
    pub code: ErrorCode,
    /// A short description.
    pub message: String,
    /// The data of the error, or `undefined`. [`RpcError::data`] reads it.
    pub js_data: JsValue,
    /// The maximum of visits to read the data.
    max_visits: usize,
}

impl PartialEq for RpcError {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code && self.message == other.message && self.js_data == other.js_data
    }
}

impl RpcError {
    /// Creates an error without data.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let max_visits = Limits::DEFAULT.conversion_visits;
        Self { code, message: message.into(), js_data: JsValue::UNDEFINED, max_visits }
    }

    /// Creates the error for invalid params, -32602.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// Creates the error for internal failures, -32603.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }

    /// Sets the data. If serde cannot serialize it, the reason becomes the data.
    #[must_use]
    pub fn with_data(self, data: &(impl Serialize + ?Sized)) -> Self {
        self.with_js_data(to_js(data).unwrap_or_else(|problem| JsValue::from_str(&problem)))
    }

    /// Sets the data to a value of JavaScript.
    #[must_use]
    pub fn with_js_data(self, data: JsValue) -> Self {
        Self { js_data: data, ..self }
    }

    /// Returns the member `reason` of the data. Portway sets it in its own errors, for example to `too-many-requests`.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Data {
            reason: String,
        }
        self.data::<Data>()?.ok().map(|data| data.reason)
    }

    /// Returns the data, or `None` without data.
    ///
    /// # Errors
    /// If the data is not of this type, or takes more visits to read than [`Limits::conversion_visits`]; with the
    /// reason.
    pub fn data<T: DeserializeOwned>(&self) -> Option<Result<T, String>> {
        let read = || from_js(self.js_data.clone(), self.max_visits).map_err(|problem| problem.to_string());
        (!self.js_data.is_undefined()).then(read)
    }

    /// Reads an `RPCError` of JavaScript.
    pub(super) fn from_js(error: &JsValue, max_visits: usize) -> Result<Self, ReadError> {
        let code = ErrorCode::new(error_code(error) as i64);
        let message = from_js(error_message(error), max_visits)?;
        Ok(Self { code, message, js_data: error_data(error), max_visits })
    }

    /// Creates the error for params that cannot be read.
    pub(super) fn unreadable_params(problem: &ReadError) -> Self {
        let error = Self::invalid_params(format!("Invalid params: {problem}"));
        match problem.reason() {
            Some(reason) => error.with_data(&BTreeMap::from([("reason", reason)])),
            None => error,
        }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl core::error::Error for RpcError {}

/// Converts the error to an `RPCError` of the JavaScript API.
impl From<RpcError> for JsValue {
    fn from(error: RpcError) -> Self {
        new_rpc_error(error.code.value() as f64, &error.message, &error.js_data)
    }
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// The peer responded with an error.
    Remote(RpcError),
    /// The handler of the peer has panicked. The peer keeps running. A peer that is compiled to wasm ends instead.
    HandlerPanicked,
    /// The program of the peer has ended by a panic or a trap, and responds to no more requests.
    PeerDied,
    /// The timeout has passed without a response.
    TimedOut,
    /// The client was destroyed.
    Destroyed,
    /// The peer was reloaded or closed, or has started a new session. Later calls wait for the next session.
    SessionEnded,
    /// The peer is closed, removed or terminated, or has not started. Later calls fail at once, until the peer sends a
    /// message.
    PeerGone,
    /// The peer does not answer heartbeats. Later calls are sent nevertheless.
    Unresponsive,
    /// The response has neither result nor error.
    InvalidResponse,
    /// The response has arrived, but cannot be deserialized here.
    UnreadableResponse,
    /// Too many calls are pending; this one was not sent.
    TooManyCalls,
    /// The params are neither an object nor an array, or serde cannot serialize them; nothing was sent.
    Params(String),
    /// The transport could not send the message, for example since its params cannot be cloned.
    Send(JsValue),
    /// The result is not of the expected type; or a result, an error, an item or a progress value is nested too deep or
    /// takes more visits to read than [`Limits::conversion_visits`].
    Deserialize(String),
}

impl CallError {
    /// Returns the error of a call that was answered with this error object.
    pub(super) fn from_answer(error: RpcError) -> Self {
        let is_panic = error.code == ErrorCode::INTERNAL_ERROR && error.reason().as_deref() == Some(HANDLER_PANICKED);
        if is_panic { Self::HandlerPanicked } else { Self::Remote(error) }
    }

    pub(super) fn unreadable(problem: ReadError) -> Self {
        Self::Deserialize(problem.to_string())
    }

    /// Returns the error object from the peer, if this is [`CallError::Remote`].
    #[must_use]
    pub const fn remote(&self) -> Option<&RpcError> {
        match self {
            Self::Remote(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the `reason` of the error in the JavaScript API, if it has one.
    const fn reason(&self) -> Option<&'static str> {
        match self {
            Self::PeerDied => Some("peer-died"),
            Self::TimedOut => Some("timeout"),
            Self::Destroyed => Some("destroyed"),
            Self::SessionEnded => Some("session-ended"),
            Self::PeerGone => Some("peer-gone"),
            Self::Unresponsive => Some("unresponsive"),
            Self::InvalidResponse => Some("invalid-response"),
            Self::UnreadableResponse => Some("unreadable-response"),
            Self::TooManyCalls => Some("too-many-calls"),
            _ => None,
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
            Self::InvalidResponse => f.write_str("the response has neither result nor error"),
            Self::UnreadableResponse => f.write_str("the response cannot be deserialized"),
            Self::TooManyCalls => f.write_str("too many calls are pending"),
            Self::Params(problem) => write!(f, "the params cannot be sent: {problem}"),
            // Only the name: the `Debug` form contains a stack, and the message may contain the source of a function.
            Self::Send(problem) => write!(f, "the message cannot be sent: {}", error_name(problem)),
            Self::Deserialize(problem) => write!(f, "the result is not as expected: {problem}"),
        }
    }
}

impl core::error::Error for CallError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        // `Display` writes the text of the peer's error, so the source is the source of that error.
        self.remote()?.source()
    }
}

impl From<RpcError> for CallError {
    fn from(error: RpcError) -> Self {
        Self::Remote(error)
    }
}

/// Lets a handler that makes calls use `?`. An error from the peer is passed on unchanged. Any other error becomes an
/// internal error with a text of this crate; texts of its source may contain paths, values and stacks, and are not
/// sent.
impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Remote(error) => error,
            CallError::Params(_) => Self::internal("the params cannot be sent"),
            CallError::Deserialize(_) => Self::internal("the result is not as expected"),
            other => Self::internal(other.to_string()),
        }
    }
}

/// Converts the error to that of the JavaScript API.
impl From<CallError> for JsValue {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Remote(error) => error.into(),
            CallError::Send(problem) => problem,
            other => match other.reason() {
                Some(reason) => new_call_error(reason, &other.to_string()),
                None => wasm_bindgen::JsError::new(&other.to_string()).into(),
            },
        }
    }
}
