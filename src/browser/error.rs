//! Conversions between the errors of Rust and of JavaScript, and error data that is a value of JavaScript.

use core::fmt;
use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
#[cfg(feature = "codec")]
use serde_json::value::RawValue;
use wasm_bindgen::JsValue;

use super::conversion_limits::ReadError;
use super::convert::{from_js, to_js};
use portway_web::bindings::{error_code, error_data, error_message, error_name, new_call_error, new_rpc_error};

use crate::ErrorCode;
use crate::Limits;
use crate::error::{CallError, ErrorData, RpcError, SendError, invalid_params};
#[cfg(feature = "codec")]
use crate::json_value::Text;

/// The data of an error, as a value of JavaScript.
#[derive(Clone, Debug)]
pub(crate) struct JsData {
    pub(crate) value: JsValue,
    /// The maximum number of visits to read the value.
    max_visits: usize,
}

impl JsData {
    /// Returns `None` for `undefined`, which means no data.
    fn new(value: JsValue, max_visits: usize) -> Option<Self> {
        (!value.is_undefined()).then_some(Self { value, max_visits })
    }

    /// Serializes data. If the serialization fails, the text of its error becomes the data.
    pub(crate) fn serialize(data: &(impl Serialize + ?Sized)) -> Option<Self> {
        let value = to_js(data).unwrap_or_else(|problem| JsValue::from_str(&problem));
        Self::new(value, Limits::DEFAULT.conversion_visits)
    }

    pub(crate) fn deserialize<T: DeserializeOwned>(&self) -> Result<T, String> {
        from_js(self.value.clone(), self.max_visits).map_err(|problem| problem.to_string())
    }

    /// Returns the value as JSON text. Returns `None` if JSON cannot express the value, for example a function or a
    /// `BigInt`.
    #[cfg(feature = "codec")]
    pub(crate) fn to_json(&self) -> Option<Text> {
        let text = JsValue::from(js_sys::JSON::stringify(&self.value).ok()?).as_string()?;
        RawValue::from_string(text).ok()
    }
}

impl RpcError {
    /// Sets the data to a value of JavaScript. `undefined` removes the data.
    #[must_use]
    pub fn with_js_data(self, data: JsValue) -> Self {
        Self { data: JsData::new(data, Limits::DEFAULT.conversion_visits).map(ErrorData::Js), ..self }
    }

    /// Returns the data as a value of JavaScript, or `undefined` if the error has no data.
    #[must_use]
    pub fn js_data(&self) -> JsValue {
        match &self.data {
            None => JsValue::UNDEFINED,
            Some(ErrorData::Js(data)) => data.value.clone(),
            #[cfg(feature = "codec")]
            Some(ErrorData::Json(text)) => js_sys::JSON::parse(text.get()).unwrap_or(JsValue::UNDEFINED),
        }
    }

    /// Reads an `RPCError` of JavaScript.
    pub(super) fn from_js(error: &JsValue, max_visits: usize) -> Result<Self, ReadError> {
        let code = ErrorCode::new(error_code(error) as i64);
        let message: String = from_js(error_message(error), max_visits)?;
        let data = JsData::new(error_data(error), max_visits).map(ErrorData::Js);
        Ok(Self { data, ..Self::new(code, message) })
    }

    /// Creates the error for params that cannot be read.
    pub(super) fn unreadable_params(problem: &ReadError) -> Self {
        let error = invalid_params(problem);
        match problem.reason() {
            Some(reason) => error.with_data(&BTreeMap::from([("reason", reason)])),
            None => error,
        }
    }
}

/// Converts the error to an `RPCError` of the JavaScript API.
impl From<RpcError> for JsValue {
    fn from(error: RpcError) -> Self {
        new_rpc_error(error.code.value() as f64, &error.message, &error.js_data())
    }
}

impl CallError {
    /// Creates the error for a value from the peer that cannot be converted.
    pub(super) fn from_read_error(problem: ReadError) -> Self {
        Self::Deserialize(problem.to_string())
    }

    /// Creates the error for a message that could not be sent, from the exception that was thrown.
    pub(super) const fn send(problem: JsValue) -> Self {
        Self::Send(SendError(problem))
    }

    /// Returns the `reason` of the error in the JavaScript API, or `None` for an error without a reason.
    const fn reason(&self) -> Option<&'static str> {
        match self {
            Self::PeerDied => Some("peer-died"),
            Self::TimedOut => Some("timeout"),
            Self::Destroyed => Some("destroyed"),
            Self::SessionEnded => Some("session-ended"),
            Self::PeerGone => Some("peer-gone"),
            Self::Unresponsive => Some("unresponsive"),
            Self::InvalidResponse => Some("invalid-response"),
            Self::Unreadable(_) => Some("unreadable-response"),
            Self::TooManyCalls => Some("too-many-calls"),
            _ => None,
        }
    }
}

/// Converts the error to the equivalent error of the JavaScript API.
impl From<CallError> for JsValue {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Remote(error) => error.into(),
            CallError::Send(problem) => problem.into(),
            other => match other.reason() {
                Some(reason) => new_call_error(reason, &other.to_string()),
                None => wasm_bindgen::JsError::new(&other.to_string()).into(),
            },
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the name of the exception is written. The `Debug` form contains a stack, and the message may contain the
        // source of a function.
        write!(f, "the message cannot be sent: {}", error_name(&self.0))
    }
}

/// Returns the exception that was thrown by the attempt to send the message.
impl From<SendError> for JsValue {
    fn from(error: SendError) -> Self {
        error.0
    }
}
