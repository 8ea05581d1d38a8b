//! Typed values ↔ JSON text.

use std::format;
use std::string::{String, ToString};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use super::Text;
use super::error::{CallError, RpcError};

/// What `params` are written as: an object, an array, or nothing for `()` (JSON-RPC 2.0 §4.2).
pub(super) fn write_params(params: &(impl Serialize + ?Sized)) -> Result<Option<Text>, CallError> {
    let text = to_raw_value(params).map_err(|problem| CallError::Params(problem.to_string()))?;
    match text.get().as_bytes() {
        [b'{' | b'[', ..] => Ok(Some(text)),
        b"null" => Ok(None),
        _ => Err(CallError::Params(String::from("they have to be an object or an array"))),
    }
}

/// Reads what a handler takes. Left out params read as null.
pub(super) fn read_params<P: DeserializeOwned>(params: Option<&RawValue>) -> Result<P, String> {
    serde_json::from_str(params.map_or("null", RawValue::get)).map_err(|problem| told(&problem))
}

pub(super) fn invalid_params(problem: &str) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: {problem}"))
}

/// Writes what a handler gives.
pub(super) fn write_result<R: Serialize, E: Into<RpcError>>(outcome: Result<R, E>) -> Result<Text, RpcError> {
    let result = outcome.map_err(Into::into)?;
    to_raw_value(&result).map_err(|problem| RpcError::internal(format!("The result cannot be sent: {problem}")))
}

pub(super) fn read_result<R: DeserializeOwned>(result: &RawValue) -> Result<R, CallError> {
    serde_json::from_str(result.get()).map_err(|problem| CallError::Deserialize(told(&problem)))
}

/// Writes any value.
pub(super) fn write_value(value: &(impl Serialize + ?Sized)) -> Result<Text, String> {
    to_raw_value(value).map_err(|problem| problem.to_string())
}

/// What is wrong, without the place in a text that nobody has seen.
fn told(problem: &serde_json::Error) -> String {
    let text = problem.to_string();
    let place = format!(" at line {} column {}", problem.line(), problem.column());
    text.strip_suffix(&place).map_or_else(|| text.clone(), ToString::to_string)
}
