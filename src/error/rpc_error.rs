//! The error object of JSON-RPC.

use core::fmt;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
use std::borrow::Cow;

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
use serde_json::value::RawValue;

use super::data::ErrorData;
use crate::ErrorCode;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
use crate::json_value::Text;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
use crate::message::ErrorObject;

/// A JSON-RPC error object (JSON-RPC 2.0 §5.1). A handler returns an `RpcError`, and the caller receives it.
///
/// ```
/// use portway::{ErrorCode, RpcError};
///
/// const BUILD_FAILED: ErrorCode = ErrorCode::new(-32001);
///
/// let error = RpcError::new(BUILD_FAILED, "no such file").with_data(&["main.rs"]);
/// assert_eq!(error.data::<Vec<String>>(), Some(Ok(vec!["main.rs".to_owned()])));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RpcError {
    /// The error code.
    pub code: ErrorCode,
    /// A short description.
    pub message: String,
    pub(crate) data: Option<ErrorData>,
}

impl RpcError {
    /// Creates an error without data.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Creates the error -32602, for params that are not valid for the method.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// Creates the error -32603, for a failure inside the handler or the server.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }

    /// Sets the data. If serde cannot serialize the data, the text of its error becomes the data.
    #[must_use]
    pub fn with_data(self, data: &(impl Serialize + ?Sized)) -> Self {
        Self { data: ErrorData::serialize(data), ..self }
    }

    /// Returns the member `reason` of the data. Many errors that Portway itself sends have a reason, for example
    /// `too-many-requests`.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        self.data::<Reason>()?.ok()?.0
    }

    /// Deserializes the data. Returns `None` if the error has no data.
    ///
    /// # Errors
    /// If the data is not of the type `T`. In a browser, also if the data needs more visits than
    /// [`Limits::conversion_visits`](crate::Limits::conversion_visits).
    pub fn data<T: DeserializeOwned>(&self) -> Option<Result<T, String>> {
        self.data.as_ref().map(ErrorData::deserialize)
    }

    /// Returns the data as JSON text. Returns `None` if the error has no data. In a browser, also returns `None` for a
    /// JavaScript value that JSON cannot express.
    ///
    /// ```
    /// # use portway::RpcError;
    /// let error = RpcError::internal("no such file").with_data(&["main.rs"]);
    /// assert_eq!(error.raw_data().expect("there is data").get(), r#"["main.rs"]"#);
    /// ```
    #[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
    #[must_use]
    pub fn raw_data(&self) -> Option<Cow<'_, RawValue>> {
        match self.data.as_ref()? {
            ErrorData::Json(text) => Some(Cow::Borrowed(text)),
            #[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
            data => data.clone().into_json().map(Cow::Owned),
        }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl core::error::Error for RpcError {}

#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
impl From<ErrorObject<Text>> for RpcError {
    fn from(error: ErrorObject<Text>) -> Self {
        Self { code: error.code, message: error.message.into(), data: error.data.map(ErrorData::Json) }
    }
}

#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
impl From<RpcError> for ErrorObject<Text> {
    fn from(error: RpcError) -> Self {
        let data = error.data.and_then(ErrorData::into_json);
        Self { code: error.code, message: error.message.into(), data }
    }
}

/// The member `reason` of an object. A derived implementation of `Deserialize` would also accept an array, and read the
/// first element of the array.
struct Reason(Option<String>);

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReasonVisitor)
    }
}

struct ReasonVisitor;

impl<'de> Visitor<'de> for ReasonVisitor {
    type Value = Reason;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Reason, A::Error> {
        let mut reason = None;
        while let Some(name) = members.next_key::<String>()? {
            if name == "reason" {
                reason = Some(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Reason(reason))
    }
}
