//! `RpcError`, and the errors that the library itself answers requests with.

use core::fmt;
use std::collections::BTreeMap;
use std::format;
use std::string::{String, ToString};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use crate::ErrorCode;
use crate::echo;
use crate::json_value::Text;
use crate::message::ErrorObject;

/// A JSON-RPC error object: a handler returns it, and the caller receives it.
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
    /// The error code.
    pub code: ErrorCode,
    /// A short description.
    pub message: String,
    /// Further details, as JSON text. [`RpcError::data`] deserializes them.
    pub raw_data: Option<Text>,
}

impl RpcError {
    /// Creates an error without data.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), raw_data: None }
    }

    /// Creates the error -32602, for params that do not fit the method.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// Creates the error -32603, for a failure inside the handler or the server.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }

    /// Sets the data. If serde cannot serialize it, the reason takes its place.
    #[must_use]
    pub fn with_data(self, data: &(impl Serialize + ?Sized)) -> Self {
        let data = to_raw_value(data).or_else(|problem| to_raw_value(&problem.to_string())).ok();
        Self { raw_data: data, ..self }
    }

    /// Returns the member `reason` of the data. Portway sets it in its own errors, for example to `too-many-requests`.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(self.raw_data.as_deref()?.get()).ok()?;
        serde_json::from_str(members.get("reason")?.get()).ok()
    }

    /// Deserializes the data. Returns `None` if the error has no data.
    ///
    /// # Errors
    /// Returns the reason if the data does not fit the type.
    pub fn data<T: DeserializeOwned>(&self) -> Option<Result<T, String>> {
        let data = self.raw_data.as_deref()?;
        Some(serde_json::from_str(data.get()).map_err(|problem| echo::ends(problem.to_string())))
    }
}

/// Compares data by its JSON text.
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

/// Returns the error for params that do not fit the type of the handler.
pub(crate) fn invalid_params(problem: &str) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: {problem}"))
}

/// Returns the error for a method that is not registered.
pub(crate) fn method_not_found(method: &str) -> RpcError {
    RpcError::new(ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {}", echo::beginning(method)))
}

/// The `data.reason` of the error for a handler that panicked.
pub(crate) const HANDLER_PANICKED: &str = "handler-panicked";

/// Returns the error for a request whose handler panicked. It leaves out the message of the panic, which may contain
/// private data.
pub(crate) fn handler_panicked() -> RpcError {
    RpcError::internal("Internal error").with_data(&BTreeMap::from([("reason", HANDLER_PANICKED)]))
}
