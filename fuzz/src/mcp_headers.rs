//! Fuzzes the rules of MCP for headers with the arguments of a tool.
//!
//! The first line is the JSON of the tool's input schema, and the second line is the JSON of the arguments. The whole
//! input is also a value to encode.

use std::collections::BTreeSet;

use portway_proto::mcp::http::{Json, ParamHeaders, decode_value, encode_value};
use serde_json::Value;

/// The characters of Base64 (RFC 4648, section 4).
const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Checks any schema, any arguments and any value.
pub fn mcp_headers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    check_value(&encode_value(&text), &text);
    if let Some(decoded) = decode_value(&text) {
        assert!(decoded == text || encode_value(&decoded) == text, "{text:?} is a second encoding of {decoded:?}");
    }
    let mut lines = text.lines();
    let mut json = || serde_json::from_str::<Value>(lines.next()?).ok();
    if let (Some(schema), Some(arguments)) = (json(), json()) {
        check_tool(&Json::from(&schema), &arguments);
    }
}

fn check_tool(schema: &Json, arguments: &Value) {
    let mut headers = ParamHeaders::default();
    let is_valid = headers.read_tool("tool", schema).is_ok();
    let mut texts = Vec::new();
    collect(arguments, &mut texts);
    let arguments = Json::from(arguments);
    let found = headers.of_request("tools/call", "tool", &arguments);
    assert_eq!(found.first().map(|(name, value)| (&**name, &**value)), Some(("mcp-name", "tool")));
    assert!(is_valid || found.len() == 1, "a tool with an invalid schema must have no headers of arguments");
    assert_eq!(headers.texts("other", &arguments), [], "a tool without a schema must have no headers of arguments");
    let mut names = BTreeSet::new();
    for (name, value) in found.into_iter().skip(1) {
        let suffix = name.strip_prefix("mcp-param-").expect("the name must have the prefix");
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        assert!(!suffix.is_empty() && suffix.bytes().all(is_token), "{name:?} is not the name of a header");
        assert!(names.insert(name.to_ascii_lowercase()), "{name:?} is a header twice");
        let text = decode(&value);
        check_value(&value, &text);
        assert!(texts.contains(&text), "{text:?} is not an argument");
        assert!(headers.texts("tool", &arguments).contains(&(name, Some(text))), "the header has another text");
    }
    assert_eq!(headers.read_tool("tool", schema).is_ok(), is_valid, "the same schema has another result");
}

/// Collects the texts of all strings, booleans and whole numbers in a value.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Bool(value) => texts.push(value.to_string()),
        Value::Number(number) => texts.extend(number.as_f64().map(|number| format!("{:.0}", number + 0.0))),
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, texts)),
        Value::Object(members) => members.values().for_each(|member| collect(member, texts)),
        Value::Null => {}
    }
}

/// Checks that a value is valid in a header, and stands for this text.
fn check_value(value: &str, text: &str) {
    assert!(!value.is_empty() && value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')), "{value:?}");
    assert_eq!(value.trim_matches([' ', '\t']), value, "HTTP would remove the spaces around this value");
    assert_eq!(decode(value), text, "{value:?} has another text");
    assert_eq!(decode_value(value).as_deref(), Some(text), "{value:?} is decoded to another text");
}

/// Returns the text for which a value stands.
fn decode(value: &str) -> String {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) else {
        return value.to_owned();
    };
    assert_eq!(encoded.len() % 4, 0, "the padding is wrong");
    let digits = encoded.trim_end_matches('=').bytes().map(|byte| {
        let digit = ALPHABET.iter().position(|other| *other == byte);
        u32::try_from(digit.expect("the value must be Base64")).expect("the number must be small")
    });
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for digit in digits {
        bits = (bits << 6 | digit) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).expect("eight bits"));
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}
