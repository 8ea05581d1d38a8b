//! Fuzzes the rules of MCP for headers with the arguments of a tool.
//!
//! The first line is the JSON of the tool's input schema, and the second line is the JSON of the arguments. The whole
//! input is also a value to encode.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::param_headers::{ParamHeaders, encode_value};

/// The characters of Base64 (RFC 4648, section 4).
const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Checks any schema, any arguments and any value.
pub fn mcp_headers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    check_value(&encode_value(&text), &text);
    let mut lines = text.lines();
    let mut json = || serde_json::from_str::<Value>(lines.next()?).ok();
    if let (Some(schema), Some(arguments)) = (json(), json()) {
        check_tool(schema, &arguments);
    }
}

fn check_tool(schema: Value, arguments: &Value) {
    let mut headers = ParamHeaders::default();
    let mut result = json!({ "tools": [{ "name": "tool", "inputSchema": schema }, { "name": "other" }] });
    let problems = headers.read(&mut result);
    assert!(problems.len() <= 1, "a tool without a schema has no problem");
    let tools = result["tools"].as_array().expect("the tools stay an array");
    assert_eq!(tools.len() + problems.len(), 2, "each tool is kept, or has a problem");
    let found = headers.of_call("tool", arguments);
    assert!(problems.is_empty() || found.is_empty(), "a tool that is left out has no headers");
    assert_eq!(headers.of_call("other", arguments), [], "a tool without a schema has no headers");
    let mut names = BTreeSet::new();
    let mut values = Vec::new();
    collect(arguments, &mut values);
    for (name, value) in found {
        let suffix = name.strip_prefix("Mcp-Param-").expect("the name has a prefix");
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        assert!(!suffix.is_empty() && suffix.bytes().all(is_token), "{name:?} is not the name of a header");
        assert!(names.insert(name.to_ascii_lowercase()), "{name:?} is a header twice");
        let text = decode(&value);
        check_value(&value, &text);
        assert!(values.contains(&text), "{text:?} is not an argument");
    }
    let mut again = result.clone();
    assert!(ParamHeaders::default().read(&mut again).is_empty() && again == result, "a kept tool is kept again");
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
    assert_eq!(value.trim_matches([' ', '\t']), value, "HTTP removes the space around a value");
    assert_eq!(decode(value), text, "{value:?} has another text");
}

/// Returns the text for which a value stands.
fn decode(value: &str) -> String {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) else {
        return value.to_owned();
    };
    assert_eq!(encoded.len() % 4, 0, "the padding is wrong");
    let digits = encoded.trim_end_matches('=').bytes().map(|byte| {
        let digit = ALPHABET.iter().position(|other| *other == byte);
        u32::try_from(digit.expect("a character of Base64")).expect("a small number")
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
