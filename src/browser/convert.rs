//! Conversions between values of Rust and of JavaScript, by serde.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;

use super::conversion_limits::ReadError;
use super::deserializer;
use crate::echo;
use crate::error::{CallError, PARAMS_NOT_STRUCTURED};
use portway_web::bindings::problem_of;

// The results of `problem_of`, which checks a value before its conversion. `js/rust/values.js` of `portway-web` has the
// same numbers.
const FITS: u32 = 0;
const TOO_DEEP: u32 = 1;
const TOO_MANY_VISITS: u32 = 2;

/// As in `serde_json`, maps become objects, and `None` becomes null. Unlike in `serde_json`, bytes become a
/// `Uint8Array`.
const SERIALIZER: Serializer = Serializer::new().serialize_maps_as_objects(true).serialize_missing_as_null(true);

/// Converts a value of the application. The nesting is limited, because a peer in Rust could not read a deeper value.
/// The size is not limited.
pub(super) fn to_js(value: &(impl Serialize + ?Sized)) -> Result<JsValue, String> {
    let value = value.serialize(&SERIALIZER).map_err(text)?;
    check(&value, usize::MAX).map_err(|problem| problem.to_string())?;
    Ok(value)
}

/// Reads a value from the peer. This function converts all values from peers.
///
/// `check` counts the visits before the conversion. So a value with too many visits is refused before it is copied. For
/// example, a value that contains the same object many times would be copied many times. The conversion counts the
/// visits again, for two reasons. The type may visit values that `check` does not visit, for example getters. The value
/// may also change after the check.
pub(super) fn from_js<T: DeserializeOwned>(value: JsValue, max_visits: usize) -> Result<T, ReadError> {
    check(&value, max_visits)?;
    deserializer::read(value, max_visits)
}

/// Reads the params of a handler. Absent params, null, `[]` and `{}` are equivalent.
pub(super) fn params_from_js<T: DeserializeOwned>(params: JsValue, max_visits: usize) -> Result<T, ReadError> {
    from_js(params.clone(), max_visits).or_else(|problem| {
        let empty_values = [JsValue::NULL, js_sys::Object::new().into(), js_sys::Array::new().into()];
        let mut empty_values = empty_values.into_iter().take(if is_empty(&params) { 3 } else { 0 });
        empty_values.find_map(|empty| from_js(empty, max_visits).ok()).ok_or(problem)
    })
}

/// Returns whether params are empty. A `Map`, a `Set` or a `Date` has no own members, but is not empty.
///
/// A proxy may throw an exception. `Reflect` returns the exception as an error, so the exception does not unwind
/// through Rust.
fn is_empty(params: &JsValue) -> bool {
    if params.is_null() || params.is_undefined() {
        return true;
    }
    let Ok(prototype) = js_sys::Reflect::get_prototype_of(params) else { return false };
    let members = js_sys::Reflect::own_keys(params).map_or(u32::MAX, |keys| keys.length());
    // An array has the member `length`.
    if js_sys::Array::is_array(params) { members == 1 } else { is_root(&prototype) && members == 0 }
}

/// Returns whether a prototype is null, or the `Object.prototype` of any realm, which has no prototype itself.
fn is_root(prototype: &JsValue) -> bool {
    prototype.is_null() || js_sys::Reflect::get_prototype_of(prototype).is_ok_and(|next| next.is_null())
}

/// Checks the nesting and the number of visits of a value.
fn check(value: &JsValue, max_visits: usize) -> Result<(), ReadError> {
    let limit = if max_visits == usize::MAX { f64::INFINITY } else { max_visits as f64 };
    match problem_of(value, limit) {
        FITS => Ok(()),
        TOO_DEEP => Err(ReadError::TooDeep),
        TOO_MANY_VISITS => Err(ReadError::TooManyVisits(max_visits)),
        _ => Err(ReadError::Unreadable),
    }
}

/// Returns the message of an error, without the prefix "Error". The message is shortened, because it may repeat a long
/// text of the peer.
fn text(problem: serde_wasm_bindgen::Error) -> String {
    echo::shorten_middle(js_sys::Error::from(JsValue::from(problem)).message().into())
}

/// Converts the params of a call: an object, an array, or none (JSON-RPC 2.0 §4.2).
pub(super) fn params_to_js(params: &(impl Serialize + ?Sized)) -> Result<JsValue, CallError> {
    let params = to_js(params).map_err(CallError::Params)?;
    check_params(&params)?;
    Ok(params)
}

pub(super) fn check_params(params: &JsValue) -> Result<(), CallError> {
    if params.is_object() || params.is_null() || params.is_undefined() {
        return Ok(());
    }
    Err(CallError::Params(PARAMS_NOT_STRUCTURED.to_string()))
}
