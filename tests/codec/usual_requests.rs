//! The decoder has a fast path for requests in their usual form. Such a request has the members `jsonrpc`, `id`,
//! `method` and `params` in this order, without whitespace between them. The fast path and the general path must have
//! the same result.

use portway::codec::json;
use portway::profile::Profile;
use portway::{Limits, message::Incoming};
use proptest::prelude::*;
use serde_json::value::RawValue;

/// The parts of a request in the usual form, without its values.
const USUAL: [&str; 4] = [r#"{"jsonrpc":"2.0","id":"#, r#","method":"#, r#","params":"#, "}"];

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(texts).prop_map(str::to_owned)
}

fn ids() -> impl Strategy<Value = String> {
    let others =
        one_of(&["0", "9223372036854775807", "null", "\"a\"", "[1]", "", "1 ", " 1", "01", "1.0", "1e1", "1E400"]);
    prop_oneof!["-?[0-9]{1,20}", others]
}

fn methods() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>().prop_map(|method| serde_json::to_string(&method).unwrap()),
        (1_020_usize..1_030).prop_map(|length| format!("\"{}\"", "é".repeat(length))),
        (1_020_usize..1_030).prop_map(|length| format!("\"{}\"", "m".repeat(length))),
        one_of(&["\"echo\"", "\"\"", r#""\u0065""#, r#""\ud800""#, "\"\n\"", "1", "null", "\"open"]),
    ]
}

fn params() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(any::<String>(), 0..4).prop_map(|texts| serde_json::to_string(&texts).unwrap()),
        prop::collection::btree_map(any::<String>(), any::<f64>(), 0..4)
            .prop_map(|members| serde_json::to_string(&members).unwrap()),
        (0_usize..6).prop_map(|levels| "[".repeat(levels) + &"]".repeat(levels)),
        r#"[\[\]{}:,"\\0-9a-f ]{0,20}"#,
        one_of(&["{}", " [] ", "null", "[1e400]", r#"["\ud800"]"#, "[1", "\"a\"", r#"{"id":1,"id":2}"#]),
    ]
}

/// Generates the text `usual`, or rarely one of `others`.
fn part(usual: &'static str, others: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![9 => Just(usual.to_owned()), 1 => one_of(others)]
}

/// Generates requests in the usual form, and texts that differ from this form in a few parts.
fn texts() -> impl Strategy<Value = String> {
    let [start, method, params_name, end] = USUAL;
    let start = part(start, &[r#"{"jsonrpc": "2.0","id":"#, r#"{"jsonrpc":"2.1","id":"#, "["]);
    let method = part(method, &[r#","result":"#, r#","error":"#, r#" ,"method":"#, r#","id":"#]);
    let params_name = part(params_name, &[r#","result":"#, r#","params" :"#, r#","other":"#, r#","method":"#]);
    let end = part(end, &["} ", "}}", "", " }", r#","id":1}"#, r#","result":1}"#, ",}", "},", "}\n"]);
    (start, ids(), method, methods(), params_name, params(), end)
        .prop_map(|(a, b, c, d, e, f, g)| [a, b, c, d, e, f, g].concat())
}

fn decoded(text: &str, profile: &Profile, limits: &Limits) -> String {
    let incoming: Incoming<Box<RawValue>> = json::decode(text.as_bytes(), profile, limits);
    format!("{incoming:?}")
}

proptest! {
    /// Each text is decoded with and without a leading space. With this space, no text has the usual form.
    #[test]
    fn a_request_in_the_usual_form_has_the_same_result(text in texts(), depth in 0_usize..6, id_length in 0_usize..6) {
        let mut tight = Limits::DEFAULT;
        (tight.depth, tight.id_length) = (depth, id_length);
        let spaced = format!(" {text}");
        for profile in [Profile::GENERIC, Profile::MESSAGE_BOUNDARY, Profile::LSP] {
            for limits in [Limits::DEFAULT, tight] {
                let result = decoded(&text, &profile, &limits);
                prop_assert_eq!(result, decoded(&spaced, &profile, &limits), "{}", text);
            }
        }
    }
}
