//! Reading params, and the error for those that do not fit.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use portway::RpcError;

use crate::level::Level;

/// The `data` of an error -32602. It repeats nothing that could be a secret.
#[derive(Serialize)]
struct Misfit<'a> {
    param: &'static str,
    expected: &'static str,
    received: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<[&'static str; 4]>,
}

impl Misfit<'_> {
    fn into_error(self) -> RpcError {
        RpcError::invalid_params("Invalid params").with_data(&self)
    }
}

/// The error for params where a method takes none. An empty array or object is as good as none.
pub(crate) fn refuse(params: Option<&RawValue>) -> Result<(), RpcError> {
    match params {
        Some(params) if !is_empty(params) => {
            Err(Misfit { param: "params", expected: "nothing", received: kind(params), accepted: None }.into_error())
        }
        _ => Ok(()),
    }
}

/// The member `level`.
pub(crate) fn level(params: Option<&RawValue>) -> Result<Level, RpcError> {
    let misfit = |received: &str| {
        let accepted = Some(Level::NAMES);
        Misfit { param: "level", expected: "debug|info|warn|error", received, accepted }.into_error()
    };
    let params = params.filter(|params| !is_empty(params)).ok_or_else(|| misfit("nothing"))?;
    if kind(params) != "object" {
        return Err(misfit(kind(params)));
    }
    let Members { level } = serde_json::from_str(params.get()).map_err(|_| misfit("object"))?;
    let level = level.ok_or_else(|| misfit("nothing"))?;
    let Ok(name) = serde_json::from_str::<Cow<'_, str>>(level.get()) else { return Err(misfit(kind(level))) };
    name.parse().map_err(|_| misfit(if is_word(&name) { &name } else { "string" }))
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    level: Option<&'a RawValue>,
}

/// A member that is there, null or not.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(value).map(Some)
}

/// Whether it is `[]` or `{}`.
fn is_empty(value: &RawValue) -> bool {
    let inside = value.get().strip_prefix(['[', '{']).and_then(|rest| rest.strip_suffix([']', '}']));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

/// The type of a value.
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

/// Whether it may be meant as the name of a level, and is worth repeating. Other strings could be anything.
fn is_word(name: &str) -> bool {
    (1..=16).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphabetic())
}
