//! Parses params, and makes the error for invalid params.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use portway::RpcError;

use crate::level::Level;

/// The `data` of the error -32602 (invalid params). The `data` never contains text that may be a secret.
#[derive(Serialize)]
struct InvalidParam<'a> {
    param: &'static str,
    expected: &'static str,
    received: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<[&'static str; 4]>,
}

impl InvalidParam<'_> {
    fn into_error(self) -> RpcError {
        RpcError::invalid_params("Invalid params").with_data(&self)
    }
}

/// Checks that the params are absent, null, an empty array or an empty object.
pub(crate) fn expect_none(params: Option<&RawValue>) -> Result<(), RpcError> {
    match params {
        Some(params) if !is_empty(params) => {
            Err(InvalidParam { param: "params", expected: "nothing", received: kind(params), accepted: None }
                .into_error())
        }
        _ => Ok(()),
    }
}

/// Parses the member `level` of the params.
pub(crate) fn level(params: Option<&RawValue>) -> Result<Level, RpcError> {
    let invalid = |received: &str| {
        let accepted = Some(Level::NAMES);
        InvalidParam { param: "level", expected: "debug|info|warn|error", received, accepted }.into_error()
    };
    let params = params.filter(|params| !is_empty(params)).ok_or_else(|| invalid("nothing"))?;
    if kind(params) != "object" {
        return Err(invalid(kind(params)));
    }
    let Members { level } = serde_json::from_str(params.get()).map_err(|_| invalid("object"))?;
    let level = level.ok_or_else(|| invalid("nothing"))?;
    let Ok(name) = serde_json::from_str::<Cow<'_, str>>(level.get()) else { return Err(invalid(kind(level))) };
    name.parse().map_err(|_| invalid(if is_word(&name) { &name } else { "string" }))
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    level: Option<&'a RawValue>,
}

/// Deserializes a member to `Some`, even if its value is null.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(value).map(Some)
}

/// Returns whether a value is `[]` or `{}`.
fn is_empty(value: &RawValue) -> bool {
    let inside = value.get().strip_prefix(['[', '{']).and_then(|rest| rest.strip_suffix([']', '}']));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

/// Returns the JSON type of a value.
fn kind(value: &RawValue) -> &'static str {
    match value.get().as_bytes() {
        [b'[', ..] => "array",
        [b'{', ..] => "object",
        [b'"', ..] => "string",
        [b't' | b'f', ..] => "boolean",
        [b'n', ..] => "null",
        _ => "number",
    }
}

/// Returns whether a string may be a misspelt level. Any other string may be a secret, and the error must not
/// repeat a secret.
fn is_word(name: &str) -> bool {
    (1..=16).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphabetic())
}
