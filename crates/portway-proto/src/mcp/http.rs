//! The rules of Streamable HTTP (MCP 2025-11-25 and 2026-07-28, basic/transports), without IO: the headers that repeat
//! members of a request, and the time before an ended stream is requested again.
//!
//! In the modern era, the keyword `x-mcp-header` in the input schema of a tool names a header for an argument ("Custom
//! Headers from Tool Parameters").

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::slice;
use core::time::Duration;

/// The time before an ended stream is requested again, if the server has not named a time. The time doubles with each
/// further stream without a message.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Returns the time before an ended stream is requested again, at most `max`. `named` is the time that the server has
/// named, and `empty_streams` is the number of streams in a row without a message. After one stream without a message,
/// the result is `named`: a server may send an event without a message, and close the stream until the response exists.
/// Each further stream without a message doubles the minimum of the result.
#[must_use]
pub fn retry_delay(named: Option<Duration>, empty_streams: u32, max: Duration) -> Duration {
    let doubled = match empty_streams {
        0 | 1 => Duration::ZERO,
        streams => RETRY_DELAY.saturating_mul(2_u32.saturating_pow(streams - 1)),
    };
    named.unwrap_or(RETRY_DELAY).max(doubled).min(max)
}

/// The keyword of a schema that names a header.
const KEYWORD: &str = "x-mcp-header";

/// The keywords whose value is data, and not a schema.
const DATA_KEYWORDS: [&str; 4] = ["const", "default", "enum", "examples"];

/// The largest integer that a number of JavaScript represents exactly.
const MAX_SAFE_INTEGER: f64 = ((1_u64 << 53) - 1) as f64;

/// A JSON value: the schema or the arguments of a tool. The caller must limit the depth of the value, because the
/// functions of this module are recursive. With the feature `codec`, a value of `serde_json` can be converted to this
/// type.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Self>),
    /// An object. Each name occurs once.
    Object(Vec<(String, Self)>),
}

impl Json {
    /// Returns a member of an object.
    fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    const fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// Returns the text of an argument for a header: a string, an integer or a boolean. Any other argument has no
    /// header.
    fn header_text(&self) -> Option<String> {
        match *self {
            Self::Text(ref text) => Some(text.clone()),
            Self::Bool(value) => Some(String::from(if value { "true" } else { "false" })),
            Self::Number(number) => {
                let whole = number as i64;
                // Some programs write the integer 42 as 42.0.
                (whole as f64 == number && (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&number))
                    .then(|| whole.to_string())
            }
            _ => None,
        }
    }
}

#[cfg(feature = "codec")]
impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => number.as_f64().map_or(Self::Null, Self::Number),
            serde_json::Value::String(text) => Self::Text(text.clone()),
            serde_json::Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(members) => {
                Self::Object(members.iter().map(|(name, value)| (name.clone(), Self::from(value))).collect())
            }
        }
    }
}

/// Returns the name of the member of `params` that the header `Mcp-Name` repeats, for a request of this method.
#[must_use]
pub fn named_param(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

/// The headers `Mcp-Param-*` that the tools of a server name in their input schemas.
///
/// # Examples
///
/// ```
/// use portway_proto::mcp::http::{Json, ParamHeaders};
///
/// let object = |name: &str, value| Json::Object(vec![(name.into(), value)]);
/// let text = |text: &str| Json::Text(text.into());
/// let region = Json::Object(vec![("type".into(), text("string")), ("x-mcp-header".into(), text("Region"))]);
///
/// let mut headers = ParamHeaders::default();
/// headers.read_tool("deploy", &object("properties", object("region", region)))?;
/// let found = headers.of_request("tools/call", "deploy", &object("region", text("us-west1")));
/// assert_eq!(found[0], ("mcp-name".into(), "deploy".into()));
/// assert_eq!(found[1], ("mcp-param-Region".into(), "us-west1".into()));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ParamHeaders {
    /// The headers of each tool, sorted by the name of the tool.
    tools: Vec<(String, Vec<ParamHeader>)>,
}

/// A header for one argument of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ParamHeader {
    /// The name after `Mcp-Param-`.
    name: String,
    /// The names of the members that lead to the argument.
    path: Vec<String>,
}

impl ParamHeaders {
    /// Reads the input schema of a tool.
    ///
    /// # Errors
    /// If the schema violates the rules of `x-mcp-header`. The error is the violation. A client must omit this tool
    /// from the result of `tools/list`.
    pub fn read_tool(&mut self, tool: &str, schema: &Json) -> Result<(), String> {
        let read = read_schema(schema);
        let (found, violation) = match read {
            Ok(found) => (found, Ok(())),
            Err(violation) => (Vec::new(), Err(violation)),
        };
        match self.position(tool) {
            Ok(index) => {
                if let Some((_, headers)) = self.tools.get_mut(index) {
                    *headers = found;
                }
            }
            Err(_) if found.is_empty() => {}
            Err(index) => self.tools.insert(index, (tool.into(), found)),
        }
        violation
    }

    /// Returns the headers `Mcp-Name` and `Mcp-Param-*` of a request of the modern era. The header `Mcp-Method` is not
    /// included. `name` is the text of the member [`named_param`], and `arguments` are the arguments of a tool.
    #[must_use]
    pub fn of_request(&self, method: &str, name: &str, arguments: &Json) -> Vec<(String, String)> {
        let mut headers = Vec::from([(String::from("mcp-name"), encode_value(name))]);
        if method == "tools/call" {
            let texts = self.texts(name, arguments).into_iter();
            headers.extend(texts.filter_map(|(name, text)| Some((name, encode_value(&text?)))));
        }
        headers
    }

    /// Returns the headers `Mcp-Param-*` of a tool, and the texts that they must have after [`decode_value`]. If the
    /// text is `None`, the header must be missing.
    #[must_use]
    pub fn texts(&self, tool: &str, arguments: &Json) -> Vec<(String, Option<String>)> {
        let tool = self.position(tool).ok().and_then(|index| self.tools.get(index));
        let headers = tool.map(|(_, headers)| headers.as_slice()).unwrap_or_default();
        let text = |ParamHeader { name, path }: &ParamHeader| {
            let argument = path.iter().try_fold(arguments, |value, member| value.member(member));
            (format!("mcp-param-{name}"), argument.and_then(Json::header_text))
        };
        headers.iter().map(text).collect()
    }

    /// Returns the index of a tool, or the index at which it can be inserted.
    fn position(&self, tool: &str) -> Result<usize, usize> {
        self.tools.binary_search_by(|(name, _)| name.as_str().cmp(tool))
    }
}

/// Returns the headers that a schema names.
fn read_schema(schema: &Json) -> Result<Vec<ParamHeader>, String> {
    let mut found = Vec::new();
    collect(schema, Some(&[]), &mut found)?;
    let mut names: Vec<_> = found.iter().map(|header| header.name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair.first() == pair.last()).and_then(<[String]>::first) {
        Some(name) => Err(format!("{KEYWORD} must be unique, got {name} twice")),
        None => Ok(found),
    }
}

/// Collects the headers that a schema names. `path` is the path of the argument with this schema. `path` is `None` if a
/// keyword other than `properties` leads to the schema.
fn collect(schema: &Json, path: Option<&[String]>, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    let members = match schema {
        Json::Array(schemas) => return schemas.iter().try_for_each(|schema| collect(schema, None, found)),
        Json::Object(members) => members,
        _ => return Ok(()),
    };
    if let Some(name) = schema.member(KEYWORD) {
        found.push(named_header(name, schema.member("type"), path)?);
    }
    for (keyword, value) in members {
        match value {
            Json::Object(properties) if keyword == "properties" => {
                for (name, schema) in properties {
                    let path = path.map(|path| [path, slice::from_ref(name)].concat());
                    collect(schema, path.as_deref(), found)?;
                }
            }
            _ if DATA_KEYWORDS.contains(&keyword.as_str()) || keyword == KEYWORD => {}
            _ => collect(value, None, found)?,
        }
    }
    Ok(())
}

fn named_header(name: &Json, kind: Option<&Json>, path: Option<&[String]>) -> Result<ParamHeader, String> {
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Err(format!("only `properties` may lead to {KEYWORD}"));
    };
    let name = name.text().filter(|name| !name.is_empty() && name.bytes().all(is_token));
    let name = name.ok_or_else(|| format!("{KEYWORD} must be the name of an HTTP header"))?;
    if !matches!(kind.and_then(Json::text), Some("string" | "integer" | "boolean")) {
        return Err(format!("the type of an argument with {KEYWORD} must be string, integer or boolean"));
    }
    Ok(ParamHeader { name: name.into(), path: path.to_vec() })
}

/// Returns whether a byte may be in the name of a header (RFC 9110, section 5.6.2).
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// Returns a text as the value of a header. A text that cannot be a header value is encoded: `=?base64?…?=`.
#[must_use]
pub fn encode_value(text: &str) -> String {
    let is_visible = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    let is_plain = !text.is_empty()
        && text.bytes().all(is_visible)
        && text.trim_matches([' ', '\t']) == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain { text.into() } else { format!("=?base64?{}?=", base64(text.as_bytes())) }
}

/// Returns the text of a header value, or `None` if its encoding is invalid.
#[must_use]
pub fn decode_value(value: &str) -> Option<String> {
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
    // Each text has exactly one valid encoding. The comparison with this encoding checks the padding, the unused bits
    // and the length.
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

#[cfg(all(test, feature = "codec"))]
mod tests {
    use alloc::vec;

    use serde_json::{Value, json};

    use super::*;

    /// A server may answer each GET with a stream that ends at once, and ask for an immediate retry.
    #[test]
    fn a_stream_that_always_ends_at_once_is_requested_at_most_130_times_in_an_hour() {
        let max = Duration::from_secs(30);
        for retry in [None, Some(Duration::ZERO), Some(Duration::from_millis(1)), Some(Duration::from_secs(1 << 40))] {
            let (mut elapsed, mut requests) = (Duration::ZERO, 0);
            while elapsed < Duration::from_secs(3_600) {
                requests += 1;
                elapsed += retry_delay(retry, requests, max);
            }
            assert!((100..=130).contains(&requests), "{requests}");
        }
    }

    #[test]
    fn the_first_continuation_of_a_stream_waits_as_long_as_the_server_has_named() {
        let named = Duration::from_millis(300);
        for empty_streams in [0, 1] {
            assert_eq!(retry_delay(Some(named), empty_streams, Duration::from_secs(30)), named);
        }
    }

    #[test]
    fn a_request_repeats_its_name_or_uri_as_a_header() {
        let members = ["tools/call", "prompts/get", "resources/read", "tools/list"].map(named_param);
        assert_eq!(members, [Some("name"), Some("name"), Some("uri"), None]);
        let headers = ParamHeaders::default().of_request("prompts/get", "é", &Json::Null);
        assert_eq!(headers, [("mcp-name".into(), "=?base64?w6k=?=".into())]);
    }

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

    fn read(headers: &mut ParamHeaders, schema: &Value) -> Result<(), String> {
        headers.read_tool("t", &Json::from(schema))
    }

    #[test]
    fn arguments_become_headers() {
        let mut headers = ParamHeaders::default();
        let properties = json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "nested": { "type": "object", "properties": { "count": { "type": "integer", "x-mcp-header": "Count" } } },
            "dry": { "type": "boolean", "x-mcp-header": "Dry-Run" },
            "x-mcp-header": { "type": "string", "default": { "x-mcp-header": 1 } },
        });
        assert_eq!(read(&mut headers, &json!({ "type": "object", "properties": properties })), Ok(()));
        let of = |arguments: Value| {
            let found = headers.of_request("tools/call", "t", &Json::from(&arguments));
            let mut found: Vec<_> = found.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
            found.sort();
            found.split_off(1)
        };
        let arguments = json!({ "region": "é", "nested": { "count": 42.0 }, "dry": false, "x-mcp-header": "x" });
        let expected = ["mcp-param-Count: 42", "mcp-param-Dry-Run: false", "mcp-param-Region: =?base64?w6k=?="];
        assert_eq!(of(arguments), expected);
        assert_eq!(of(json!({ "region": null, "nested": { "count": 9_007_199_254_740_993_u64 } })), [""; 0]);
        assert_eq!(of(json!({ "region": null, "nested": { "count": 1.5 } })), [""; 0]);
        assert_eq!(of(json!({ "nested": { "count": -7 }, "dry": [] })), ["mcp-param-Count: -7"]);
        for (method, name) in [("tools/call", "other"), ("prompts/get", "t")] {
            let found = headers.of_request(method, name, &Json::from(&json!({ "region": "x" })));
            assert_eq!(found, [("mcp-name".into(), name.into())]);
        }
    }

    #[test]
    fn the_latest_schema_of_a_tool_counts() {
        let mut headers = ParamHeaders::default();
        let schema = |name: &str| json!({ "properties": { "a": { "type": "string", "x-mcp-header": name } } });
        let arguments = Json::from(&json!({ "a": "x" }));
        for (name, count) in [("A", 2), ("B", 2), ("not a name", 1), ("C", 2)] {
            assert_eq!(read(&mut headers, &schema(name)).is_err(), count == 1);
            let found = headers.of_request("tools/call", "t", &arguments);
            assert_eq!(found.len(), count, "{found:?}");
        }
        for tool in ["z", "a", "m"] {
            assert_eq!(headers.read_tool(tool, &Json::from(&schema(tool))), Ok(()));
        }
        for tool in ["z", "a", "m"] {
            let found = headers.of_request("tools/call", tool, &arguments);
            assert_eq!(found, vec![("mcp-name".into(), tool.into()), (format!("mcp-param-{tool}"), "x".into())]);
        }
    }

    #[test]
    fn schemas_that_violate_the_rules_are_errors() {
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
            let schema = json!({ "type": "object", "properties": properties });
            assert!(read(&mut ParamHeaders::default(), &schema).is_err(), "{schema}");
        }
        let root = json!({ "type": "string", "x-mcp-header": "A" });
        assert!(read(&mut ParamHeaders::default(), &root).is_err());
        assert_eq!(read(&mut ParamHeaders::default(), &Value::Null), Ok(()));
    }
}
