//! Typed values ↔ JSON text, for handlers: serde at the edge.

mod error;
pub(crate) mod length;

use std::boxed::Box;
use std::collections::BTreeMap;
use std::format;
use std::string::{String, ToString};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

pub use self::error::RpcError;
use crate::echo;
use crate::message::ErrorCode;

/// JSON text.
pub(crate) type Text = Box<RawValue>;

/// Reads what a handler takes. Params that are left out read as null. Where there are none, `[]`, `{}` and null all say so: peers in
/// the field send each of them to a method without params, or with defaults for all.
pub(crate) fn read_params<P: DeserializeOwned>(params: Option<&RawValue>) -> Result<P, String> {
    let text = params.map_or("null", RawValue::get);
    serde_json::from_str(text).or_else(|problem| {
        let others = if is_empty(text) { ["null", "{}", "[]"].as_slice() } else { &[] };
        others.iter().find_map(|other| serde_json::from_str(other).ok()).ok_or_else(|| told(&problem))
    })
}

/// Whether params are null, or an array or object with nothing in it.
fn is_empty(params: &str) -> bool {
    let inner = |open, close| params.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    params == "null" || inner('[', ']').or_else(|| inner('{', '}')).is_some_and(|inner| inner.trim_ascii().is_empty())
}

pub(crate) fn invalid_params(problem: &str) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: {problem}"))
}

pub(crate) fn method_not_found(method: &str) -> RpcError {
    RpcError::new(ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {}", echo::beginning(method)))
}

/// The `data.reason` of a request whose handler has panicked.
pub(crate) const HANDLER_PANICKED: &str = "handler-panicked";

/// The answer to a request whose handler has panicked. The text of the panic is not sent: it may hold anything.
pub(crate) fn handler_panicked() -> RpcError {
    RpcError::internal("Internal error").with_data(&BTreeMap::from([("reason", HANDLER_PANICKED)]))
}

/// Writes what a handler gives.
pub(crate) fn write_result<R: Serialize, E: Into<RpcError>>(outcome: Result<R, E>) -> Result<Text, RpcError> {
    let result = outcome.map_err(Into::into)?;
    to_raw_value(&result).map_err(|problem| RpcError::internal(format!("The result cannot be sent: {problem}")))
}

/// What `params` are written as: an object, an array, or nothing for `()` (JSON-RPC 2.0 §4.2).
pub(crate) fn write_params(params: &(impl Serialize + ?Sized)) -> Result<Option<Text>, String> {
    let text = to_raw_value(params).map_err(|problem| problem.to_string())?;
    match text.get().as_bytes() {
        [b'{' | b'[', ..] => Ok(Some(text)),
        b"null" => Ok(None),
        _ => Err(String::from("they have to be an object or an array")),
    }
}

/// What is wrong, without the place in a text that nobody has seen.
pub(crate) fn told(problem: &serde_json::Error) -> String {
    let text = problem.to_string();
    let place = format!(" at line {} column {}", problem.line(), problem.column());
    echo::ends(text.strip_suffix(&place).map_or_else(|| text.clone(), ToString::to_string))
}
