//! The headers `Mcp-Param-*` (MCP 2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters").
//! A tool names them in its input schema by `x-mcp-header`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The keyword of a schema that names a header.
const KEYWORD: &str = "x-mcp-header";

/// The keywords whose value is data, and not a schema.
const DATA_KEYWORDS: [&str; 4] = ["const", "default", "enum", "examples"];

/// The largest integer that a number of JavaScript represents exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The headers of the tools of a server, by the names of the tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParamHeaders(BTreeMap<String, Vec<ParamHeader>>);

/// A header for one argument of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ParamHeader {
    /// The name after `Mcp-Param-`.
    name: String,
    /// The names of the members that lead to the argument.
    path: Vec<String>,
}

impl ParamHeaders {
    /// Reads the tools in a result of `tools/list`. Removes the tools whose schemas violate the rules, and returns the
    /// reasons.
    pub(crate) fn read(&mut self, result: &mut Value) -> Vec<String> {
        let mut problems = Vec::new();
        let Some(tools) = result.get_mut("tools").and_then(Value::as_array_mut) else { return problems };
        tools.retain(|tool| {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let mut schema = SchemaReader::default();
            match schema.read(tool.get("inputSchema").unwrap_or(&Value::Null), Some(&[])) {
                Ok(()) => {
                    self.0.insert(name.into(), schema.found);
                    true
                }
                Err(problem) => {
                    self.0.remove(name);
                    problems.push(format!("the tool {name:?} is left out: {problem}"));
                    false
                }
            }
        });
        problems
    }

    /// Returns the headers of a call of a tool.
    pub(super) fn of_call(&self, tool: &str, arguments: &Value) -> Vec<(String, String)> {
        let values = self.values(tool, arguments).into_iter();
        values.filter_map(|(name, value)| Some((name, encode_value(&value?)))).collect()
    }

    /// Returns the headers of a tool, with the texts of the arguments. An argument that is missing has no text.
    pub(crate) fn values(&self, tool: &str, arguments: &Value) -> Vec<(String, Option<String>)> {
        let headers = self.0.get(tool).map(Vec::as_slice).unwrap_or_default();
        let value = |ParamHeader { name, path }: &ParamHeader| {
            let argument = path.iter().try_fold(arguments, |value, member| value.get(member));
            (format!("Mcp-Param-{name}"), argument.and_then(text_of))
        };
        headers.iter().map(value).collect()
    }
}

/// Returns the text of an argument: a string, an integer or a boolean. Any other argument has no header.
fn text_of(argument: &Value) -> Option<String> {
    match argument {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) => {
            let is_safe = |value: &i64| value.unsigned_abs() <= MAX_SAFE_INTEGER;
            // Some programs write the integer 42 as 42.0.
            let whole = || number.as_f64().filter(|value| value.fract() == 0.0).map(|value| value as i64);
            number.as_i64().or_else(whole).filter(is_safe).map(|value| value.to_string())
        }
        _ => None,
    }
}

/// Collects the headers that a schema names.
#[derive(Debug, Default)]
struct SchemaReader {
    found: Vec<ParamHeader>,
    /// The names of the headers in lower case.
    names: BTreeSet<String>,
}

impl SchemaReader {
    /// Reads a schema. `path` leads to the argument with this schema, and is `None` if not only `properties` lead to
    /// the schema. The recursion is limited, because the decoder limits the depth of JSON.
    fn read(&mut self, schema: &Value, path: Option<&[String]>) -> Result<(), String> {
        match schema {
            Value::Array(schemas) => schemas.iter().try_for_each(|schema| self.read(schema, None)),
            Value::Object(members) => self.read_members(members, path),
            _ => Ok(()),
        }
    }

    fn read_members(&mut self, members: &Map<String, Value>, path: Option<&[String]>) -> Result<(), String> {
        if let Some(name) = members.get(KEYWORD) {
            self.add(name, members.get("type"), path)?;
        }
        for (keyword, value) in members {
            match value {
                Value::Object(properties) if keyword == "properties" => {
                    for (name, schema) in properties {
                        let path = path.map(|path| [path, std::slice::from_ref(name)].concat());
                        self.read(schema, path.as_deref())?;
                    }
                }
                _ if DATA_KEYWORDS.contains(&keyword.as_str()) || keyword == KEYWORD => {}
                _ => self.read(value, None)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &Value, kind: Option<&Value>, path: Option<&[String]>) -> Result<(), String> {
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            return Err(format!("only `properties` may lead to {KEYWORD}"));
        };
        let name = name.as_str().filter(|name| !name.is_empty() && name.bytes().all(is_token));
        let name = name.ok_or_else(|| format!("{KEYWORD} must be the name of an HTTP header"))?;
        if !matches!(kind.and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
            return Err(format!("the type of an argument with {KEYWORD} must be string, integer or boolean"));
        }
        if !self.names.insert(name.to_ascii_lowercase()) {
            return Err(format!("{KEYWORD} must be unique, got {name:?} twice"));
        }
        self.found.push(ParamHeader { name: name.into(), path: path.to_vec() });
        Ok(())
    }
}

/// Returns whether a byte may be in the name of a header (RFC 9110, section 5.6.2).
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// Returns a text as the value of a header. A text that is not a header value is encoded: `=?base64?…?=`.
pub(super) fn encode_value(text: &str) -> String {
    let is_visible = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    let is_plain = !text.is_empty()
        && text.bytes().all(is_visible)
        && text.trim_matches([' ', '\t']) == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain { text.into() } else { format!("=?base64?{}?=", base64(text.as_bytes())) }
}

/// Returns the text of a header value, or `None` if its encoding is invalid.
pub(crate) fn decode_value(value: &str) -> Option<String> {
    let encoded = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?="));
    let Some(encoded) = encoded else { return Some(value.into()) };
    let mut bytes = Vec::with_capacity(encoded.len() / 4 * 3);
    let digits = encoded.trim_end_matches('=').as_bytes();
    for chunk in digits.chunks(4) {
        let mut bits = 0_u32;
        for index in 0..4 {
            let digit = chunk.get(index).map_or(Some(0), |digit| ALPHABET.iter().position(|other| other == digit))?;
            bits = bits << 6 | u32::try_from(digit).ok()?;
        }
        bytes.extend(bits.to_be_bytes().get(1..chunk.len()).unwrap_or_default());
    }
    // Each text has only one encoding. So padding, its bits and the length are valid if the encoding is the same.
    (base64(&bytes) == encoded).then(|| String::from_utf8(bytes).ok()).flatten()
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit) & 63) as usize;
            let character = ALPHABET.get(index).copied().map_or('=', char::from);
            text.push(if digit > chunk.len() { '=' } else { character });
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "indexing a JSON value returns null for a missing member")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_encoded_as_in_the_examples_of_the_specification() {
        for (text, header) in [
            ("us-west1", "us-west1"),
            ("a\tb c", "a\tb c"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?base64?", "=?base64?"),
            ("", "=?base64??="),
        ] {
            assert_eq!(encode_value(text), header);
            assert_eq!(decode_value(header).as_deref(), Some(text));
        }
    }

    #[test]
    fn only_valid_encodings_are_decoded() {
        for header in ["SGVsbG8", "SGVs!!!bG8=", "SGVsbG8==", "SGVsbG9=", "/w==", "S", "SGVsbG8=\n", "===="] {
            assert_eq!(decode_value(&format!("=?base64?{header}?=")), None, "{header}");
        }
        assert_eq!(decode_value("=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="));
        assert_eq!(decode_value("SGVsbG8=").as_deref(), Some("SGVsbG8="));
    }

    fn tool(properties: Value) -> Value {
        json!({ "tools": [{ "name": "t", "inputSchema": { "type": "object", "properties": properties } }] })
    }

    #[test]
    fn arguments_become_headers() {
        let mut result = tool(json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "nested": { "type": "object", "properties": { "count": { "type": "integer", "x-mcp-header": "Count" } } },
            "dry": { "type": "boolean", "x-mcp-header": "Dry-Run" },
            "x-mcp-header": { "type": "string", "default": { "x-mcp-header": 1 } },
        }));
        let mut headers = ParamHeaders::default();
        assert_eq!(headers.read(&mut result), [""; 0]);
        assert_eq!(result["tools"].as_array().map(Vec::len), Some(1));
        let of = |arguments: Value| {
            let mut found = headers.of_call("t", &arguments);
            found.sort();
            found.into_iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
        };
        let arguments = json!({ "region": "é", "nested": { "count": 42.0 }, "dry": false, "x-mcp-header": "x" });
        let expected = ["Mcp-Param-Count: 42", "Mcp-Param-Dry-Run: false", "Mcp-Param-Region: =?base64?w6k=?="];
        assert_eq!(of(arguments), expected);
        assert_eq!(of(json!({ "region": null, "nested": { "count": 9_007_199_254_740_993_u64 } })), [""; 0]);
        assert_eq!(of(json!({ "nested": { "count": -7 }, "dry": [] })), ["Mcp-Param-Count: -7"]);
        assert_eq!(headers.of_call("other", &json!({ "region": "x" })), []);
    }

    #[test]
    fn tools_that_violate_the_rules_are_left_out() {
        for properties in [
            json!({ "a": { "type": "string", "x-mcp-header": "" } }),
            json!({ "a": { "type": "string", "x-mcp-header": 1 } }),
            json!({ "a": { "type": "string", "x-mcp-header": "A B" } }),
            json!({ "a": { "type": "string", "x-mcp-header": "A:B" } }),
            json!({ "a": { "type": "string", "x-mcp-header": "A\r\n" } }),
            json!({ "a": { "type": "number", "x-mcp-header": "A" } }),
            json!({ "a": { "type": "object", "x-mcp-header": "A" } }),
            json!({ "a": { "type": ["string"], "x-mcp-header": "A" } }),
            json!({ "a": { "x-mcp-header": "A" } }),
            json!({ "a": { "type": "string", "x-mcp-header": "A" }, "b": { "type": "string", "x-mcp-header": "a" } }),
            json!({ "a": { "type": "array", "items": { "type": "string", "x-mcp-header": "A" } } }),
            json!({ "a": { "anyOf": [{ "type": "string", "x-mcp-header": "A" }] } }),
            json!({ "a": { "oneOf": [{ "properties": { "b": { "type": "string", "x-mcp-header": "A" } } }] } }),
        ] {
            let mut result = tool(properties.clone());
            let mut headers = ParamHeaders::default();
            assert_eq!(headers.read(&mut result).len(), 1, "{properties}");
            assert_eq!(result["tools"], json!([]), "{properties}");
        }
        let mut result = json!({ "tools": [
            { "name": "root", "inputSchema": { "type": "string", "x-mcp-header": "A" } },
            { "name": "good" },
        ] });
        assert_eq!(ParamHeaders::default().read(&mut result).len(), 1);
        assert_eq!(result["tools"], json!([{ "name": "good" }]));
        // Another result is not changed.
        let mut result = json!({ "tools": 1 });
        assert_eq!(ParamHeaders::default().read(&mut result), [""; 0]);
    }
}
