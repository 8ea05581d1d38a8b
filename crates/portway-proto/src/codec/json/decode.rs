//! Reads messages from JSON text.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::envelope::{Envelope, ErrorMembers, borrowed_string, kind, string};
use super::raw::raw;
use super::scan::{Defect, Scanner};
use super::usual::usual_request;
use crate::ErrorCode;
use crate::Limits;
use crate::limits::{MAX_METHOD_LENGTH, is_longer};
use crate::message::{
    Class, Entry, ErrorObject, Fault, Id, Incoming, Kind, Malformed, Message, Notification, Reason, Rejected, Request,
    Response, Unreadable, Unusable,
};
use crate::profile::Profile;
use crate::validate::Code;

/// Decodes one message or batch. Text that is not a message becomes an [`Unusable`], which determines the reaction of
/// the connection.
///
/// If a batch has more messages than [`Profile::max_batch_items`], not counting responses, one message beyond the limit
/// is returned, and the later messages are omitted. The connection then refuses the whole batch. Responses are not
/// omitted because of this limit, since they still end their calls. [`Limits::message_bytes`] limits their number.
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
    match decode_borrowed(bytes, profile, limits) {
        Decoded::Request(request) => Incoming::Single(Ok(Message::Request(request.into_owned()))),
        Decoded::Other(incoming) => incoming,
    }
}

/// Decodes like [`decode`], but does not copy the members of a single request.
#[must_use]
pub fn decode_borrowed<'t>(bytes: &'t [u8], profile: &Profile, limits: &Limits) -> Decoded<'t> {
    let unusable = |why| Decoded::Other(Incoming::Single(Err(why)));
    if bytes.len() > limits.message_bytes {
        return unusable(Fault::Refused(Reason::Oversize).into());
    }
    let reader = Reader { profile, limits };
    str::from_utf8(bytes).ok().and_then(|text| reader.decoded(text)).unwrap_or_else(|| {
        // Text that is not JSON does not contain the version of the protocol, so it may belong to other software.
        unusable(if profile.foreign_is_ignored { Unusable::Ignore } else { Fault::ParseError.into() })
    })
}

/// One decoded text.
#[derive(Debug)]
pub enum Decoded<'t> {
    /// A request that is not in a batch.
    Request(BorrowedRequest<'t>),
    /// Any other message, a batch, or text that is not a message.
    Other(Incoming<Box<RawValue>>),
}

/// A request whose method and params borrow from its text. With it, a driver can run a request without copies.
#[derive(Debug)]
pub struct BorrowedRequest<'t> {
    /// The id of the request.
    pub id: Id,
    /// The method. It is borrowed, unless it is written with escapes.
    pub method: Cow<'t, str>,
    /// An array or an object; `None` if the member is missing, or if it is null and the profile accepts null.
    pub params: Option<&'t RawValue>,
}

impl BorrowedRequest<'_> {
    /// Copies the members.
    #[must_use]
    pub fn into_owned(self) -> Request<Box<RawValue>> {
        let Self { id, method, params } = self;
        Request { id, method: method.into(), params: params.map(ToOwned::to_owned) }
    }
}

struct Reader<'r> {
    profile: &'r Profile,
    limits: &'r Limits,
}

impl Reader<'_> {
    /// Returns `None` if the text is not JSON.
    fn decoded<'t>(&self, text: &'t str) -> Option<Decoded<'t>> {
        if let Some(request) = usual_request(text, self.profile, self.limits) {
            return Some(Decoded::Request(request));
        }
        let mut scanner = Scanner::new(text, self.limits.depth);
        let decoded = match scanner.peek()? {
            b'[' => Decoded::Other(Incoming::Batch(self.batch(&mut scanner)?)),
            _ => match self.element(&mut scanner)? {
                DecodedElement::Request(request) => Decoded::Request(request),
                DecodedElement::Other(entry) => Decoded::Other(Incoming::Single(entry)),
            },
        };
        scanner.is_at_end().then_some(decoded)
    }

    fn batch(&self, scanner: &mut Scanner<'_>) -> Option<Vec<Entry<Box<RawValue>>>> {
        // One message beyond the limit shows the connection that the batch is too long.
        let max_entries = self.profile.max_batch_items(self.limits).saturating_add(1);
        let mut entries = Vec::new();
        let mut counted = 0;
        scanner.elements(|scanner| {
            let entry = match self.element(scanner)? {
                DecodedElement::Request(request) => Ok(Message::Request(request.into_owned())),
                DecodedElement::Other(entry) => entry,
            };
            let is_kept = match &entry {
                Ok(Message::Response(_)) | Err(Unusable::Unreadable { .. }) => true,
                Err(Unusable::Ignore) => entries.len() < max_entries,
                _ => {
                    counted += 1;
                    counted <= max_entries
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
    fn element<'t>(&self, scanner: &mut Scanner<'t>) -> Option<DecodedElement<'t>> {
        let envelope = match scanner.peek()? {
            b'{' => Some(Envelope::scan(scanner)?),
            _ => {
                scanner.value()?;
                None
            }
        };
        let defect = scanner.take_defect();
        if envelope.is_none() && self.profile.foreign_is_ignored {
            return Some(DecodedElement::Other(Err(Unusable::Ignore)));
        }
        let envelope = envelope.unwrap_or_default();
        let class = envelope.shape(MAX_METHOD_LENGTH).classify(self.profile);
        if class == Class::Request && defect.is_none() && !envelope.repeated {
            return Some(match self.request(&envelope) {
                Ok(request) => DecodedElement::Request(request),
                Err(why) => DecodedElement::Other(Err(why)),
            });
        }
        Some(DecodedElement::Other(self.entry(&envelope, class, defect)))
    }

    fn entry(&self, envelope: &Envelope<'_>, class: Class, defect: Option<Defect>) -> Entry<Box<RawValue>> {
        match (class, defect) {
            (Class::Malformed(Malformed::Ignore), _) => Err(Unusable::Ignore),
            (Class::Success | Class::Failure, _) => self.response(envelope, defect),
            _ if envelope.repeated => Err(Fault::InvalidRequest.into()),
            (_, Some(Defect::LoneSurrogate | Defect::NumberOutOfRange)) => Err(Fault::ParseError.into()),
            // A notification that is nested too deep gets no response. The defects above count as parse errors, which
            // get a response.
            (Class::Notification, Some(Defect::TooDeep)) => Err(Unusable::Ignore),
            (_, Some(Defect::TooDeep)) => Err(self.reject(envelope, Fault::Refused(Reason::NestingTooDeep))),
            (Class::Request, None) => Ok(Message::Request(self.request(envelope)?.into_owned())),
            (Class::Notification, None) => {
                let (method, params) = read_call(envelope)?;
                let (method, params) = (method.into(), params.map(ToOwned::to_owned));
                Ok(Message::Notification(Notification { method, params }))
            }
            (Class::Empty, None) => match self.id(envelope)? {
                Some(id) => Err(Unusable::Empty(id)),
                None => Err(Fault::InvalidRequest.into()),
            },
            (Class::Malformed(Malformed::AnswerWithId(fault)), None) => Err(self.reject(envelope, fault)),
            (Class::Malformed(Malformed::AnswerWithNull(fault)), None) => Err(fault.into()),
        }
    }

    fn request<'t>(&self, envelope: &Envelope<'t>) -> Result<BorrowedRequest<'t>, Unusable> {
        let id = self.id(envelope)?.ok_or(Fault::InvalidRequest)?;
        let (method, params) = read_call(envelope)?;
        Ok(BorrowedRequest { id, method, params })
    }

    /// Reads a response. A response with a defect or a repeated member becomes [`Unusable::Unreadable`]. Its id is
    /// `None` if the id itself is repeated.
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

/// One element of a text: the whole text, or an element of a batch.
enum DecodedElement<'t> {
    Request(BorrowedRequest<'t>),
    Other(Entry<Box<RawValue>>),
}

pub(super) fn read_id(value: &str) -> Option<Id> {
    match kind(Some(value)) {
        Kind::Null => Some(Id::Null),
        Kind::String | Kind::EmptyString => string(value).map(Id::String),
        _ => Id::from_number_text(value),
    }
}

fn read_call<'t>(envelope: &Envelope<'t>) -> Result<(Cow<'t, str>, Option<&'t RawValue>), Unusable> {
    let method = envelope.method.and_then(borrowed_string).ok_or(Fault::InvalidRequest)?;
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
