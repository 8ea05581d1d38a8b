//! Fuzzes the decoder and the encoder of JSON text.

use portway::Limits;
use portway::codec::json;
use portway::message::{Fault, Id, Incoming, Message, Outgoing, Reason, Unusable};
use portway::profile::Profile;
use portway::validate::Options;
use serde_json::Value;
use serde_json::value::RawValue;

type Payload = Box<RawValue>;

/// Decodes the bytes with several profiles. Encodes and decodes every accepted message again. The result must equal the
/// first message.
pub fn json(bytes: &[u8]) {
    let mut strict = Profile::GENERIC;
    strict.null_params_are_absent = false;
    let mut tight = Limits::DEFAULT;
    (tight.message_bytes, tight.depth, tight.batch_items, tight.id_length) = (200, 4, 2, 6);
    check(bytes, &Profile::GENERIC, &Limits::DEFAULT);
    check(bytes, &Profile::LSP, &Limits::DEFAULT);
    check(bytes, &Profile::MESSAGE_BOUNDARY, &tight);
    check(bytes, &strict, &tight);
}

/// Decodes the bytes with one profile, and checks the result.
fn check(bytes: &[u8], profile: &Profile, limits: &Limits) {
    let incoming = json::decode(bytes, profile, limits);
    // The decoder has a separate path for requests in the usual form. A text that begins with a space does not take
    // this path. Both paths must have the same result.
    let spaced = [b" ".as_slice(), bytes].concat();
    if spaced.len() <= limits.message_bytes {
        assert_eq!(format!("{incoming:?}"), format!("{:?}", json::decode(&spaced, profile, limits)));
    }
    let parsed = str::from_utf8(bytes).ok().and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
    let Some(value) = parsed.filter(|_| bytes.len() <= limits.message_bytes) else {
        let Incoming::Single(Err(unusable)) = incoming else { panic!("invalid text is accepted: {incoming:?}") };
        let fault =
            if bytes.len() > limits.message_bytes { Fault::Refused(Reason::Oversize) } else { Fault::ParseError };
        let is_foreign = profile.foreign_is_ignored && fault == Fault::ParseError;
        assert_eq!(unusable, if is_foreign { Unusable::Ignore } else { fault.into() });
        return;
    };
    assert_eq!(matches!(incoming, Incoming::Batch(_)), value.get().starts_with('['));
    let (entries, is_batch) = match incoming {
        Incoming::Single(entry) => (vec![entry], false),
        Incoming::Batch(entries) => (entries, true),
    };
    let counted = entries.iter().filter(|entry| {
        !matches!(entry, Ok(Message::Response(_)) | Err(Unusable::Ignore | Unusable::Unreadable { .. }))
    });
    assert!(
        counted.count() <= limits.batch_items.saturating_add(1),
        "more than one message beyond the limit is returned"
    );
    let mut messages = Vec::new();
    for entry in entries {
        match entry {
            Ok(message) => messages.push(message),
            Err(Unusable::Reject(rejected)) => assert!(id_length(&rejected.id) <= limits.id_length),
            Err(Unusable::Empty(id)) => assert!(id_length(&id) <= limits.id_length),
            Err(Unusable::Unreadable { id, .. }) => assert!(id.is_none_or(|id| id_length(&id) <= limits.id_length)),
            Err(Unusable::Ignore) => {}
        }
    }
    let texts: Vec<String> = messages.into_iter().map(|message| check_round_trip(message, profile, limits)).collect();
    if is_batch && !texts.is_empty() && *profile != Profile::LSP {
        check_round_trip_of_batch(&format!("[{}]", texts.join(",")), texts.len(), profile, limits);
    }
}

/// Encodes and decodes the message, and checks that the result equals the message. Returns the text of the message.
fn check_round_trip(message: Message<Payload>, profile: &Profile, limits: &Limits) -> String {
    let has_empty_method = match &message {
        Message::Request(request) => request.method.is_empty(),
        Message::Notification(notification) => notification.method.is_empty(),
        Message::Response(_) => false,
    };
    let text = json::encode(&Outgoing::Single(message));
    assert!(!text.contains(['\n', '\r']), "the text has more than one line: {text}");
    // Every number is in the range of a double, and every string is Unicode text, so serde_json must accept the text.
    if let Err(error) = serde_json::from_str::<Value>(&text) {
        assert!(error.to_string().starts_with("recursion limit"), "{error}: {text}");
    }
    let report = json::validate(&text, Options::default());
    assert_eq!(report.map(|report| report.is_valid()), Some(!has_empty_method), "{text}");
    let Incoming::Single(Ok(again)) = json::decode(text.as_bytes(), profile, &limits_for_round_trip(limits)) else {
        panic!("an encoded message is not accepted: {text}")
    };
    assert_eq!(json::encode(&Outgoing::Single(again)), text);
    text
}

/// Decodes and encodes a batch of encoded messages. The result must equal the text of the batch.
fn check_round_trip_of_batch(text: &str, count: usize, profile: &Profile, limits: &Limits) {
    let Incoming::Batch(entries) = json::decode(text.as_bytes(), profile, &limits_for_round_trip(limits)) else {
        panic!("an encoded batch is not accepted: {text}")
    };
    let messages: Vec<Message<Payload>> = entries.into_iter().flatten().collect();
    assert_eq!(messages.len(), count, "a message of an encoded batch is not accepted: {text}");
    assert_eq!(json::encode(&Outgoing::Batch(messages)), text);
}

/// Returns limits that accept the encoded messages. An encoded message may be longer than the received message, and an
/// invalid error is wrapped in an error object.
fn limits_for_round_trip(limits: &Limits) -> Limits {
    let mut higher = *limits;
    (higher.message_bytes, higher.batch_items, higher.depth) = (usize::MAX, usize::MAX, limits.depth + 2);
    higher
}

fn id_length(id: &Id) -> usize {
    match id {
        Id::String(text) => text.encode_utf16().count(),
        Id::Number(text) => text.as_str().len(),
        Id::Null | Id::Integer(_) => 0,
    }
}
