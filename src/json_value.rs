//! Converts between typed values and JSON text, for params and results.

use std::cell::Cell;

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::value::RawValue;

use crate::codec::json;
use crate::echo;
use crate::error::{PARAMS_NOT_STRUCTURED, RpcError, unserializable_result};

/// Maximum capacity of the buffer of a thread. A larger buffer is freed.
const MAX_BUFFER_BYTES: usize = 64 * 1024;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// JSON text.
pub(crate) type Text = Box<RawValue>;

/// Deserializes the params of a handler. Treats omitted params as null. To send no params, some peers write null, `{}`
/// or `[]`. If the type does not accept the form of the peer, this function tries the two other forms.
pub(crate) fn read_params<P: DeserializeOwned>(params: Option<&RawValue>) -> Result<P, String> {
    let text = params.map_or("null", RawValue::get);
    serde_json::from_str(text).or_else(|problem| {
        let empty_texts = if is_empty(text) { ["null", "{}", "[]"].as_slice() } else { &[] };
        empty_texts.iter().find_map(|empty| serde_json::from_str(empty).ok()).ok_or_else(|| without_position(&problem))
    })
}

/// Returns whether params are null, or an empty array or object.
fn is_empty(params: &str) -> bool {
    let inner = |open, close| params.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    params == "null" || inner('[', ']').or_else(|| inner('{', '}')).is_some_and(|inner| inner.trim_ascii().is_empty())
}

/// Serializes the result of a handler.
pub(crate) fn write_result<R: Serialize, E: Into<RpcError>>(outcome: Result<R, E>) -> Result<Text, RpcError> {
    let result = outcome.map_err(Into::into)?;
    write_text(&result).map_err(unserializable_result)
}

/// Serializes `params` to an object or an array (JSON-RPC 2.0 §4.2). Returns `None` for `()` and any other value that
/// serializes to null.
///
/// # Errors
/// If serde cannot serialize `params`, or they are neither an object nor an array nor null.
pub(crate) fn write_params(params: &(impl Serialize + ?Sized)) -> Result<Option<Text>, String> {
    with_params(params, |params| params.map(ToOwned::to_owned))
}

/// Serializes `params` like [`write_params`], and passes the text to `send`. The text is in a buffer of the thread, so
/// that it needs no allocation.
///
/// # Errors
/// See [`write_params`].
pub(crate) fn with_params<T>(
    params: &(impl Serialize + ?Sized),
    send: impl FnOnce(Option<&RawValue>) -> T,
) -> Result<T, String> {
    let sent = with_text(params, |text| match text.get().as_bytes() {
        [b'{' | b'[', ..] => Ok(send(Some(text))),
        b"null" => Ok(send(None)),
        _ => Err(String::from(PARAMS_NOT_STRUCTURED)),
    });
    sent.unwrap_or_else(|problem| Err(problem.to_string()))
}

/// Serializes any value.
#[cfg(all(feature = "native", any(unix, windows)))]
pub(crate) fn write_value(value: &(impl Serialize + ?Sized)) -> Result<Text, String> {
    write_text(value).map_err(|problem| problem.to_string())
}

/// Serializes a value. The text has one allocation, of exactly its length.
fn write_text(value: &(impl Serialize + ?Sized)) -> serde_json::Result<Text> {
    with_text(value, ToOwned::to_owned)
}

/// Serializes a value to a buffer of the thread, and passes the text to `read`.
fn with_text<T>(value: &(impl Serialize + ?Sized), read: impl FnOnce(&RawValue) -> T) -> serde_json::Result<T> {
    // An implementation of `Serialize` may call this function again. The inner call uses a new buffer, because this
    // call has taken the buffer of the thread.
    let mut buffer = BUFFER.take();
    buffer.clear();
    let returned = serde_json::to_writer(&mut buffer, value).and_then(|()| {
        let json = str::from_utf8(&buffer).ok().and_then(json::raw_value);
        json.map(read).ok_or_else(|| serde_json::Error::custom("the text is not JSON"))
    });
    if buffer.capacity() <= MAX_BUFFER_BYTES {
        BUFFER.set(buffer);
    }
    returned
}

/// Deserializes the result of a call, or an item of a stream.
#[cfg(all(feature = "native", any(unix, windows)))]
pub(crate) fn read_result<R: DeserializeOwned>(result: &RawValue) -> Result<R, String> {
    serde_json::from_str(result.get()).map_err(|problem| without_position(&problem))
}

/// Returns the text of an error without its line and column. The reader of the error does not see the JSON text, so a
/// position in this text would not help.
fn without_position(problem: &serde_json::Error) -> String {
    let text = problem.to_string();
    let position = format!(" at line {} column {}", problem.line(), problem.column());
    echo::shorten_middle(text.strip_suffix(&position).map_or_else(|| text.clone(), ToString::to_string))
}
