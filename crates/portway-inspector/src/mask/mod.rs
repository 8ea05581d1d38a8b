//! Masks secrets in texts. A secret is the value of a member with the name of a secret, unless the value is null. A
//! string in an array is also a secret if it begins with `token:`: clients of aria2 send a token in this way.
//!
//! The scan accepts any text: JSON, JSON whose end is missing, and lines of headers. It does not decode JSON inside of
//! strings.

mod names;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

pub use names::SecretNames;

/// The JSON that replaces a masked value.
pub const MASK: &str = "\"***\"";

/// A string in an array is masked if it begins with this text.
const SECRET_PREFIX: &str = "token:";

/// Returns the parts of `text` to mask, in bytes. The parts ascend, and do not overlap.
#[must_use]
pub fn spans(text: &str, names: &SecretNames) -> Vec<Range<usize>> {
    if text.trim_start().starts_with(['{', '[']) {
        Scan { text, names, open: Vec::new(), spans: Vec::new() }.run()
    } else {
        header_spans(text, names)
    }
}

/// Returns the text with each secret replaced by [`MASK`]. JSON remains JSON.
#[must_use]
pub fn mask(text: &str, names: &SecretNames) -> String {
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans(text, names) {
        result.push_str(text.get(from..span.start).unwrap_or_default());
        result.push_str(MASK);
        from = span.end;
    }
    result.push_str(text.get(from..).unwrap_or_default());
    result
}

/// Converts parts in bytes to pairs of start and end in UTF-16 code units.
#[must_use]
pub fn utf16_spans(text: &str, spans: &[Range<usize>]) -> Vec<u32> {
    let (mut byte, mut units) = (0, 0_usize);
    let mut result = Vec::with_capacity(2 * spans.len());
    for end in spans.iter().flat_map(|span| [span.start, span.end]) {
        units += text.get(byte..end).map_or(0, |part| part.encode_utf16().count());
        byte = end;
        result.push(u32::try_from(units).unwrap_or(u32::MAX));
    }
    result
}

/// An array or an object that is not closed yet.
#[derive(Clone, Copy)]
enum Open {
    Object {
        /// Whether the next string is a name.
        name_follows: bool,
        /// Whether the name of the current member is that of a secret.
        is_secret: bool,
        /// Whether the name of the current member is `entries`. A tap describes a `Map` as an object whose `entries`
        /// are pairs of a name and a value.
        is_entries: bool,
    },
    Array {
        /// Whether the elements are pairs of a name and a value.
        has_pairs: bool,
        /// Whether this array is such a pair.
        is_pair: bool,
        /// The index of the current element.
        index: usize,
        /// Whether the first element is the name of a secret.
        is_secret: bool,
    },
}

struct Scan<'t> {
    text: &'t str,
    names: &'t SecretNames,
    open: Vec<Open>,
    spans: Vec<Range<usize>>,
}

impl Scan<'_> {
    fn run(mut self) -> Vec<Range<usize>> {
        let mut position = 0;
        while let Some(byte) = self.text.as_bytes().get(position) {
            position = match byte {
                b',' => self.next_element(position),
                b':' => self.after_colon(position),
                b'}' | b']' => {
                    self.open.pop();
                    position + 1
                }
                b' ' | b'\t' | b'\r' | b'\n' => position + 1,
                _ => self.value_or_name(position, *byte),
            };
        }
        self.spans
    }

    fn next_element(&mut self, position: usize) -> usize {
        match self.open.last_mut() {
            Some(Open::Object { name_follows, is_secret, .. }) => {
                (*name_follows, *is_secret) = (true, false);
            }
            Some(Open::Array { index, .. }) => *index += 1,
            None => {}
        }
        position + 1
    }

    fn after_colon(&mut self, position: usize) -> usize {
        if let Some(Open::Object { name_follows, .. }) = self.open.last_mut() {
            *name_follows = false;
        }
        position + 1
    }

    /// Handles a name or a value that begins at `position`. Returns the position after it. If an array or object is not
    /// masked, only its opening bracket is handled.
    fn value_or_name(&mut self, position: usize, byte: u8) -> usize {
        match self.open.last().copied() {
            Some(Open::Object { name_follows: true, .. }) if byte == b'"' => return self.name(position),
            Some(
                Open::Object { name_follows: false, is_secret: true, .. }
                | Open::Array { is_pair: true, is_secret: true, index: 1, .. },
            ) => return self.secret(position),
            Some(Open::Array { is_pair, index, .. }) if byte == b'"' => {
                return self.element(position, is_pair && index == 0);
            }
            _ => {}
        }
        match byte {
            b'{' => {
                self.open.push(Open::Object { name_follows: true, is_secret: false, is_entries: false });
                position + 1
            }
            b'[' => {
                let parent = self.open.last().copied();
                let has_pairs = matches!(parent, Some(Open::Object { is_entries: true, .. }));
                let is_pair = matches!(parent, Some(Open::Array { has_pairs: true, .. }));
                self.open.push(Open::Array { has_pairs, is_pair, index: 0, is_secret: false });
                position + 1
            }
            _ => end_of_value(self.text, position),
        }
    }

    fn name(&mut self, position: usize) -> usize {
        let end = end_of_value(self.text, position);
        let name = self.string(position, end);
        let secret = self.names.has(&name);
        if let Some(Open::Object { is_secret, is_entries, .. }) = self.open.last_mut() {
            (*is_secret, *is_entries) = (secret, name == "entries");
        }
        end
    }

    /// Handles a string in an array.
    fn element(&mut self, position: usize, is_name: bool) -> usize {
        let end = end_of_value(self.text, position);
        let string = self.string(position, end);
        if string.starts_with(SECRET_PREFIX) {
            self.spans.push(position..end);
        } else if is_name {
            let secret = self.names.has(&string);
            if let Some(Open::Array { is_secret, .. }) = self.open.last_mut() {
                *is_secret = secret;
            }
        }
        end
    }

    fn secret(&mut self, position: usize) -> usize {
        let end = end_of_value(self.text, position);
        if self.text.get(position..end) != Some("null") {
            self.spans.push(position..end);
        }
        end
    }

    /// Decodes a string.
    fn string(&self, start: usize, end: usize) -> String {
        let json = self.text.get(start..end).unwrap_or_default();
        serde_json::from_str(json).unwrap_or_else(|_| decoded(json))
    }
}

/// Decodes a string that serde_json rejects, because its end is missing, or because it contains a lone surrogate or a
/// control character. An escape of a surrogate becomes U+FFFD, an invalid escape stays as it is, and an incomplete
/// escape is removed.
fn decoded(json: &str) -> String {
    let mut result = String::with_capacity(json.len());
    let mut rest = json.strip_prefix('"').unwrap_or(json);
    while let Some(index) = rest.find(['\\', '"']) {
        let (before, escape) = rest.split_at(index);
        result.push_str(before);
        let length = match escape.as_bytes() {
            [b'"', ..] | [b'\\'] => return result,
            [b'\\', b'u', ..] => 6,
            _ => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        // A code of fewer than four digits is incomplete if the text ends within it.
        let Some((escape, after)) = escape.split_at_checked(length) else { return result };
        match serde_json::from_str::<String>(&format!("\"{escape}\"")) {
            Ok(decoded) => result.push_str(&decoded),
            Err(_) if is_surrogate(escape) => result.push(char::REPLACEMENT_CHARACTER),
            Err(_) => result.push_str(escape),
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

/// Returns whether an escape is the code of a surrogate, `\ud800` to `\udfff`.
fn is_surrogate(escape: &str) -> bool {
    let code = escape.strip_prefix("\\u").and_then(|digits| u16::from_str_radix(digits, 16).ok());
    code.is_some_and(|code| (0xd800..0xe000).contains(&code))
}

/// Returns the end of the value that begins at `start`. If that end is missing, returns the end of the text.
fn end_of_value(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes().get(start..).unwrap_or_default();
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut is_escaped = false;
    for (index, byte) in bytes.iter().enumerate() {
        if in_string {
            in_string = is_escaped || *byte != b'"';
            is_escaped = *byte == b'\\' && !is_escaped;
            if !in_string && depth == 0 {
                return start + index + 1;
            }
            continue;
        }
        match byte {
            b'"' if index > 0 && depth == 0 => return start + index,
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return start + index.max(1),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return start + index + 1;
                }
            }
            b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return start + index.max(1),
            _ => {}
        }
    }
    text.len()
}

/// Returns the secret values in a text that is not JSON. A value after a name and a colon is the rest of the line. A
/// value after a name and an equals sign is the text up to `&`, `;` or whitespace.
fn header_spans(text: &str, names: &SecretNames) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (index, separator) in text.match_indices([':', '=']) {
        if spans.last().is_some_and(|last| index < last.end) {
            continue;
        }
        let before = text.get(..index).unwrap_or_default();
        let is_of_name = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        let name = before.trim_end_matches([' ', '\t', '"', '\'']);
        let start = name.trim_end_matches(is_of_name).len();
        if !name.get(start..).is_some_and(|name| names.has(name)) {
            continue;
        }
        let rest = text.get(index + 1..).unwrap_or_default();
        let value = rest.trim_start_matches([' ', '\t']);
        let from = text.len() - value.len();
        let length = if separator == ":" {
            value.find(['\r', '\n'])
        } else {
            value.find(|character: char| matches!(character, '&' | ';') || character.is_whitespace())
        };
        let to = from + length.unwrap_or(value.len());
        if to > from {
            spans.push(from..to);
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;

    use super::*;

    fn masked(text: &str) -> String {
        mask(text, &SecretNames::new(["*key", "PIN"]))
    }

    #[test]
    fn values_of_secrets_are_masked() {
        for (text, expected) in [
            (r#"{"password":"x"}"#, r#"{"password":"***"}"#),
            (r#"{"params":{"Token" : {"a":[1,"}"]},"b":1}}"#, r#"{"params":{"Token" : "***","b":1}}"#),
            (
                r#"{"clientSecret":12,"a":[{"Authorization":true}]}"#,
                r#"{"clientSecret":"***","a":[{"Authorization":"***"}]}"#,
            ),
            (
                r#"{"access_token":"a\"b","tokens":1,"max_tokens":2}"#,
                r#"{"access_token":"***","tokens":1,"max_tokens":2}"#,
            ),
            (r#"{"pass\u0077ord":"x"}"#, r#"{"pass\u0077ord":"***"}"#),
            (r#"{"token":null,"secret":[]}"#, r#"{"token":null,"secret":"***"}"#),
            (
                r#"{"apiKey":"x","pin":1,"pins":1,"key":2,"keys":3}"#,
                r#"{"apiKey":"***","pin":"***","pins":1,"key":"***","keys":3}"#,
            ),
            (r#"{"progressToken":1,"workDoneToken":"a"}"#, r#"{"progressToken":1,"workDoneToken":"a"}"#),
            (r#"{"a":"password","b":["password","x"]}"#, r#"{"a":"password","b":["password","x"]}"#),
        ] {
            assert_eq!(masked(text), expected);
        }
    }

    #[test]
    fn strings_in_arrays_are_masked_if_they_begin_with_token() {
        let text =
            r#"{"method":"aria2.tellActive","params":["token:s3cret",["token:x"],"tok","a token:"],"x":"token:y"}"#;
        let expected = r#"{"method":"aria2.tellActive","params":["***",["***"],"tok","a token:"],"x":"token:y"}"#;
        assert_eq!(masked(text), expected);
    }

    #[test]
    fn escapes_in_names_with_lone_surrogates_are_decoded() {
        for (text, expected) in [
            (r#"{"\ud800pass\u0077ord":"x"}"#, r#"{"\ud800pass\u0077ord":"***"}"#),
            (r#"{"\udc00\n\"pass\u0077ord":"x"}"#, r#"{"\udc00\n\"pass\u0077ord":"***"}"#),
            (r#"["token\u003a\ud800"]"#, r#"["***"]"#),
            (r#"{"\ud800\xpin":1,"\ud800":2}"#, r#"{"\ud800\xpin":1,"\ud800":2}"#),
        ] {
            assert_eq!(masked(text), expected);
        }
        assert_eq!(decoded(r#""a\u00e9\ud800\"\é\\""#), "aé\u{fffd}\"\\é\\");
    }

    #[test]
    fn the_entries_of_a_described_map_are_masked() {
        let text = r#"{"$type":"Map","entries":[["password",{"a":1}],["user","me"],[1,2]]}"#;
        assert_eq!(masked(text), r#"{"$type":"Map","entries":[["password","***"],["user","me"],[1,2]]}"#);
    }

    #[test]
    fn secrets_before_the_end_of_cut_or_broken_json_are_masked() {
        for (text, expected) in [
            (r#"{"a":1,"password":"begi"#, r#"{"a":1,"password":"***""#),
            (r#"{"password":{"a":[1,"b"#, r#"{"password":"***""#),
            (r#"{"password""#, r#"{"password""#),
            (r#"{"password":"#, r#"{"password":"#),
            (r#"["token:ab"#, r#"["***""#),
            (r#"["\u0074oken:ab"#, r#"["***""#),
            (r#"["t\u006fken:\"#, r#"["***""#),
            (r#"["t\u006fken:\u00"#, r#"["***""#),
            (r#"["token\u003"#, r#"["token\u003"#),
            (r#"{"password":}"#, r#"{"password":}"#),
        ] {
            assert_eq!(masked(text), expected);
        }
        let deep = format!("{}\"password\":1", "[".repeat(100_000));
        assert_eq!(masked(&deep), deep);
    }

    #[test]
    fn headers_and_queries_are_masked() {
        let text = "GET /?token=abc&x=1 HTTP/1.1\r\nAuthorization: Bearer a b\r\nHost: h\r\nx-secret = 1;2";
        let expected = "GET /?token=\"***\"&x=1 HTTP/1.1\r\nAuthorization: \"***\"\r\nHost: h\r\nx-secret = \"***\";2";
        assert_eq!(masked(text), expected);
        assert_eq!(masked("no secrets: here"), "no secrets: here");
    }

    #[test]
    fn spans_are_in_utf16_code_units_for_javascript() {
        let text = "{\"é😀\":1,\"token\":\"😀\",\"secret\":2}".to_owned();
        let found = utf16_spans(&text, &spans(&text, &SecretNames::default()));
        let units: Vec<u16> = text.encode_utf16().collect();
        let part = |start: u32, end: u32| units.get(start as usize..end as usize).map(String::from_utf16_lossy);
        let parts: Vec<Option<String>> =
            found.chunks(2).filter_map(|pair| Some(part(*pair.first()?, *pair.last()?))).collect();
        assert_eq!(parts, [Some("\"😀\"".to_owned()), Some("2".to_owned())]);
    }
}
