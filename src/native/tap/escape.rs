//! Writes JSON strings and numbers for the lines of records. The output equals the output of `serde_json`. This module
//! is faster, because `serde_json` makes a separate call for each quote of a message.

use std::vec::Vec;

use crate::codec::json::special_bytes;

/// Appends a text as a JSON string (RFC 8259 §7).
pub(super) fn push_escaped(text: &str, out: &mut Vec<u8>) {
    // Messages have many quotes, each of which becomes two bytes.
    out.reserve(text.len() * 3 / 2 + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some((bytes, tail)) = rest.split_first_chunk() {
        let special = special_bytes(u64::from_le_bytes(*bytes));
        // Eight bytes are appended in one step, even if fewer are needed. A copy of a varying length is slower.
        out.extend_from_slice(bytes);
        if special == 0 {
            rest = tail;
            continue;
        }
        let before = (special.trailing_zeros() / 8) as usize;
        out.truncate(out.len() - bytes.len() + before);
        rest = match rest.split_at_checked(before).unwrap_or((rest, &[])).1 {
            [b'"', tail @ ..] => {
                out.extend_from_slice(b"\\\"");
                tail
            }
            [first, tail @ ..] => {
                push_special(*first, out);
                tail
            }
            [] => &[],
        };
    }
    for byte in rest {
        match byte {
            b'"' | b'\\' | 0..0x20 => push_special(*byte, out),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
}

/// Appends the escape of a quote, a backslash or a control character.
fn push_special(special: u8, out: &mut Vec<u8>) {
    let digit = |digit: u8| b"0123456789abcdef".get(usize::from(digit)).copied().unwrap_or(b'0');
    match special {
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        control @ 0..0x20 => {
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(control >> 4), digit(control & 15)])
        }
        quote_or_backslash => out.extend_from_slice(&[b'\\', quote_or_backslash]),
    }
}

/// Appends the decimal digits of a number.
pub(super) fn push_number(mut number: usize, out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.get_mut(start..).unwrap_or_default().reverse();
}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString};

    use super::*;

    #[test]
    fn strings_equal_the_output_of_serde_json() {
        let mut characters: Vec<char> = (0..0x100).filter_map(char::from_u32).collect();
        characters.extend(['€', '\u{2028}', '\u{fffd}', '😀']);
        let all: String = characters.iter().collect();
        let reversed: String = all.chars().rev().collect();
        let mut texts = Vec::from([String::new(), all, reversed]);
        // These texts have each character at each position of a group of eight bytes.
        for character in &characters {
            texts.extend((0..10).map(|before| "x".repeat(before) + &character.to_string() + "\"\u{1}{}€"));
        }
        for text in texts {
            let mut out = Vec::from(*b"before");
            push_escaped(&text, &mut out);
            let expected = "before".to_string() + &serde_json::to_string(&text).unwrap_or_default();
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }

    #[test]
    fn numbers_are_written_in_decimal_digits() {
        for number in [0, 7, 10, 99, 100, 12_345, usize::MAX] {
            let mut out = Vec::from(*b"1");
            push_number(number, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), "1".to_string() + &number.to_string());
        }
    }
}
