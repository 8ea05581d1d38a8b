//! JSONTestSuite, read by the decoder: natively and in browsers, with the same outcome.

use portway::Limits;
use portway::codec::json;
use portway::message::{Fault, Id, Incoming, Message, Rejected, Unusable};
use portway::profile::Profile;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The cases that may go either way, and that we take. Bytes that are no UTF-8 stand in the file as a character that is.
const TAKEN: &[&str] = &[
    "i_number_double_huge_neg_exp.json",
    "i_number_real_underflow.json",
    "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json",
    "i_number_very_big_negative_int.json",
    "i_string_UTF-8_invalid_sequence.json",
    "i_string_UTF8_surrogate_U+D800.json",
    "i_string_invalid_utf-8.json",
    "i_string_iso_latin_1.json",
    "i_string_lone_utf8_continuation_byte.json",
    "i_string_not_in_unicode_range.json",
    "i_string_overlong_sequence_2_bytes.json",
    "i_string_overlong_sequence_6_bytes.json",
    "i_string_overlong_sequence_6_bytes_null.json",
    "i_string_truncated-utf-8.json",
];

#[derive(Deserialize)]
struct Case {
    name: String,
    input: String,
}

/// Reads all cases; fails with the first that comes out otherwise than it should.
pub(crate) fn run() {
    let mut cases: Vec<Case> = serde_json::from_str(include_str!("../data/json_text.json")).unwrap();
    // The two that are too long for the file.
    for (name, unit, times) in [
        ("n_structure_100000_opening_arrays.json", "[", 100_000),
        ("n_structure_open_array_object.json", "[{\"\":", 50_000),
    ] {
        cases.push(Case { name: name.to_owned(), input: unit.repeat(times) });
    }
    let mut counts = [0; 3];
    for Case { name, input } in cases {
        let is_json = !is_parse_error(&decode(&input));
        let in_params = decode(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":[{input}]}}"#));
        let is_taken = matches!(in_params, Incoming::Single(Ok(Message::Request(_))));
        let verdict = match name.as_bytes() {
            [b'y', ..] => 0,
            [b'n', ..] => 1,
            _ => 2,
        };
        counts[verdict] += 1;
        match verdict {
            0 => assert!(is_json && is_taken, "{name}: {input}"),
            1 => assert!(!is_json, "{name}: {input}"),
            _ => assert_eq!(is_taken, TAKEN.contains(&&*name), "{name}: {input}"),
        }
    }
    assert_eq!(counts, [95, 188, 35]);
}

/// Nests so deep that a decoder that recurs would trap, and then reads on.
pub(crate) fn run_deep() {
    for levels in [10_000, 1_000_000] {
        let params = "[".repeat(levels) + &"]".repeat(levels);
        let deep = decode(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":{params}}}"#));
        assert!(
            matches!(deep, Incoming::Single(Err(Unusable::Reject(Rejected { id: Id::Integer(1), .. })))),
            "{levels}"
        );
        assert!(matches!(
            decode(r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#),
            Incoming::Single(Ok(Message::Request(_)))
        ));
    }
}

fn decode(text: &str) -> Incoming<Box<RawValue>> {
    json::decode(text.as_bytes(), &Profile::GENERIC, &Limits::DEFAULT)
}

fn is_parse_error(incoming: &Incoming<Box<RawValue>>) -> bool {
    let parse_error = Unusable::Reject(Rejected { id: Id::Null, fault: Fault::ParseError });
    matches!(incoming, Incoming::Single(Err(error)) if *error == parse_error)
}
