//! The kind of a message, and the findings of the validator about it.

mod code;
mod cut;

use alloc::boxed::Box;
use alloc::vec::Vec;

use portway_proto::codec::json::{Element, Structure, elements};
use portway_proto::message::{Id, Kind as ValueKind};
use portway_proto::validate::{Code, Findings, Options, check, check_empty_batch};
use serde::{Deserialize, Serialize};

pub use code::code_name;

use crate::text;

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Kind {
    /// A message with a method and an id.
    Request,
    /// A message with a method and without an id.
    Notification,
    /// A response with a result.
    Result,
    /// A response with an error.
    Error,
    /// An array of messages.
    Batch,
    /// Bytes or text that are not JSON, or JSON that is not a message.
    Invalid,
    /// A text that was cut before its kind was clear.
    Cut,
    /// The first record of a connection.
    Open,
    /// The last record of a connection.
    Close,
    /// Messages that the tap did not record.
    Gap,
}

impl Kind {
    /// Returns whether the message is a response.
    #[must_use]
    pub const fn is_response(self) -> bool {
        matches!(self, Self::Result | Self::Error)
    }
}

/// The facts about one message: a whole text, or an element of a batch.
#[derive(Clone, Debug)]
pub struct Message {
    /// The kind, by the members of the message: a message with a method is never a response.
    pub kind: Kind,
    /// The id, if it is a string, a number or null.
    pub id: Option<Id>,
    /// The method, if it is a string.
    pub method: Option<Box<str>>,
    /// The code of the error, if it is an integer.
    pub code: Option<i64>,
    /// The findings of the validator.
    pub findings: Findings,
}

/// The facts about a text.
#[derive(Clone, Debug)]
pub struct Classified {
    /// The kind of the whole text.
    pub kind: Kind,
    /// The message, or the messages of a batch. Empty for text that is not JSON.
    pub messages: Vec<Message>,
    /// The findings about all messages together.
    pub findings: Findings,
    /// Whether the text is not JSON.
    pub is_not_json: bool,
    /// The length of the text as compact JSON.
    pub length: text::Length,
}

/// Classifies a text. If `is_cut` is true, the end of the text is missing: then there are no findings, and members
/// after the cut are unknown.
#[must_use]
pub fn classify(text: &str, is_cut: bool) -> Classified {
    let repaired = if is_cut { Some(cut::complete(text)) } else { None };
    let mut messages = Vec::new();
    let structure = elements(repaired.as_deref().unwrap_or(text), |element| messages.push(message(&element)));
    if structure.is_none() {
        messages.clear();
    }
    let kind = match (structure, messages.first()) {
        (Some(Structure::Batch), Some(_)) => Kind::Batch,
        (Some(Structure::Single), Some(single)) if is_cut && single.kind == Kind::Invalid => Kind::Cut,
        (Some(Structure::Single), Some(single)) => single.kind,
        _ if is_cut => Kind::Cut,
        _ => Kind::Invalid,
    };
    if is_cut {
        for message in &mut messages {
            message.findings = Findings::NONE;
        }
    }
    let findings = match structure {
        Some(Structure::Batch) if messages.is_empty() && !is_cut => check_empty_batch(),
        _ => messages.iter().fold(Findings::NONE, |all, message| union(all, message.findings)),
    };
    Classified { kind, messages, findings, is_not_json: structure.is_none(), length: text::length(text) }
}

fn message(element: &Element<'_>) -> Message {
    let shape = element.subject.shape;
    let kind = match (element.subject.item, shape.method) {
        (ValueKind::Object, ValueKind::Missing) => match (shape.error, shape.result) {
            (ValueKind::Missing | ValueKind::Null, ValueKind::Missing) => Kind::Invalid,
            (ValueKind::Missing | ValueKind::Null, _) => Kind::Result,
            _ => Kind::Error,
        },
        (ValueKind::Object, ValueKind::String | ValueKind::EmptyString | ValueKind::TooLong) => match shape.id {
            ValueKind::Missing => Kind::Notification,
            id if id.is_id() => Kind::Request,
            _ => Kind::Invalid,
        },
        _ => Kind::Invalid,
    };
    Message {
        kind,
        id: element.read_id(),
        // `read_method` cannot decode a lone surrogate. A method with a lone surrogate is shown as in the message.
        method: element.read_method().or_else(|| {
            let is_string = matches!(shape.method, ValueKind::String | ValueKind::TooLong);
            element.method.filter(|_| is_string).map(Into::into)
        }),
        code: match element.subject.error_code {
            Code::Integer(code) if kind == Kind::Error => Some(code),
            _ => None,
        },
        findings: check(element.subject, Options::default()),
    }
}

fn union(all: Findings, more: Findings) -> Findings {
    more.iter().fold(all, |all, rule| all.with(*rule))
}
