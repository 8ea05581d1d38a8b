//! The errors of handlers.

use core::fmt;
use std::collections::BTreeMap;
use std::string::{String, ToString};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use super::Text;
use crate::echo;
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

    /// The member `reason` of the data. Portway itself sets it, for instance to `too-many-requests`.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(self.raw_data.as_deref()?.get()).ok()?;
        serde_json::from_str(members.get("reason")?.get()).ok()
    }

    /// The data, if there is any.
    ///
    /// # Errors
    /// If it is not of this type; with the reason.
    pub fn data<T: DeserializeOwned>(&self) -> Option<Result<T, String>> {
        let data = self.raw_data.as_deref()?;
        Some(serde_json::from_str(data.get()).map_err(|problem| echo::ends(problem.to_string())))
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
