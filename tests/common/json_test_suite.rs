//! The cases of JSONTestSuite. The decoder must have the same results natively and in browsers.

use std::collections::BTreeSet;

use portway::Limits;
use portway::codec::json;
use portway::message::{Fault, Id, Incoming, Message, Rejected, Unusable};
use portway::profile::Profile;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The cases that a decoder may accept or reject, and that this decoder accepts.
const ACCEPTED: &[&str] = &[
    "i_number_double_huge_neg_exp.json",
    "i_number_real_underflow.json",
    "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json",
    "i_number_very_big_negative_int.json",
];

/// A case of the file. Its text consists of three parts: `times` copies of `repeated`, then `input`, then the decoded
/// bytes of `base64`.
#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    repeated: String,
    #[serde(default)]
    times: usize,
    #[serde(default)]
    input: String,
    #[serde(default)]
    base64: String,
}

impl Case {
    fn bytes(&self) -> Vec<u8> {
        [self.repeated.repeat(self.times).into_bytes(), self.input.clone().into_bytes(), from_base64(&self.base64)]
            .concat()
    }
}

/// Decodes all cases. Panics at the first case with an unexpected result.
pub(crate) fn run() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../data/json_text.json")).unwrap();
    let mut counts = [0; 3];
    let mut not_text = 0;
    let mut accepted = Vec::new();
    for case in &cases {
        let (name, input) = (case.name.as_str(), case.bytes());
        let shown = String::from_utf8_lossy(input.get(..200).unwrap_or(&input));
        let is_json = !is_parse_error(&decode(&input));
        let in_params = [br#"{"jsonrpc":"2.0","id":1,"method":"echo","params":["#, &input[..], b"]}"].concat();
        let is_accepted = matches!(decode(&in_params), Incoming::Single(Ok(Message::Request(_))));
        not_text += usize::from(std::str::from_utf8(&input).is_err());
        // The first letter of a name is `y` for valid JSON and `n` for invalid JSON. It is `i` if a decoder may accept
        // or reject the text.
        let verdict = match name.as_bytes() {
            [b'y', ..] => 0,
            [b'n', ..] => 1,
            _ => 2,
        };
        counts[verdict] += 1;
        match verdict {
            0 => assert!(is_json && is_accepted, "{name}: {shown}"),
            1 => assert!(!is_json, "{name}: {shown}"),
            _ if is_accepted => accepted.push(name),
            _ => {}
        }
    }
    assert_eq!(accepted, ACCEPTED);
    // The file must have each case of the suite once. 95 cases are valid JSON, 188 are invalid JSON, and 35 may be
    // accepted or rejected. The text of 25 cases is not UTF-8.
    assert_eq!((counts, not_text), ([95, 188, 35], 25));
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len());
}

/// Decodes base64 (RFC 4648 §4). Panics at an invalid character, since the file of the cases has none.
fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut pending_bits, mut bits) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            other => panic!("{other} is not a character of base64"),
        };
        pending_bits = (pending_bits << 6) | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((pending_bits >> bits) as u8);
            pending_bits &= (1 << bits) - 1;
        }
    }
    bytes
}

/// Decodes params whose nesting would overflow the stack of a recursive decoder. Then decodes a valid request.
pub(crate) fn run_deep() {
    for levels in [10_000, 1_000_000] {
        let params = "[".repeat(levels) + &"]".repeat(levels);
        let deep = decode(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":{params}}}"#).as_bytes());
        assert!(
            matches!(deep, Incoming::Single(Err(Unusable::Reject(Rejected { id: Id::Integer(1), .. })))),
            "{levels}"
        );
        assert!(matches!(
            decode(br#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#),
            Incoming::Single(Ok(Message::Request(_)))
        ));
    }
}

fn decode(bytes: &[u8]) -> Incoming<Box<RawValue>> {
    json::decode(bytes, &Profile::GENERIC, &Limits::DEFAULT)
}

fn is_parse_error(incoming: &Incoming<Box<RawValue>>) -> bool {
    let parse_error = Unusable::Reject(Rejected { id: Id::Null, fault: Fault::ParseError });
    matches!(incoming, Incoming::Single(Err(error)) if *error == parse_error)
}
