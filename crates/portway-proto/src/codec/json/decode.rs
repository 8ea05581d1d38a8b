//! Reads messages from JSON text.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::envelope::{Envelope, ErrorMembers, kind, string};
use super::raw::raw;
use super::scan::{Defect, Scanner};
use crate::ErrorCode;
use crate::Limits;
use crate::limits::{MAX_METHOD_LENGTH, is_longer};
use crate::message::{
    Class, Entry, ErrorObject, Fault, Id, Incoming, Kind, Malformed, Message, Notification, Reason, Rejected, Request,
    Response, Unreadable, Unusable,
};
use crate::profile::{BatchPolicy, Profile};
use crate::validate::Code;

/// Decodes one message or batch. Text that is not a message becomes an [`Unusable`], which determines the reaction of
/// the connection.
///
/// If the profile rejects batches, the elements of a batch are omitted. If a batch has more than
/// [`Limits::batch_items`] messages, the first message beyond the limit is returned, and the rest is omitted. Responses
/// do not count for this limit. The connection refuses the whole batch in both cases.
///
/// # Examples
///
/// ```
/// use portway_proto::codec::json;
/// use portway_proto::message::{Id, Incoming, Message};
/// use portway_proto::{Limits, profile::Profile};
///
/// let text = br#"{"jsonrpc":"2.0","method":"sum","params":[1.0, 2],"id":1e2}"#;
/// let Incoming::Single(Ok(Message::Request(request))) = json::decode(text, &Profile::GENERIC, &Limits::DEFAULT) else {
///     unreachable!()
/// };
/// assert_eq!(Some(request.id), Id::from_number_text("1e2"));
/// assert_eq!(request.params.map(|params| params.get().to_owned()).as_deref(), Some("[1.0, 2]"));
/// ```
#[must_use]
pub fn decode(bytes: &[u8], profile: &Profile, limits: &Limits) -> Incoming<Box<RawValue>> {
    if bytes.len() > limits.message_bytes {
        return Incoming::Single(Err(Fault::Refused(Reason::Oversize).into()));
    }
    let reader = Reader { profile, limits };
    str::from_utf8(bytes).ok().and_then(|text| reader.incoming(text)).unwrap_or_else(|| {
        // Text that is not JSON does not contain the version of the protocol, so it may belong to other software.
        Incoming::Single(Err(if profile.foreign_is_ignored { Unusable::Ignore } else { Fault::ParseError.into() }))
    })
}

struct Reader<'r> {
    profile: &'r Profile,
    limits: &'r Limits,
}

impl Reader<'_> {
    /// Returns `None` if the text is not JSON.
    fn incoming(&self, text: &str) -> Option<Incoming<Box<RawValue>>> {
        let mut scanner = Scanner::new(text, self.limits.depth);
        let incoming = match scanner.peek()? {
            b'[' => Incoming::Batch(self.batch(&mut scanner)?),
            _ => Incoming::Single(self.entry(&mut scanner)?),
        };
        scanner.is_at_end().then_some(incoming)
    }

    fn batch(&self, scanner: &mut Scanner<'_>) -> Option<Vec<Entry<Box<RawValue>>>> {
        let room = match self.profile.batch {
            BatchPolicy::Accept => self.limits.batch_items.saturating_add(1),
            BatchPolicy::Reject => 0,
        };
        let mut entries = Vec::new();
        let mut calls = 0;
        scanner.elements(|scanner| {
            if room == 0 {
                return scanner.value().map(drop);
            }
            let entry = self.entry(scanner)?;
            let is_kept = match &entry {
                Ok(Message::Response(_)) | Err(Unusable::Unreadable { .. }) => true,
                Err(Unusable::Ignore) => entries.len() < room,
                _ => {
                    calls += 1;
                    calls <= room
                }
            };
            if is_kept {
                entries.push(entry);
            }
            Some(())
        })?;
        Some(entries)
    }

    /// Reads the next element. Returns `None` if the text is not JSON.
    fn entry(&self, scanner: &mut Scanner<'_>) -> Option<Entry<Box<RawValue>>> {
        let envelope = match scanner.peek()? {
            b'{' => Some(Envelope::scan(scanner)?),
            _ => {
                scanner.value()?;
                None
            }
        };
        Some(self.message(envelope, scanner.take_defect()))
    }

    fn message(&self, envelope: Option<Envelope<'_>>, defect: Option<Defect>) -> Entry<Box<RawValue>> {
        if envelope.is_none() && self.profile.foreign_is_ignored {
            return Err(Unusable::Ignore);
        }
        let envelope = envelope.unwrap_or_default();
        let class = envelope.shape(MAX_METHOD_LENGTH).classify(self.profile);
        match (class, defect) {
            (Class::Malformed(Malformed::Ignore), _) => Err(Unusable::Ignore),
            (Class::Success | Class::Failure, _) => self.response(&envelope, defect),
            _ if envelope.repeated => Err(Fault::InvalidRequest.into()),
            (_, Some(Defect::LoneSurrogate | Defect::NumberOutOfRange)) => Err(Fault::ParseError.into()),
            // A notification is never answered.
            (Class::Notification, Some(Defect::TooDeep)) => Err(Unusable::Ignore),
            (_, Some(Defect::TooDeep)) => Err(self.reject(&envelope, Fault::Refused(Reason::NestingTooDeep))),
            (Class::Request, None) => self.request(&envelope),
            (Class::Notification, None) => {
                let (method, params) = read_call(&envelope)?;
                Ok(Message::Notification(Notification { method, params }))
            }
            (Class::Empty, None) => match self.id(&envelope)? {
                Some(id) => Err(Unusable::Empty(id)),
                None => Err(Fault::InvalidRequest.into()),
            },
            (Class::Malformed(Malformed::AnswerWithId(fault)), None) => Err(self.reject(&envelope, fault)),
            (Class::Malformed(Malformed::AnswerWithNull(fault)), None) => Err(fault.into()),
        }
    }

    fn request(&self, envelope: &Envelope<'_>) -> Entry<Box<RawValue>> {
        let id = self.id(envelope)?.ok_or(Fault::InvalidRequest)?;
        let (method, params) = read_call(envelope)?;
        Ok(Message::Request(Request { id, method, params }))
    }

    /// Reads a response. A response with a defect or a repeated member becomes [`Unusable::Unreadable`], which ends the
    /// call with this id.
    fn response(&self, envelope: &Envelope<'_>, defect: Option<Defect>) -> Entry<Box<RawValue>> {
        let Ok(Some(id)) = self.id(envelope) else { return Err(Unusable::Ignore) };
        let why = match defect {
            Some(Defect::TooDeep) => Some(Unreadable::TooDeep),
            Some(Defect::LoneSurrogate) => Some(Unreadable::LoneSurrogate),
            Some(Defect::NumberOutOfRange) => Some(Unreadable::NumberOutOfRange),
            None => envelope.repeated.then_some(Unreadable::RepeatedMember),
        };
        if let Some(why) = why {
            return Err(Unusable::Unreadable { id: (!envelope.is_id_repeated).then_some(id), why });
        }
        let outcome = match (envelope.error, envelope.result) {
            (Some(error), _) if kind(Some(error)) != Kind::Null => Err(read_error(error)),
            (_, Some(result)) => match raw(result) {
                Some(result) => Ok(result),
                None => return Err(Unusable::Unreadable { id: Some(id), why: Unreadable::NotJson }),
            },
            _ => return Err(Unusable::Empty(id)),
        };
        Ok(Message::Response(Response { id, outcome }))
    }

    /// Returns the rejection of an element, with the id of the element if a response can repeat that id.
    fn reject(&self, envelope: &Envelope<'_>, fault: Fault) -> Unusable {
        match self.id(envelope) {
            Ok(Some(id)) => Unusable::Reject(Rejected { id, fault }),
            Ok(None) => fault.into(),
            Err(too_long) => too_long.into(),
        }
    }

    /// Returns the id, or `None` if the id is missing or of a wrong type. Returns a fault if the id is too long.
    fn id(&self, envelope: &Envelope<'_>) -> Result<Option<Id>, Fault> {
        let id = envelope.id.and_then(read_id);
        let text = match &id {
            Some(Id::String(text)) => text,
            Some(Id::Number(text)) => text.as_str(),
            _ => "",
        };
        if is_longer(text, self.limits.id_length) { Err(Fault::Refused(Reason::IdTooLong)) } else { Ok(id) }
    }
}

pub(super) fn read_id(value: &str) -> Option<Id> {
    match kind(Some(value)) {
        Kind::Null => Some(Id::Null),
        Kind::String | Kind::EmptyString => string(value).map(Id::String),
        _ => Id::from_number_text(value),
    }
}

fn read_call(envelope: &Envelope<'_>) -> Result<(Box<str>, Option<Box<RawValue>>), Unusable> {
    let method = envelope.method.and_then(string).ok_or(Fault::InvalidRequest)?;
    // The classification accepts null params only if the profile treats them as absent.
    let params = envelope.params.filter(|params| kind(Some(params)) != Kind::Null);
    Ok((method, params.and_then(raw)))
}

/// Reads the error of a response. A value that is not a valid error object, for example a string, becomes an internal
/// error whose data is the whole value.
fn read_error(value: &str) -> ErrorObject<Box<RawValue>> {
    let members = ErrorMembers::read(value).unwrap_or_default();
    let message = members.message.and_then(string);
    match (members.code(), message) {
        (Code::Integer(code), Some(message)) => {
            ErrorObject { code: ErrorCode::new(code), message, data: members.data.and_then(raw) }
        }
        (_, message) => internal_error(message.as_deref().unwrap_or("Invalid error object"), raw(value)),
    }
}

fn internal_error(message: &str, data: Option<Box<RawValue>>) -> ErrorObject<Box<RawValue>> {
    ErrorObject { code: ErrorCode::INTERNAL_ERROR, message: message.into(), data }
}
