//! Measures texts, and removes the whitespace between tokens.

use alloc::string::String;

/// The length of a text without the whitespace between its tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Length {
    /// The length of the compact text, in UTF-16 code units.
    pub units: usize,
    /// Whether the text has whitespace between its tokens.
    pub is_spaced: bool,
}

/// Measures a text as compact JSON. For a text that is not JSON, the whitespace outside of quotes is not counted.
#[must_use]
pub fn length(text: &str) -> Length {
    let spaces = count_spaces(text);
    Length { units: utf16_length(text) - spaces, is_spaced: spaces > 0 }
}

fn utf16_length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.bytes().map(utf16_units).sum() }
}

/// Counts the whitespace between tokens. Every text is measured, so this must be fast: one loop is for text outside of
/// strings, and another for strings.
fn count_spaces(text: &str) -> usize {
    let mut spaces = 0;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'"' {
            skip_string(&mut bytes);
        } else {
            spaces += usize::from(is_space(byte));
        }
    }
    spaces
}

/// Skips the rest of a string, and its closing quote.
fn skip_string(bytes: &mut core::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => _ = bytes.next(),
            _ => {}
        }
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// Removes the whitespace between tokens. Numbers, escapes and the order of members stay as they are.
#[must_use]
pub fn compact(text: &str) -> String {
    let mut state = State::Outside;
    let mut result = String::with_capacity(text.len());
    result.extend(text.chars().filter(|character| match u8::try_from(*character) {
        Ok(byte) => !state.next(byte),
        // All bytes beyond ASCII have the same effect, so `u8::MAX` stands for each character that is not one byte.
        Err(_) => !state.next(u8::MAX),
    }));
    result
}

/// The number of UTF-16 code units of the character that begins with a byte of UTF-8, or 0 within a character.
const fn utf16_units(byte: u8) -> usize {
    match byte {
        0x80..0xC0 => 0,
        0xF0.. => 2,
        _ => 1,
    }
}

/// The state of a scan that distinguishes strings from the text around them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Outside,
    String,
    Escape,
}

impl State {
    /// Passes one byte. Returns whether the byte is whitespace between tokens.
    const fn next(&mut self, byte: u8) -> bool {
        *self = match (*self, byte) {
            (Self::Outside, b'"') | (Self::Escape, _) => Self::String,
            (Self::String, b'"') => Self::Outside,
            (Self::String, b'\\') => Self::Escape,
            (state, _) => state,
        };
        matches!(self, Self::Outside) && is_space(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whitespace_between_tokens_is_not_counted() {
        for (text, expected) in [
            ("", ""),
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (" {\r\n\t\"a b\" : [ 1.0 , \" \\\" \" ] } ", r#"{"a b":[1.0," \" "]}"#),
            ("\"é😀\u{80}\" ", "\"é😀\u{80}\""),
            (r#""\\" "\" ""#, r#""\\""\" ""#),
            (r#" "no end \"#, r#""no end \"#),
            ("[ \"a\\\u{e9} \", 1 ]", "[\"a\\\u{e9} \",1]"),
        ] {
            let Length { units, is_spaced } = length(text);
            assert_eq!(compact(text), expected);
            assert_eq!(units, expected.encode_utf16().count(), "{text}");
            assert_eq!(is_spaced, text != expected, "{text}");
        }
    }
}
