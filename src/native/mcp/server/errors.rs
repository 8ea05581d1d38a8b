//! The errors that only MCP defines.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::MODERN_VERSIONS;
use crate::ErrorCode;
use crate::error::RpcError;

/// The HTTP headers and the body differ.
#[cfg(feature = "mcp-http")]
const HEADER_MISMATCH: ErrorCode = ErrorCode::new(-32020);
/// The client does not have a capability.
const MISSING_CAPABILITY: ErrorCode = ErrorCode::new(-32021);
/// The server does not support the version.
const UNSUPPORTED_VERSION: ErrorCode = ErrorCode::new(-32022);
/// The resource is unknown. Only the legacy era has this code.
const RESOURCE_NOT_FOUND: ErrorCode = ErrorCode::new(-32002);

#[cfg(feature = "mcp-http")]
pub(super) fn header_mismatch(problem: impl Into<String>) -> RpcError {
    RpcError::new(HEADER_MISMATCH, problem)
}

pub(super) fn missing_capability(capability: &str) -> RpcError {
    let required = BTreeMap::from([(capability, json!({}))]);
    RpcError::new(MISSING_CAPABILITY, format!("the client must have the capability {capability}"))
        .with_data(&json!({ "requiredCapabilities": required }))
}

pub(super) fn unsupported_version(requested: &str) -> RpcError {
    RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(&json!({ "supported": MODERN_VERSIONS, "requested": requested }))
}

pub(super) fn resource_not_found(uri: &str, is_modern: bool) -> RpcError {
    let code = if is_modern { ErrorCode::INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
    RpcError::new(code, "Resource not found").with_data(&json!({ "uri": uri }))
}

/// Returns the HTTP status of a response of the modern era.
#[cfg(feature = "mcp-http")]
pub(super) fn http_status(error: &RpcError) -> hyper::StatusCode {
    match error.code {
        ErrorCode::METHOD_NOT_FOUND => hyper::StatusCode::NOT_FOUND,
        ErrorCode::PARSE_ERROR
        | ErrorCode::INVALID_REQUEST
        | ErrorCode::INVALID_PARAMS
        | HEADER_MISMATCH
        | MISSING_CAPABILITY
        | UNSUPPORTED_VERSION => hyper::StatusCode::BAD_REQUEST,
        // MCP defines no other status for errors of handlers.
        _ => hyper::StatusCode::OK,
    }
}

/// Returns the error result of a tool. A model reads this result, and can correct its arguments.
pub(super) fn invalid_arguments(problem: &str) -> Value {
    json!({ "isError": true, "content": [{ "type": "text", "text": format!("Invalid arguments: {problem}") }] })
}
