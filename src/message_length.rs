//! Checks the length of outgoing messages, so that no message is longer than the limit.

use core::cmp::Reverse;
use std::slice;

use serde_json::value::RawValue;

use crate::codec::json;
use crate::error::RpcError;
use crate::json_value::Text;
use crate::message::{ErrorObject, Id, Message, Notification, Outgoing, Request, Response};

/// The bytes that [`fits_without_encoding`] reserves for the uncounted parts of a message: `jsonrpc`, the names of its
/// members, and an id that is a number.
const ENVELOPE_RESERVE: usize = 256;

/// Approximate bytes of an error object without its message and data.
const ERROR_MEMBERS: usize = 64;

/// Maximum bytes of JSON text for one byte of a string. For example, the byte 0 becomes `\u0000`.
const MAX_ESCAPE_BYTES: usize = 6;

/// Checks the length of a request, or of a notification if `id` is `None`.
///
/// # Errors
/// If the message is longer than `max_bytes`.
pub(crate) fn check_call(
    id: Option<Id>,
    method: &str,
    params: Option<&RawValue>,
    max_bytes: usize,
) -> Result<(), String> {
    let length = params.map_or(0, |params| params.get().len());
    if fits_without_encoding(length, method.len(), max_bytes) {
        return Ok(());
    }
    let (method, params) = (method.into(), params.map(ToOwned::to_owned));
    let message = match id {
        None => Message::Notification(Notification { method, params }),
        Some(id) => Message::Request(Request { id, method, params }),
    };
    let length = json::encode(&Outgoing::Single(message)).len();
    if length <= max_bytes { Ok(()) } else { Err(too_long(length, max_bytes)) }
}

/// Returns the outcome for the response. An outcome that would make the response longer than `max_bytes` is replaced
/// with an error.
#[cfg(all(feature = "native", any(unix, windows)))]
pub(crate) fn check_outcome(id: &Id, outcome: Result<Text, RpcError>, max_bytes: usize) -> Result<Text, RpcError> {
    let length = match &outcome {
        Ok(result) => result.get().len(),
        Err(error) => error.raw_data().map_or(0, |data| data.get().len()),
    };
    let text_length = outcome.as_ref().err().map_or(0, |error| error.message.len());
    let id_length = if let Id::String(id) = id { id.len() } else { 0 };
    if fits_without_encoding(length, text_length + id_length, max_bytes) {
        return outcome;
    }
    let reply = Message::Response(Response { id: id.clone(), outcome: outcome.map_err(ErrorObject::from) });
    let mut outgoing = Outgoing::Single(reply);
    encode_within(&mut outgoing, max_bytes, &mut String::new());
    match outgoing {
        Outgoing::Single(Message::Response(reply)) => reply.outcome.map_err(RpcError::from),
        _ => Err(RpcError::internal("Internal error")),
    }
}

/// Encodes a message into `text`, whose previous content is removed. If the message is longer than `max_bytes`,
/// replaces its longest results and errors with an error about the length. Results and errors that are shorter than
/// that error are not replaced. Returns false if the message must not be sent: a request or notification that is too
/// long. Responses are always sent, because the peer waits for them.
pub(crate) fn encode_within(outgoing: &mut Outgoing<Text>, max_bytes: usize, text: &mut String) -> bool {
    text.clear();
    json::encode_into(outgoing, text);
    if text.len() <= max_bytes {
        return true;
    }
    let problem = RpcError::internal(format!("the response is too long: {}", too_long(text.len(), max_bytes)));
    let problem = Err(ErrorObject::from(problem));
    let problem_length = outcome_length(&problem);
    let mut length = text.len();
    let replies = longest_first(outgoing);
    if replies.is_empty() {
        return false;
    }
    for reply in replies {
        let before = outcome_length(&reply.outcome);
        if length <= max_bytes || before <= problem_length {
            break;
        }
        reply.outcome = problem.clone();
        length = length + problem_length - before;
    }
    text.clear();
    json::encode_into(outgoing, text);
    true
}

/// Returns the responses in a message, in descending order of length.
fn longest_first(outgoing: &mut Outgoing<Text>) -> Vec<&mut Response<Text>> {
    let messages = match outgoing {
        Outgoing::Single(message) => slice::from_mut(message),
        Outgoing::Batch(messages) => messages,
        Outgoing::Cancel(_) => &mut [],
    };
    let replies = messages.iter_mut().filter_map(|message| match message {
        Message::Response(reply) => Some(reply),
        Message::Request(_) | Message::Notification(_) => None,
    });
    let mut replies: Vec<_> = replies.collect();
    replies.sort_by_key(|reply| Reverse(outcome_length(&reply.outcome)));
    replies
}

/// Returns the approximate length of a result or an error in a message.
fn outcome_length(outcome: &Result<Text, ErrorObject<Text>>) -> usize {
    match outcome {
        Ok(result) => result.get().len(),
        Err(error) => error.message.len() + error.data.as_ref().map_or(0, |data| data.get().len()) + ERROR_MEMBERS,
    }
}

/// Returns whether a message surely has at most `max_bytes`, even if each byte of its strings needs the longest escape.
/// `json` is the number of bytes that are already JSON text. `text` is the number of bytes of strings that are not
/// escaped yet.
const fn fits_without_encoding(json: usize, text: usize, max_bytes: usize) -> bool {
    json.saturating_add(text.saturating_mul(MAX_ESCAPE_BYTES)).saturating_add(ENVELOPE_RESERVE) <= max_bytes
}

fn too_long(length: usize, max_bytes: usize) -> String {
    format!(
        "a message must have at most {max_bytes} bytes, got {length}; Limits::message_bytes sets the limit of each peer"
    )
}
