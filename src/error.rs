//! The errors of the Rust APIs, natively and in browsers, and the errors with which the library itself answers
//! requests.

#[cfg(any(
    all(feature = "native", any(unix, windows)),
    all(target_family = "wasm", target_os = "unknown", feature = "browser")
))]
mod call_error;
#[cfg(any(
    all(feature = "native", any(unix, windows)),
    all(target_family = "wasm", target_os = "unknown", feature = "browser")
))]
mod closed;
mod data;
mod rpc_error;

use core::fmt;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
use std::collections::BTreeMap;

#[cfg(any(
    all(feature = "native", any(unix, windows)),
    all(target_family = "wasm", target_os = "unknown", feature = "browser")
))]
pub use self::call_error::{CallError, SendError};
#[cfg(any(
    all(feature = "native", any(unix, windows)),
    all(target_family = "wasm", target_os = "unknown", feature = "browser")
))]
pub use self::closed::Closed;
#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
pub(crate) use self::data::ErrorData;
pub use self::rpc_error::RpcError;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
use crate::ErrorCode;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
use crate::echo;

/// The `data.reason` of the error for a handler that panicked.
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec", feature = "browser"))]
pub(crate) const HANDLER_PANICKED: &str = "handler-panicked";

/// The error text for params that JSON-RPC does not allow (JSON-RPC 2.0 §4.2).
pub(crate) const PARAMS_NOT_STRUCTURED: &str = "params must serialize to an object or an array";

/// Returns the error for params that are not of the handler's type.
pub(crate) fn invalid_params(problem: impl fmt::Display) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: {problem}"))
}

/// Returns the error for a result that cannot be serialized.
pub(crate) fn unserializable_result(problem: impl fmt::Display) -> RpcError {
    RpcError::internal(format!("The result cannot be sent: {problem}"))
}

/// Returns the error for a method that is not registered.
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
pub(crate) fn method_not_found(method: &str) -> RpcError {
    RpcError::new(ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {}", echo::first_100_characters(method)))
}

/// Returns the error for a request whose handler panicked. The error omits the message of the panic, which may contain
/// private data.
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
pub(crate) fn handler_panicked() -> RpcError {
    RpcError::internal("Internal error").with_data(&BTreeMap::from([("reason", HANDLER_PANICKED)]))
}
