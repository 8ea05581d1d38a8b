//! Converts the params and results of outgoing calls, with errors of calls.

use std::string::{String, ToString};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use super::Text;
use super::error::CallError;
use crate::json_value::{self, without_position};

pub(super) fn write_params(params: &(impl Serialize + ?Sized)) -> Result<Option<Text>, CallError> {
    json_value::write_params(params).map_err(CallError::Params)
}

pub(super) fn read_result<R: DeserializeOwned>(result: &RawValue) -> Result<R, CallError> {
    serde_json::from_str(result.get()).map_err(|problem| CallError::Deserialize(without_position(&problem)))
}

/// Serializes any value.
pub(super) fn write_value(value: &(impl Serialize + ?Sized)) -> Result<Text, String> {
    to_raw_value(value).map_err(|problem| problem.to_string())
}
