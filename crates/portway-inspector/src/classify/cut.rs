//! Completes JSON whose end is missing, so that the members before the cut can be read.

use alloc::string::String;
use alloc::vec::Vec;

/// Returns the complete members of a text whose end is missing, as JSON. If the text ends within the value of a member,
/// the result has an empty value of the same kind, or null for a number or a literal. If the text is a batch, its last
/// message is completed in the same way. For text that is not JSON, the result is not JSON.
pub(super) fn complete(text: &str) -> String {
    let mut scan = Scan::default();
    for (index, byte) in text.bytes().enumerate() {
        scan.next(index, byte);
    }
    let (end, value) = scan.last;
    let mut result = String::from(text.get(..end).unwrap_or_default());
    result.push_str(value);
    for bracket in scan.open_at_last.iter().rev() {
        result.push(if *bracket == b'{' { '}' } else { ']' });
    }
    result
}

/// A scan by brackets, quotes, colons and commas.
#[derive(Default)]
struct Scan {
    open: Vec<u8>,
    in_string: bool,
    is_escaped: bool,
    /// The result has the text up to this position, and then this value.
    last: (usize, &'static str),
    /// The brackets that are open at `last`.
    open_at_last: Vec<u8>,
    /// Whether the next token begins the value of a member.
    value_follows: bool,
}

impl Scan {
    fn next(&mut self, index: usize, byte: u8) {
        if self.in_string {
            self.in_string = self.is_escaped || byte != b'"';
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return;
        }
        if byte.is_ascii_whitespace() {
            return;
        }
        if core::mem::take(&mut self.value_follows) {
            // Until the value is complete, an empty value of the same kind stands for it.
            match byte {
                b'{' => self.mark(index, "{}"),
                b'[' => self.mark(index, "[]"),
                b'"' => self.mark(index, "\"\""),
                _ => self.mark(index, "null"),
            }
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.open.push(byte);
                if self.is_of_interest() {
                    self.mark(index + 1, "");
                }
            }
            b'}' | b']' => {
                self.open.pop();
                if self.open.is_empty() || self.is_of_interest() {
                    self.mark(index + 1, "");
                }
            }
            b',' if self.is_of_interest() => self.mark(index, ""),
            b':' => self.value_follows = self.is_of_interest(),
            _ => {}
        }
    }

    /// Returns whether the innermost open bracket is that of the message, of the batch, or of a message in the batch.
    fn is_of_interest(&self) -> bool {
        matches!(self.open.as_slice(), [_] | [b'[', b'{'])
    }

    fn mark(&mut self, end: usize, value: &'static str) {
        self.last = (end, value);
        self.open_at_last.clone_from(&self.open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_before_the_cut_are_kept() {
        for (text, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[1,"y"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{}}"#,
            ),
            (r#"{"id":1,"result":"long te"#, r#"{"id":1,"result":""}"#),
            (r#"{"id":1,"result":12"#, r#"{"id":1,"result":null}"#),
            (r#"{"id":1,"result":[{"#, r#"{"id":1,"result":[]}"#),
            (r#"{"id":1,"result":[{}],"jso"#, r#"{"id":1,"result":[{}]}"#),
            (r#"{"id":1,"method""#, r#"{"id":1}"#),
            (r#"{"id":1,"method":"#, r#"{"id":1}"#),
            (r#"{"a":"}\"","id""#, r#"{"a":"}\""}"#),
            (r#"{"#, r#"{}"#),
            (
                r#"[{"id":1,"method":"a"},{"id":2,"method":"b","params":{"k":1},"x":[[1"#,
                r#"[{"id":1,"method":"a"},{"id":2,"method":"b","params":{"k":1},"x":[]}]"#,
            ),
            (r#"[{"id":1},{"#, r#"[{"id":1},{}]"#),
            (r#"[{"id":1},"#, r#"[{"id":1}]"#),
            ("[", "[]"),
            ("", ""),
        ] {
            assert_eq!(complete(text), expected, "{text}");
        }
    }
}
