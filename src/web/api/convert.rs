//! Between Rust and JavaScript, by serde.

use std::format;
use std::string::{String, ToString};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;

use super::bridge::is_too_deep;
use super::error::CallError;

/// What `serde_json` would make of a value, but that bytes stay bytes: maps are objects, and `None` is null.
const SERIALIZER: Serializer = Serializer::new().serialize_maps_as_objects(true).serialize_missing_as_null(true);

pub(super) fn to_js(value: &(impl Serialize + ?Sized)) -> Result<JsValue, String> {
    let value = value.serialize(&SERIALIZER).map_err(text)?;
    check_depth(&value)?;
    Ok(value)
}

pub(super) fn from_js<T: DeserializeOwned>(value: JsValue) -> Result<T, String> {
    check_depth(&value)?;
    serde_wasm_bindgen::from_value(value).map_err(text)
}

/// What is nested without end would end the stack, and all of this program with it.
fn check_depth(value: &JsValue) -> Result<(), String> {
    if value.is_object() && is_too_deep(value) {
        return Err("the value is nested more than 128 levels deep".to_string());
    }
    Ok(())
}

/// The longest text of a problem, in UTF-16 code units: serde repeats the value in it, which may be the peer's.
const MAX_PROBLEM: u32 = 100;

/// Without the word "Error" in front, which JavaScript would put there.
fn text(problem: serde_wasm_bindgen::Error) -> String {
    let text = js_sys::Error::from(JsValue::from(problem)).message();
    let start = text.slice(0, MAX_PROBLEM);
    if text.length() > MAX_PROBLEM { format!("{start}…") } else { start.into() }
}

/// The params of a call: an object, an array, or nothing (JSON-RPC 2.0 §4.2).
pub(super) fn params_to_js(params: &(impl Serialize + ?Sized)) -> Result<JsValue, CallError> {
    let params = to_js(params).map_err(CallError::Params)?;
    check_params(&params)?;
    Ok(params)
}

pub(super) fn check_params(params: &JsValue) -> Result<(), CallError> {
    if params.is_object() || params.is_null() || params.is_undefined() {
        return Ok(());
    }
    Err(CallError::Params("params are an object or an array".to_string()))
}
