//! Messages that are longer than a message may be: none is sent.

use core::cmp::Reverse;
use std::borrow::ToOwned;
use std::format;
use std::slice;
use std::string::String;
use std::vec::Vec;

use serde_json::value::RawValue;

use super::{RpcError, Text};
use crate::codec::json;
use crate::message::{ErrorObject, Id, Message, Notification, Outgoing, Request, Response};

/// No message has more bytes beside its id, its method and its params, result or error.
const ENVELOPE: usize = 256;

/// What an error has beside its message and its data, in bytes.
const ERROR_MEMBERS: usize = 64;

/// In JSON text, a byte has six at most: `\u0000`.
const LONGEST_ESCAPE: usize = 6;

/// Checks a request with this id, or a notification, which has none.
///
/// # Errors
/// If the message is longer than `longest` bytes.
pub(crate) fn check_call(
    id: Option<Id>,
    method: &str,
    params: Option<&RawValue>,
    longest: usize,
) -> Result<(), String> {
    let length = params.map_or(0, |params| params.get().len());
    if is_far_below(length, method.len(), longest) {
        return Ok(());
    }
    let (method, params) = (method.into(), params.map(ToOwned::to_owned));
    let message = match id {
        None => Message::Notification(Notification { method, params }),
        Some(id) => Message::Request(Request { id, method, params }),
    };
    let length = json::encode(&Outgoing::Single(message)).len();
    if length <= longest { Ok(()) } else { Err(too_long(length, longest)) }
}

/// What a request is answered with: an error if the message would be longer than `longest` bytes.
#[cfg(all(feature = "native", unix))]
pub(crate) fn check_outcome(id: &Id, outcome: Result<Text, RpcError>, longest: usize) -> Result<Text, RpcError> {
    let length = match &outcome {
        Ok(result) => result.get().len(),
        Err(error) => error.raw_data.as_ref().map_or(0, |data| data.get().len()),
    };
    let text = outcome.as_ref().err().map_or(0, |error| error.message.len());
    let id_length = if let Id::String(id) = id { id.len() } else { 0 };
    if is_far_below(length, text + id_length, longest) {
        return outcome;
    }
    let reply = Message::Response(Response { id: id.clone(), outcome: outcome.map_err(ErrorObject::from) });
    let mut outgoing = Outgoing::Single(reply);
    encode_within(&mut outgoing, longest, &mut String::new());
    match outgoing {
        Outgoing::Single(Message::Response(reply)) => reply.outcome.map_err(RpcError::from),
        _ => Err(RpcError::internal("Internal error")),
    }
}

/// Writes a message to `text`, in place of what is there. If it is longer than `longest` bytes, its results and errors, the
/// longest first, become errors that say so, unless that makes them longer. Returns whether the message may be sent. A reply may
/// in any case: it is as short as it can be then, and the peer waits for it.
pub(crate) fn encode_within(outgoing: &mut Outgoing<Text>, longest: usize, text: &mut String) -> bool {
    text.clear();
    json::encode_into(outgoing, text);
    if text.len() <= longest {
        return true;
    }
    let problem = RpcError::internal(format!("the answer is too long: {}", too_long(text.len(), longest)));
    let problem = Err(ErrorObject::from(problem));
    let shorter = outcome_length(&problem);
    let mut length = text.len();
    let replies = longest_first(outgoing);
    if replies.is_empty() {
        return false;
    }
    for reply in replies {
        let before = outcome_length(&reply.outcome);
        if length <= longest || before <= shorter {
            break;
        }
        reply.outcome = problem.clone();
        length = length + shorter - before;
    }
    text.clear();
    json::encode_into(outgoing, text);
    true
}

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

/// How long a result or an error is in a message, about.
fn outcome_length(outcome: &Result<Text, ErrorObject<Text>>) -> usize {
    match outcome {
        Ok(result) => result.get().len(),
        Err(error) => error.message.len() + error.data.as_ref().map_or(0, |data| data.get().len()) + ERROR_MEMBERS,
    }
}

/// Whether a message with so many bytes of JSON text and so many of other text is short enough, however that is written.
const fn is_far_below(json: usize, text: usize, longest: usize) -> bool {
    json.saturating_add(text.saturating_mul(LONGEST_ESCAPE)).saturating_add(ENVELOPE) <= longest
}

fn too_long(length: usize, longest: usize) -> String {
    format!(
        "a message must have at most {longest} bytes, got {length}; Limits::message_bytes sets the limit of each peer"
    )
}
