//! JSON text that is valid, invalid, very large or hostile.
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

#[path = "common/json_test_suite.rs"]
mod json_test_suite;

use std::borrow::Cow;

use allocation_counter::measure;
use portway::ErrorCode;
use portway::Limits;
use portway::codec::json;
use portway::message::{
    ErrorObject, Fault, Id, Incoming, Message, Notification, Outgoing, Reason, Rejected, Request, Response, Unusable,
};
use portway::profile::Profile;
use portway::validate::Options;
use proptest::prelude::*;
use serde_json::value::RawValue;

type Payload = Box<RawValue>;

const PARSE_ERROR: Unusable = Unusable::Reject(Rejected { id: Id::Null, fault: Fault::ParseError });

fn decode(bytes: &[u8]) -> Incoming<Payload> {
    json::decode(bytes, &Profile::GENERIC, &Limits::DEFAULT)
}

/// Returns why a single message was not accepted, or `None` if it was accepted. Returns `None` for each batch.
fn refusal(incoming: Incoming<Payload>) -> Option<Unusable> {
    match incoming {
        Incoming::Single(entry) => entry.err(),
        Incoming::Batch(_) => None,
    }
}

/// Returns the value of [`refusal`] for a message that the decoder refuses for this reason.
fn refused_because(reason: Reason) -> Option<Unusable> {
    Some(Fault::Refused(reason).into())
}

fn request(id: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":{params}}}"#)
}

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

#[test]
fn the_json_test_suite_is_read_as_specified() {
    json_test_suite::run();
}

#[test]
fn a_million_levels_of_nesting_are_refused_and_the_next_message_is_read() {
    json_test_suite::run_deep();
}

#[test]
fn a_hundred_thousand_open_brackets_are_a_parse_error() {
    for unit in ["[", r#"[{"":"#, r#"{"a":"#] {
        assert_eq!(refusal(decode(unit.repeat(100_000).as_bytes())), Some(PARSE_ERROR), "{unit}");
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_a_parse_error() {
    for bad in [&b"\xff"[..], b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xf8\x88\x80\x80\x80"] {
        let text = [br#"{"jsonrpc":"2.0","id":1,"method":"echo","params":[""#, bad, br#""]}"#].concat();
        assert_eq!(refusal(decode(&text)), Some(PARSE_ERROR), "{bad:?}");
    }
    let utf_16: Vec<u8> = request("1", "[]").encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(refusal(decode(&utf_16)), Some(PARSE_ERROR));
}

#[test]
fn nesting_is_accepted_up_to_the_limit() {
    // The message itself is the first level.
    assert!(matches!(decode(request("1", &nested(127)).as_bytes()), Incoming::Single(Ok(Message::Request(_)))));
    let Some(Unusable::Reject(rejected)) = refusal(decode(request("1", &nested(128)).as_bytes())) else {
        panic!("129 levels must be rejected")
    };
    assert_eq!(rejected, Rejected { id: Id::Integer(1), fault: Fault::Refused(Reason::NestingTooDeep) });
}

#[test]
fn a_batch_counts_as_a_level_of_nesting() {
    let batch = |levels| decode(format!("[{}]", request("1", &nested(levels))).as_bytes());
    let Incoming::Batch(entries) = batch(126) else { panic!("not a batch") };
    assert!(matches!(entries.as_slice(), [Ok(Message::Request(_))]));
    let Incoming::Batch(entries) = batch(127) else { panic!("not a batch") };
    assert!(matches!(entries.as_slice(), [Err(Unusable::Reject(_))]));
}

#[test]
fn a_million_levels_of_nesting_are_refused_without_a_stack_overflow() {
    for levels in [10_000, 1_000_000] {
        let deep = request("1", &nested(levels));
        assert!(matches!(
            refusal(decode(deep.as_bytes())),
            Some(Unusable::Reject(Rejected { id: Id::Integer(1), .. }))
        ));
        assert!(json::validate(&deep, Options::default()).is_some_and(|report| report.is_valid()));
        let Incoming::Batch(entries) = decode(nested(levels).as_bytes()) else { panic!("not a batch") };
        let refused: Vec<Option<Unusable>> = entries.into_iter().map(Result::err).collect();
        assert_eq!(refused, [refused_because(Reason::NestingTooDeep)]);
    }
}

#[test]
fn a_notification_nested_too_deep_is_not_answered() {
    let text = format!(r#"{{"jsonrpc":"2.0","method":"update","params":{}}}"#, nested(200));
    assert_eq!(refusal(decode(text.as_bytes())), Some(Unusable::Ignore));
}

#[test]
fn a_message_is_accepted_up_to_its_limit_in_bytes() {
    let text = request("1", r#"["é€😀"]"#);
    let limits = |message_bytes| {
        let mut limits = Limits::DEFAULT;
        limits.message_bytes = message_bytes;
        limits
    };
    let at_limit = json::decode(text.as_bytes(), &Profile::GENERIC, &limits(text.len()));
    assert_eq!(refusal(at_limit), None);
    let over_limit = json::decode(text.as_bytes(), &Profile::GENERIC, &limits(text.len() - 1));
    assert_eq!(refusal(over_limit), refused_because(Reason::Oversize));
}

#[test]
fn a_string_of_fifty_megabytes_is_decoded_under_a_raised_limit_and_its_memory_is_released() {
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = 60_000_000;
    let text = request("1", &format!(r#"["{}"]"#, "x".repeat(50_000_000)));
    let info = measure(|| {
        let decoded = json::decode(text.as_bytes(), &Profile::GENERIC, &limits);
        let Incoming::Single(Ok(Message::Request(request))) = decoded else { panic!("refused") };
        assert_eq!(request.params.map(|params| params.get().len()), Some(50_000_004));
    });
    assert_eq!((info.count_current, info.bytes_current), (0, 0), "{info:?}");
    // Only one copy of the payload is in memory.
    assert!(info.bytes_max < 50_001_000, "{info:?}");
}

#[test]
fn a_message_over_the_limit_is_refused_before_it_is_copied() {
    let long = "x".repeat(50_000_000);
    for text in [
        request("1", &format!(r#"["{long}"]"#)),
        request(&format!("\"{long}\""), "[]"),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{long}"}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{long}"}}"#),
        format!(r#"[{}]"#, request("1", &format!(r#"["{long}"]"#))),
        long,
    ] {
        let info = measure(|| assert_eq!(refusal(decode(text.as_bytes())), refused_because(Reason::Oversize)));
        assert!(info.bytes_total < 1_000, "{info:?}");
        assert_eq!(info.bytes_current, 0);
    }
}

#[test]
fn an_id_is_accepted_up_to_its_limit_in_characters() {
    let mut limits = Limits::DEFAULT;
    // The limit counts UTF-16 code units, and does not apply to integers that fit into an `i64`.
    limits.id_length = 9;
    let refused = |id: &str| refusal(json::decode(request(id, "[]").as_bytes(), &Profile::GENERIC, &limits));
    for id in [r#""é€éé€éé😀""#, r#""\u00e9\u20acéé€éé\ud83d\ude00""#, "1.2345678", "-123456789012345678"]
    {
        assert_eq!(refused(id), None, "{id}");
    }
    for id in [r#""é€éé€éé😀x""#, r#""😀😀😀😀😀""#, "1.23456789", "1234567890123456789012"] {
        assert_eq!(refused(id), refused_because(Reason::IdTooLong), "{id}");
    }
    // A response is never answered, so a response with a longer id is ignored.
    let response = r#"{"jsonrpc":"2.0","id":"0123456789","result":1}"#;
    assert_eq!(refusal(json::decode(response.as_bytes(), &Profile::GENERIC, &limits)), Some(Unusable::Ignore));
}

#[test]
fn a_batch_over_the_limit_is_not_read_completely() {
    let mut limits = Limits::DEFAULT;
    limits.batch_items = 3;
    let entry_count = |profile| match json::decode(b"[1,2,3,4,5,6,7]", &profile, &limits) {
        Incoming::Batch(entries) => entries.len(),
        Incoming::Single(_) => panic!("not a batch"),
    };
    assert_eq!(entry_count(Profile::GENERIC), 4);
    // LSP has no batches. One message shows the connection that the batch must be refused.
    assert_eq!(entry_count(Profile::LSP), 1);
    // The syntax of the whole text is checked, even beyond the limit.
    let broken_at_its_end = json::decode(b"[1,2,3,4,5,6,7", &Profile::GENERIC, &limits);
    assert_eq!(refusal(broken_at_its_end), Some(PARSE_ERROR));
}

#[test]
fn the_limit_of_a_batch_counts_requests_and_notifications_but_not_responses() {
    let mut limits = Limits::DEFAULT;
    limits.batch_items = 3;
    let response = r#"{"jsonrpc":"2.0","id":1,"result":1}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"a"}"#;
    // The limit of LSP is 0, as LSP has no batches.
    for (profile, notifications, entry_count) in [
        (Profile::GENERIC, 0, 9),
        (Profile::GENERIC, 3, 12),
        (Profile::GENERIC, 4, 13),
        (Profile::GENERIC, 5, 13),
        (Profile::LSP, 0, 9),
        (Profile::LSP, 1, 10),
        (Profile::LSP, 2, 10),
    ] {
        let elements = [vec![notification; notifications], vec![response; 9]].concat();
        let text = format!("[{}]", elements.join(","));
        let Incoming::Batch(entries) = json::decode(text.as_bytes(), &profile, &limits) else { panic!("not a batch") };
        assert_eq!(entries.len(), entry_count, "{notifications} notifications");
    }
}

#[test]
fn text_that_is_not_json_rpc_is_ignored_on_a_shared_transport() {
    for text in ["hello", "null", "42", "{}", r#"{"id":1,"method":"echo"}"#, r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#]
    {
        let decoded = json::decode(text.as_bytes(), &Profile::MESSAGE_BOUNDARY, &Limits::DEFAULT);
        assert_eq!(refusal(decoded), Some(Unusable::Ignore), "{text}");
    }
}

#[test]
fn a_payload_of_several_lines_is_written_on_one_line() {
    let text = request("1", "[\r\n  {\n    \"a\":\t\"\\n\"\n  }\n]");
    let Incoming::Single(Ok(message)) = decode(text.as_bytes()) else { panic!("refused") };
    assert_eq!(json::encode(&Outgoing::Single(message)), request("1", "[  {    \"a\":\t\"\\n\"  }]"));
}

#[test]
fn messages_have_only_the_members_of_the_specification() {
    let error = |data: Option<&str>| ErrorObject {
        code: ErrorCode::new(-32001),
        message: "a\"b\n\u{0}".into(),
        data: data.map(payload),
    };
    let response = |outcome| Message::Response(Response { id: Id::from("x"), outcome });
    let cases = [
        (response(Ok(payload("null"))), r#"{"jsonrpc":"2.0","id":"x","result":null}"#),
        (response(Err(error(None))), r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32001,"message":"a\"b\n\u0000"}}"#),
        (
            response(Err(error(Some("null")))),
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32001,"message":"a\"b\n\u0000","data":null}}"#,
        ),
        (
            Message::Request(Request { id: Id::Integer(1), method: "a".into(), params: None }),
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
        ),
        (
            Message::Notification(Notification { method: "a".into(), params: Some(payload("[1]")) }),
            r#"{"jsonrpc":"2.0","method":"a","params":[1]}"#,
        ),
    ];
    for (message, text) in cases {
        assert_eq!(json::encode(&Outgoing::Single(message)), text);
    }
}

#[test]
fn names_of_members_may_be_escaped() {
    let text = r#"{"\u006asonrpc":"2\u002e0","\u0069d":7,"m\u0065thod":"echo","\u0070arams":[1],"\u0065xtra":1}"#;
    let Incoming::Single(Ok(Message::Request(request))) = decode(text.as_bytes()) else { panic!("refused") };
    assert_eq!(request.id, Id::Integer(7));
    assert_eq!(request.params.as_deref().map(RawValue::get), Some("[1]"));
    let repeated_id = r#"{"jsonrpc":"2.0","method":"a","id":1,"\u0069d":1}"#;
    assert_eq!(refusal(decode(repeated_id.as_bytes())), Some(Fault::InvalidRequest.into()));
    let lone_surrogate = r#"{"jsonrpc":"2.0","method":"a","id":1,"\ud800":1}"#;
    assert_eq!(refusal(decode(lone_surrogate.as_bytes())), Some(PARSE_ERROR));
}

#[test]
fn a_borrowed_request_has_the_members_of_its_text() {
    let text = r#" {"method":"a","params":[ 1 ],"id":"x","jsonrpc":"2.0"}"#.to_owned();
    let json::Decoded::Request(request) = json::decode_borrowed(text.as_bytes(), &Profile::GENERIC, &Limits::DEFAULT)
    else {
        panic!("the text must be decoded as a borrowed request")
    };
    assert!(matches!(request.method, Cow::Borrowed("a")));
    assert_eq!(request.params.map(RawValue::get), Some("[ 1 ]"));
    assert!(text.as_bytes().as_ptr_range().contains(&request.params.unwrap().get().as_ptr()));
    let again = json::encode(&Outgoing::Single(Message::Request(request.into_owned())));
    assert_eq!(again, r#"{"jsonrpc":"2.0","id":"x","method":"a","params":[ 1 ]}"#);
    for other in [r#"{"jsonrpc":"2.0","method":"a"}"#, "[]", r#"{"jsonrpc":"2.0","method":"a","id":1,"id":2}"#, "{"] {
        let decoded = json::decode_borrowed(other.as_bytes(), &Profile::GENERIC, &Limits::DEFAULT);
        assert!(matches!(decoded, json::Decoded::Other(_)), "{other}");
    }
}

#[test]
fn ids_that_are_integers_are_written_in_decimal_digits() {
    for integer in [0, 1, -1, 9, 10, 1_234_567_890, i64::MAX, i64::MIN] {
        let mut text = String::new();
        json::encode_response_into(&Id::Integer(integer), &Ok(payload("null")), &mut text);
        assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":{integer},"result":null}}"#));
    }
}

#[test]
fn encoding_appends_to_the_buffer() {
    let message = || Message::Notification(Notification { method: "a".into(), params: None });
    let mut text = "before ".to_owned();
    json::encode_into(&Outgoing::Single(message()), &mut text);
    json::encode_into(&Outgoing::Batch(vec![message()]), &mut text);
    assert_eq!(text, r#"before {"jsonrpc":"2.0","method":"a"}[{"jsonrpc":"2.0","method":"a"}]"#);
}

#[test]
fn strings_are_written_as_serde_json_writes_them() {
    for character in ('\0'..='\u{ff}').chain(['\u{2028}', '\u{fffd}', '😀']) {
        for method in [character.to_string(), format!("before{character}behind"), character.to_string().repeat(20)] {
            let message = Message::Notification(Notification { method: method.as_str().into(), params: None });
            let quoted = serde_json::to_string(&method).unwrap();
            let text = json::encode(&Outgoing::Single(message));
            assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","method":{quoted}}}"#));
        }
    }
}

#[test]
fn a_cancellation_contains_the_id_of_the_request() {
    for (id, written) in
        [(Id::Integer(7), "7"), (Id::from("7"), "\"7\""), (Id::from_number_text("7.0").unwrap(), "7.0")]
    {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{written}}}}}"#);
        assert_eq!(json::encode(&Outgoing::Cancel(id)), text);
    }
}

fn payload(text: &str) -> Payload {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Encodes decoded messages again, so that tests can compare the texts of their payloads.
fn text_of(incoming: Incoming<Payload>) -> String {
    let messages = match incoming {
        Incoming::Single(entry) => return json::encode(&Outgoing::Single(entry.unwrap())),
        Incoming::Batch(entries) => entries.into_iter().map(Result::unwrap).collect(),
    };
    json::encode(&Outgoing::Batch(messages))
}

fn any_json(depth: u32) -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(depth, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_payload() -> impl Strategy<Value = Payload> {
    any_json(4).prop_map(|value| payload(&value.to_string()))
}

fn any_params() -> impl Strategy<Value = Option<Payload>> {
    prop::option::of(
        prop::collection::vec(any_json(3), 0..4).prop_map(|items| payload(&serde_json::Value::from(items).to_string())),
    )
}

fn any_id() -> impl Strategy<Value = Id> {
    prop_oneof![
        Just(Id::Null),
        any::<i64>().prop_map(Id::Integer),
        any::<String>().prop_map(|text| Id::String(text.into())),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?"
            .prop_map(|text| Id::from_number_text(&text).unwrap()),
    ]
}

fn any_error() -> impl Strategy<Value = ErrorObject<Payload>> {
    (any::<i64>(), any::<String>(), prop::option::of(any_payload())).prop_map(|(code, message, data)| ErrorObject {
        code: ErrorCode::new(code),
        message: message.into(),
        data,
    })
}

fn any_message() -> impl Strategy<Value = Message<Payload>> {
    let method = || any::<String>().prop_map(String::into_boxed_str);
    prop_oneof![
        (any_id(), method(), any_params()).prop_map(|(id, method, params)| Message::Request(Request {
            id,
            method,
            params
        })),
        (method(), any_params()).prop_map(|(method, params)| Message::Notification(Notification { method, params })),
        (any_id(), any_payload()).prop_map(|(id, result)| Message::Response(Response { id, outcome: Ok(result) })),
        (any_id(), any_error()).prop_map(|(id, error)| Message::Response(Response { id, outcome: Err(error) })),
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn a_text_is_accepted_only_if_serde_json_accepts_it(text in r#"[\[\]{}:,"\\0-9eE+.\-a-ftrunl \n]{0,60}"#) {
        let is_json = serde_json::from_str::<&RawValue>(&text).is_ok();
        let is_accepted = refusal(decode(text.as_bytes())) != Some(PARSE_ERROR);
        // Accepted text is JSON. The decoder also rejects some JSON, namely numbers and strings that other parsers
        // reject.
        prop_assert!(is_json || !is_accepted);
        prop_assert_eq!(json::validate(&text, Options::default()).is_some(), is_json);
    }

    #[test]
    fn a_message_with_a_random_byte_is_decoded_without_a_panic(
        message in any_message(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = json::encode(&Outgoing::Single(message)).into_bytes();
        *at.get_mut(&mut bytes) = byte;
        let _ = decode(&bytes);
    }

    #[test]
    fn validate_accepts_exactly_the_texts_that_serde_json_accepts(
        value in any_json(5),
        is_pretty in any::<bool>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..3),
        inserted in r#"[\[\]{}:,"\\0-9eE+.\-a-ftrunl \n\t\x00-\x20]{0,2}"#,
    ) {
        let text = if is_pretty { format!("{value:#}") } else { value.to_string() };
        let mut characters: Vec<char> = text.chars().collect();
        for (at, length) in cuts {
            let start = at.index(characters.len() + 1);
            let end = start + length.index((characters.len() - start).min(3) + 1);
            characters.splice(start..end, inserted.chars());
        }
        let text: String = characters.into_iter().collect();
        let is_json = serde_json::from_str::<&RawValue>(&text).is_ok();
        prop_assert_eq!(json::validate(&text, Options::default()).is_some(), is_json, "{}", text);
    }

    #[test]
    fn a_decoded_message_equals_the_encoded_message(message in any_message()) {
        let text = json::encode(&Outgoing::Single(message));
        prop_assert!(!text.contains(['\n', '\r']));
        prop_assert_eq!(text_of(decode(text.as_bytes())), text);
    }

    #[test]
    fn a_decoded_batch_equals_the_encoded_batch(messages in prop::collection::vec(any_message(), 1..5)) {
        let text = json::encode(&Outgoing::Batch(messages));
        prop_assert_eq!(text_of(decode(text.as_bytes())), text);
    }

    #[test]
    fn every_encoded_message_is_valid_unless_its_method_is_empty(message in any_message()) {
        let has_no_empty_method = !matches!(
            &message,
            Message::Request(Request { method, .. }) | Message::Notification(Notification { method, .. })
                if method.is_empty()
        );
        let report = json::validate(&json::encode(&Outgoing::Single(message)), Options::default()).unwrap();
        prop_assert_eq!(report.is_valid(), has_no_empty_method);
    }
}
