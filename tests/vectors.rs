//! Runs the vectors for servers, for clients and for the validator natively. The message of a vector for servers passes
//! the codec, the connection and a method. The reply passes the connection and the codec.
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test is a panic")]

use std::collections::BTreeMap;

use portway::ErrorCode;
use portway::codec::json;
use portway::connection::{Config, Connection, End, Event};
use portway::message::{ErrorObject, Outgoing};
use portway::profile::Profile;
use portway::validate::{Expect, Options};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::{RawValue, to_raw_value};

type Payload = Box<RawValue>;
type Error = ErrorObject<Payload>;

#[test]
fn the_examples_of_the_specification_are_answered_as_specified() {
    run(include_str!("data/spec_examples.json"), check_reply);
}

#[test]
fn envelopes_of_every_kind_are_answered_as_their_vectors_specify() {
    run(include_str!("data/envelope.json"), check_reply);
}

#[test]
fn calls_end_as_their_vectors_specify() {
    run(include_str!("data/responses.json"), check_outcome);
}

#[test]
fn the_validator_reports_the_errors_of_its_vectors() {
    run(include_str!("data/validator.json"), check_report);
}

/// Runs all vectors of a file. Panics with a list of all vectors that failed.
fn run<V: DeserializeOwned>(file: &str, check: fn(&V) -> Result<(), String>) {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }

    let vectors: Vec<&RawValue> = serde_json::from_str(file).unwrap();
    assert!(!vectors.is_empty());
    let failures: Vec<String> = vectors
        .iter()
        .filter_map(|vector| {
            let Named { name } = serde_json::from_str(vector.get()).unwrap();
            let vector = serde_json::from_str(vector.get()).unwrap();
            check(&vector).err().map(|failure| format!("{name}:\n  {failure}"))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {} failed\n{}", failures.len(), vectors.len(), failures.join("\n"));
}

// Vectors for servers.

#[derive(Deserialize)]
struct ServingVector {
    #[serde(default, deserialize_with = "present")]
    receive: Option<Payload>,
    receive_text: Option<String>,
    receive_repeated: Option<Repeated>,
    reply: Option<Payload>,
    reply_text: Option<String>,
    profile: Option<String>,
}

#[derive(Deserialize)]
struct Repeated {
    element: Payload,
    times: usize,
}

fn check_reply(vector: &ServingVector) -> Result<(), String> {
    let received = match (&vector.receive, &vector.receive_text, &vector.receive_repeated) {
        (Some(value), None, None) => value.get().to_owned(),
        (None, Some(text), None) => text.clone(),
        (None, None, Some(Repeated { element, times })) => format!("[{}]", vec![element.get(); *times].join(",")),
        _ => panic!("a vector must have exactly one of receive, receive_text and receive_repeated"),
    };
    let profile = profile(vector.profile.as_deref());
    let expected = text_or_value(&vector.reply_text, &vector.reply).map(canonical);
    let replies = serve(received.as_bytes(), profile);
    if let Some(broken) = replies.iter().find(|reply| reply.contains(['\n', '\r'])) {
        return Err(format!("more than one line: {broken}"));
    }
    let replies: Vec<String> = replies.iter().map(|reply| canonical(reply)).collect();
    expect_equal(&replies, &Vec::from_iter(expected))
}

fn profile(name: Option<&str>) -> Profile {
    match name {
        None | Some("generic") => Profile::GENERIC,
        Some("lsp") => Profile::LSP,
        Some("kaiak") => Profile::KAIAK,
        Some(unknown) => panic!("profile must be generic, lsp or kaiak, got {unknown}"),
    }
}

/// Passes a message to a connection whose methods are in [`dispatch`]. Returns the replies.
fn serve(bytes: &[u8], profile: Profile) -> Vec<String> {
    let config = Config::new(profile);
    let mut connection = Connection::new(config);
    connection.handle(json::decode(bytes, &config.profile, &config.limits));
    let mut sent = Vec::new();
    loop {
        while let Some(outgoing) = connection.poll_transmit() {
            sent.push(json::encode(&outgoing));
        }
        match connection.poll_event() {
            Some(Event::Request { key, method, params }) => {
                connection.respond(key, dispatch(&method, params));
            }
            Some(Event::Notification(notification)) => {
                // An error is ignored, since a notification has no reply.
                let _ = dispatch(&notification.method, notification.params);
            }
            Some(_) => {}
            None => return sent,
        }
    }
}

fn dispatch(method: &str, params: Option<Payload>) -> Result<Payload, Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Subtract {
        Named { minuend: i64, subtrahend: i64 },
        Positional(i64, i64),
    }

    match method {
        "subtract" => Ok(raw(&match read(params)? {
            Subtract::Named { minuend, subtrahend } | Subtract::Positional(minuend, subtrahend) => minuend - subtrahend,
        })),
        "sum" => Ok(raw(&read::<Vec<i64>>(params)?.iter().sum::<i64>())),
        "get_data" => Ok(raw(&("hello", 5))),
        "echo" => Ok(params.unwrap_or_else(|| raw(&()))),
        "nothing" | "update" | "notify_hello" | "notify_sum" => Ok(raw(&())),
        "fail" => Err(read::<Failure>(params)?.into_error()),
        _ => Err(error(ErrorCode::METHOD_NOT_FOUND)),
    }
}

#[derive(Deserialize)]
struct Failure {
    code: i64,
    message: Box<str>,
    #[serde(default, deserialize_with = "present")]
    data: Option<Payload>,
}

impl Failure {
    fn into_error(self) -> Error {
        ErrorObject { code: ErrorCode::new(self.code), message: self.message, data: self.data }
    }
}

fn read<T: DeserializeOwned>(params: Option<Payload>) -> Result<T, Error> {
    let params = params.ok_or_else(|| error(ErrorCode::INVALID_PARAMS))?;
    serde_json::from_str(params.get()).map_err(|_| error(ErrorCode::INVALID_PARAMS))
}

fn error(code: ErrorCode) -> Error {
    ErrorObject { code, message: code.standard_message().unwrap().into(), data: None }
}

fn raw<T: serde::Serialize>(value: &T) -> Payload {
    to_raw_value(value).unwrap()
}

// Vectors for clients.

#[derive(Deserialize)]
struct CallingVector {
    #[serde(default, deserialize_with = "present")]
    answer: Option<Payload>,
    answer_text: Option<String>,
    outcome: Option<Payload>,
    outcome_text: Option<String>,
    profile: Option<String>,
}

fn check_outcome(vector: &CallingVector) -> Result<(), String> {
    let answer = text_or_value(&vector.answer_text, &vector.answer).unwrap();
    let expected = text_or_value(&vector.outcome_text, &vector.outcome).map(canonical);
    let config = Config::new(profile(vector.profile.as_deref()));
    let mut connection = Connection::new(config);
    let call = connection.call("echo".into(), None, None).unwrap();
    assert!(matches!(connection.poll_transmit(), Some(Outgoing::Single(_))));

    connection.handle(json::decode(answer.as_bytes(), &config.profile, &config.limits));
    let mut ends = Vec::new();
    while let Some(event) = connection.poll_event() {
        if let Event::Ended { call: ended, end } = event {
            assert_eq!(ended, call);
            ends.push(canonical(&match end {
                End::Answered(Ok(result)) => format!(r#"{{"result":{result}}}"#),
                End::Answered(Err(error)) => error_text(&error),
                End::Invalid => r#""invalid""#.to_owned(),
                End::Unreadable(_) => r#""unreadable""#.to_owned(),
                End::TimedOut | End::Closed => panic!("an answer must not time out or close the call"),
            }));
        }
    }
    assert_eq!(connection.pending_calls(), usize::from(ends.is_empty()));
    expect_equal(&ends, &Vec::from_iter(expected))
}

fn error_text(error: &Error) -> String {
    let data = error.data.as_ref().map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
    format!(r#"{{"error":{{"code":{},"message":{}{data}}}}}"#, error.code, raw(&error.message))
}

// The validator.

#[derive(Deserialize)]
struct ValidatorVector {
    #[serde(default, deserialize_with = "present")]
    message: Option<Payload>,
    message_text: Option<String>,
    expect: Option<String>,
    errors: Vec<String>,
    warnings: Vec<String>,
}

fn check_report(vector: &ValidatorVector) -> Result<(), String> {
    let message = text_or_value(&vector.message_text, &vector.message).unwrap();
    let expect = match vector.expect.as_deref() {
        None => Expect::Either,
        Some("request") => Expect::Request,
        Some("response") => Expect::Response,
        Some(unknown) => panic!("expect must be request or response, got {unknown}"),
    };
    let report = json::validate(message, Options { expect, ..Options::default() }).unwrap();
    assert_eq!(report.is_valid(), report.errors().is_empty());
    expect_equal(&report.errors(), &vector.errors)?;
    expect_equal(&report.warnings(), &vector.warnings)
}

/// Returns the text, or the JSON text of the value if the text is missing.
fn text_or_value<'v>(text: &'v Option<String>, value: &'v Option<Payload>) -> Option<&'v str> {
    text.as_deref().or_else(|| value.as_deref().map(RawValue::get))
}

// Comparison.

fn expect_equal(found: &[String], expected: &[String]) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("expected {expected:?}\n  found    {found:?}")) }
}

/// Returns JSON text with its members sorted, without white space, and with unchanged numbers. The elements of the
/// outermost array are also sorted, since the answers of a batch may have any order.
fn canonical(text: &str) -> String {
    let value: &RawValue = serde_json::from_str(text).unwrap();
    if !value.get().starts_with('[') {
        return canonical_value(value);
    }
    let elements: Vec<&RawValue> = serde_json::from_str(text).unwrap();
    let mut elements: Vec<String> = elements.into_iter().map(canonical_value).collect();
    elements.sort();
    format!("[{}]", elements.join(","))
}

fn canonical_value(value: &RawValue) -> String {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap();
            let members = members.iter().map(|(name, value)| format!("{}:{}", raw(name), canonical_value(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(text).unwrap();
            format!("[{}]", elements.into_iter().map(canonical_value).collect::<Vec<_>>().join(","))
        }
        Some(b'"') => raw(&serde_json::from_str::<String>(text).unwrap()).get().to_owned(),
        _ => text.to_owned(),
    }
}

/// Deserializes a member to `Some`, even if it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Payload>, D::Error> {
    Payload::deserialize(deserializer).map(Some)
}
