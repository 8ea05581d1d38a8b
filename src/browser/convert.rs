//! Conversions between values of Rust and of JavaScript, by serde.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;

use super::deserializer;
use super::visits::ReadError;
use crate::echo;
use crate::error::{CallError, PARAMS_NOT_STRUCTURED};
use portway_web::bindings::problem_of;

// The results of the check before a conversion; `rust-values.js` has the same numbers.
const FITS: u32 = 0;
const TOO_DEEP: u32 = 1;
const TOO_MANY_VISITS: u32 = 2;

/// Serializes as `serde_json` does: maps become objects, and `None` becomes null. Bytes stay bytes.
const SERIALIZER: Serializer = Serializer::new().serialize_maps_as_objects(true).serialize_missing_as_null(true);

/// Converts a value of the application. Its size is not limited; its nesting is, since the peer could not read deeper
/// values.
pub(super) fn to_js(value: &(impl Serialize + ?Sized)) -> Result<JsValue, String> {
    let value = value.serialize(&SERIALIZER).map_err(text)?;
    check(&value, usize::MAX).map_err(|problem| problem.to_string())?;
    Ok(value)
}

/// Reads a value from the peer. All values from peers are read here. The visits are counted before the conversion, so
/// that a small message that stands for a large value is refused at once. They are counted again during the conversion,
/// since a type may visit more, such as getters, and since a value may change.
pub(super) fn from_js<T: DeserializeOwned>(value: JsValue, max_visits: usize) -> Result<T, ReadError> {
    check(&value, max_visits)?;
    deserializer::read(value, max_visits)
}

/// Reads the params of a handler. Absent params, null, `[]` and `{}` are equivalent.
pub(super) fn params_from_js<T: DeserializeOwned>(params: JsValue, max_visits: usize) -> Result<T, ReadError> {
    from_js(params.clone(), max_visits).or_else(|problem| {
        let others = [JsValue::NULL, js_sys::Object::new().into(), js_sys::Array::new().into()];
        let mut others = others.into_iter().take(if is_empty(&params) { 3 } else { 0 });
        others.find_map(|other| from_js(other, max_visits).ok()).ok_or(problem)
    })
}

/// Returns whether params are empty. A `Map`, a `Set` or a `Date` has no own members, but is not empty.
///
/// `Reflect` returns the exception of a proxy as an error.
fn is_empty(params: &JsValue) -> bool {
    if params.is_null() || params.is_undefined() {
        return true;
    }
    let Ok(prototype) = js_sys::Reflect::get_prototype_of(params) else { return false };
    let members = js_sys::Reflect::own_keys(params).map_or(u32::MAX, |keys| keys.length());
    // An array has the member `length`.
    if js_sys::Array::is_array(params) { members == 1 } else { is_root(&prototype) && members == 0 }
}

/// Returns whether a prototype is that of plain objects, of any realm: it has no prototype itself.
fn is_root(prototype: &JsValue) -> bool {
    prototype.is_null() || js_sys::Reflect::get_prototype_of(prototype).is_ok_and(|next| next.is_null())
}

fn check(value: &JsValue, max_visits: usize) -> Result<(), ReadError> {
    let limit = if max_visits == usize::MAX { f64::INFINITY } else { max_visits as f64 };
    match problem_of(value, limit) {
        FITS => Ok(()),
        TOO_DEEP => Err(ReadError::TooDeep),
        TOO_MANY_VISITS => Err(ReadError::TooManyVisits(max_visits)),
        _ => Err(ReadError::Unreadable),
    }
}

/// Returns the message of an error without the prefix "Error", shortened, since it may repeat text from the peer.
fn text(problem: serde_wasm_bindgen::Error) -> String {
    echo::ends(js_sys::Error::from(JsValue::from(problem)).message().into())
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
