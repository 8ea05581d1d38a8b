//! Formats JSON text. Only white space changes. The order of members, the numbers and the strings do not change.

use crate::limits::MAX_INDENTED_DEPTH;

const WHITESPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// Returns JSON text on one line.
pub(crate) fn compact(text: &str) -> String {
    format(text, false)
}

/// Returns JSON text with one member or element on each line. An array or object at a deeper level than
/// [`MAX_INDENTED_DEPTH`] is on one line, since the indentation of several lines would be much longer than the text
/// itself.
pub(crate) fn indented(text: &str) -> String {
    format(text, true)
}

fn format(text: &str, is_indented: bool) -> String {
    let mut output = String::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut rest = text.trim_start_matches(WHITESPACE);
    while let Some(character) = rest.chars().next() {
        let length = if character == '"' { string_length(rest) } else { character.len_utf8() };
        let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after.trim_start_matches(WHITESPACE);
        let mut breaks = false;
        match character {
            '{' | '[' if rest.starts_with(['}', ']']) => {}
            '{' | '[' => {
                depth += 1;
                breaks = depth <= MAX_INDENTED_DEPTH;
            }
            '}' | ']' if output.ends_with(['{', '[']) => {}
            '}' | ']' => {
                let is_deep = depth > MAX_INDENTED_DEPTH;
                depth = depth.saturating_sub(1);
                if is_indented && !is_deep {
                    break_line(&mut output, depth);
                }
            }
            ',' => breaks = depth <= MAX_INDENTED_DEPTH,
            _ => {}
        }
        output.push_str(token);
        if is_indented {
            match character {
                ':' => output.push(' '),
                _ if breaks => break_line(&mut output, depth),
                _ => {}
            }
        }
    }
    output
}

fn break_line(output: &mut String, depth: usize) {
    output.push('\n');
    output.extend(std::iter::repeat_n("  ", depth));
}

/// Returns the length in bytes of the string at the beginning of `text`, including its quotes.
fn string_length(text: &str) -> usize {
    // The opening quote is skipped as if it were escaped.
    let mut is_escaped = true;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_text_has_white_space_only_in_strings() {
        assert_eq!(compact(" { \"a b\" :\r\n [ 1 , \"\\\" ,\\\\\" ] }\t"), r#"{"a b":[1,"\" ,\\"]}"#);
    }

    #[test]
    fn numbers_and_the_order_of_members_do_not_change() {
        let text = r#"{"z":12345678901234567890.0,"a":1e400,"z":-0}"#;
        assert_eq!(compact(text), text);
    }

    #[test]
    fn each_member_and_element_has_a_line() {
        let expected = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": [],\n  \"c\": \"[,]{}é\"\n}";
        assert_eq!(indented(r#"{"a":[1,{ }],"b":[ ],"c":"[,]{}é"}"#), expected);
        assert_eq!(compact(expected), r#"{"a":[1,{}],"b":[],"c":"[,]{}é"}"#);
        assert_eq!(indented(" null "), "null");
    }

    #[test]
    fn levels_beyond_the_limit_are_on_one_line() {
        let nested = |deep: usize| format!("{}[1,{{\"a\":[2,3]}}]{}", "[".repeat(deep), "]".repeat(deep));
        let formatted = indented(&nested(MAX_INDENTED_DEPTH));
        let line = format!("{}[1,{{\"a\": [2,3]}}]", "  ".repeat(MAX_INDENTED_DEPTH));
        assert!(formatted.lines().any(|formatted| formatted == line), "{formatted}");
        assert_eq!(formatted.lines().count(), 2 * MAX_INDENTED_DEPTH + 1);
        assert_eq!(compact(&formatted), nested(MAX_INDENTED_DEPTH));
        let formatted = indented(&nested(MAX_INDENTED_DEPTH - 1));
        assert!(formatted.lines().any(|formatted| formatted.trim() == "{\"a\": [2,3]}"), "{formatted}");
    }

    #[test]
    fn the_output_is_a_small_multiple_of_the_input() {
        for inner in ["[1],", "1,", "[[]],", "{\"\":[{}]},", "[],"] {
            for deep in 1..130 {
                let inner = inner.repeat(1_000);
                let text = format!("{}{}{}", "[".repeat(deep), inner.trim_end_matches(','), "]".repeat(deep));
                let formatted = indented(&text);
                assert!(formatted.len() <= 16 * text.len(), "{} bytes of {}", formatted.len(), text.len());
                assert_eq!(compact(&formatted), text);
            }
        }
    }
}
