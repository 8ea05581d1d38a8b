//! Writes messages as JSON text.

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use memchr::memchr2;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::message::{ErrorObject, Id, Message, Outgoing};
use crate::profile::CancelNotification;

/// The number of decimal digits of the longest [`i64`], without its sign.
const MAX_INTEGER_DIGITS: usize = 19;

/// Encodes one message or batch on one line, with only the members that the specification defines.
///
/// A successful response always has a `result`. `params` and `data` are written only if present. [`Outgoing::Cancel`]
/// becomes [`CancelNotification::LSP`]. If the profile has another form of cancellation, the driver must write the
/// notification itself, and pass it as [`Outgoing::Single`].
///
/// # Examples
///
/// ```
/// use portway_proto::codec::json;
/// use portway_proto::message::{Message, Outgoing, Notification};
///
/// let message = Message::Notification(Notification { method: "ready".into(), params: None });
/// assert_eq!(json::encode(&Outgoing::Single(message)), r#"{"jsonrpc":"2.0","method":"ready"}"#);
/// ```
#[must_use]
pub fn encode(outgoing: &Outgoing<Box<RawValue>>) -> String {
    let mut text = String::new();
    encode_into(outgoing, &mut text);
    text
}

/// Appends a notification, as [`encode`] writes it.
pub fn encode_notification_into(method: &str, params: Option<&RawValue>, text: &mut String) {
    push_method(text, None, method);
    push_member(text, r#","params":"#, params);
    text.push('}');
}

/// Appends a response, as [`encode`] writes it.
pub fn encode_response_into(id: &Id, outcome: &Result<Box<RawValue>, ErrorObject<Box<RawValue>>>, text: &mut String) {
    push_start(text, Some(id));
    match outcome {
        Ok(result) => push_member(text, r#","result":"#, Some(result)),
        Err(error) => push_error(text, error),
    }
    text.push('}');
}

/// Appends the result of [`encode`] to `text`.
pub fn encode_into(outgoing: &Outgoing<Box<RawValue>>, text: &mut String) {
    match outgoing {
        Outgoing::Single(message) => push_message(text, message),
        Outgoing::Batch(messages) => {
            for (index, message) in messages.iter().enumerate() {
                text.push(if index == 0 { '[' } else { ',' });
                push_message(text, message);
            }
            text.push(']');
        }
        Outgoing::Cancel(id) => {
            push_method(text, None, CancelNotification::LSP.method);
            text.push_str(r#","params":{"id":"#);
            push_id(text, id);
            text.push_str("}}");
        }
    }
}

fn push_message(text: &mut String, message: &Message<Box<RawValue>>) {
    match message {
        Message::Request(request) => {
            push_method(text, Some(&request.id), &request.method);
            push_member(text, r#","params":"#, request.params.as_deref());
            text.push('}');
        }
        Message::Notification(notification) => {
            encode_notification_into(&notification.method, notification.params.as_deref(), text);
        }
        Message::Response(response) => encode_response_into(&response.id, &response.outcome, text),
    }
}

fn push_error(text: &mut String, error: &ErrorObject<Box<RawValue>>) {
    text.push_str(r#","error":{"code":"#);
    push_integer(text, error.code.value());
    text.push_str(r#","message":"#);
    push_string(text, &error.message);
    push_member(text, r#","data":"#, error.data.as_deref());
    text.push('}');
}

fn push_method(text: &mut String, id: Option<&Id>, method: &str) {
    push_start(text, id);
    text.push_str(r#","method":"#);
    push_string(text, method);
}

fn push_start(text: &mut String, id: Option<&Id>) {
    text.push_str(r#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        text.push_str(r#","id":"#);
        push_id(text, id);
    }
}

pub(super) fn push_id(text: &mut String, id: &Id) {
    match id {
        Id::Null => text.push_str("null"),
        Id::Integer(integer) => push_integer(text, *integer),
        Id::Number(number) => text.push_str(number.as_str()),
        Id::String(string) => push_string(text, string),
    }
}

fn push_integer(text: &mut String, integer: i64) {
    let mut digits = [0; MAX_INTEGER_DIGITS];
    let mut rest = integer.unsigned_abs();
    let mut length = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        length += 1;
        if rest == 0 {
            break;
        }
    }
    if integer < 0 {
        text.push('-');
    }
    let digits = digits.get(digits.len() - length..).unwrap_or_default();
    text.push_str(str::from_utf8(digits).unwrap_or_default());
}

pub(super) fn push_string(text: &mut String, string: &str) {
    // A string that needs no escapes is copied. Most strings need no escapes.
    if string.bytes().any(|byte| matches!(byte, b'"' | b'\\' | ..b' ')) {
        return text.push_str(&Value::from(string).to_string());
    }
    text.push('"');
    text.push_str(string);
    text.push('"');
}

/// Appends a member, without the line breaks in its value. In JSON text, a line break can only be whitespace between
/// tokens.
fn push_member(text: &mut String, name: &str, value: Option<&RawValue>) {
    if let Some(value) = value {
        text.push_str(name);
        let mut rest = value.get();
        while let Some((line, next)) =
            memchr2(b'\n', b'\r', rest.as_bytes()).and_then(|end| rest.get(..end).zip(rest.get(end + 1..)))
        {
            text.push_str(line);
            rest = next;
        }
        text.push_str(rest);
    }
}
