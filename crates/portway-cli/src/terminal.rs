//! Escapes control characters in text of peers if standard output is a terminal.

use std::io::{self, IsTerminal, Write};

use portway_cli_support::escape::needs_escape;

/// A writer for JSON, and for text that [`escape_control`](portway_cli_support::escape::escape_control) has escaped. If
/// standard output is a terminal, the writer replaces control characters and characters that reorder text by JSON
/// escapes such as `\u009b`. The escapes do not change the value of JSON, in which these characters occur only in
/// strings.
#[derive(Debug)]
pub(crate) struct EscapingWriter<W> {
    out: W,
    is_terminal: bool,
    /// The first bytes of a character whose other bytes have not arrived yet.
    partial: Vec<u8>,
}

impl<W: Write> EscapingWriter<W> {
    /// Creates a writer for `out`, which must write to standard output.
    pub(crate) fn on_stdout(out: W) -> Self {
        Self::new(out, io::stdout().is_terminal())
    }

    const fn new(out: W, is_terminal: bool) -> Self {
        Self { out, is_terminal, partial: Vec::new() }
    }

    fn write_escaped(&mut self, text: &str) -> io::Result<()> {
        let mut escaped = String::with_capacity(text.len());
        for character in text.chars() {
            if needs_escape(character) && !character.is_ascii_whitespace() {
                escaped.extend(character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
            } else {
                escaped.push(character);
            }
        }
        self.out.write_all(escaped.as_bytes())
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        let mut buffer = std::mem::take(&mut self.partial);
        buffer.extend_from_slice(bytes);
        let mut rest = buffer.as_slice();
        while !rest.is_empty() {
            match str::from_utf8(rest) {
                Ok(text) => {
                    self.write_escaped(text)?;
                    break;
                }
                Err(error) => {
                    let (valid, invalid) = rest.split_at_checked(error.valid_up_to()).unwrap_or((rest, &[]));
                    self.write_escaped(str::from_utf8(valid).unwrap_or_default())?;
                    let Some(length) = error.error_len() else {
                        self.partial = invalid.to_vec();
                        break;
                    };
                    self.write_escaped("\u{fffd}")?;
                    rest = invalid.get(length..).unwrap_or_default();
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print_in_pieces(text: &[u8], size: usize, is_terminal: bool) -> String {
        let mut out = Vec::new();
        let mut writer = EscapingWriter::new(&mut out, is_terminal);
        text.chunks(size).for_each(|piece| assert!(writer.write_all(piece).is_ok()));
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn control_characters_are_escaped_in_any_chunks() {
        let text = "{\"a\": \"\u{9b}31m\u{7f}\u{85}\u{202e}\u{2066}\u{2028}\u{200f}\u{61c}\u{200b}\u{2060}\u{feff}\u{ad}\u{180e}\u{e0041}é€😀\"}\n";
        let expected = "{\"a\": \"\\u009b31m\\u007f\\u0085\\u202e\\u2066\\u2028\\u200f\\u061c\\u200b\\u2060\\ufeff\\u00ad\\u180e\\udb40\\udc41é€😀\"}\n";
        for size in [1, 2, 3, 1_000] {
            assert_eq!(print_in_pieces(text.as_bytes(), size, true), expected);
            assert_eq!(print_in_pieces(text.as_bytes(), size, false), text);
        }
        assert_eq!(print_in_pieces(b"a\xffb", 1, true), "a\u{fffd}b");
    }

    #[test]
    fn joiners_and_variation_selectors_are_not_escaped() {
        let text =
            "\u{645}\u{6cc}\u{200c}\u{62e} \u{915}\u{94d}\u{200d}\u{937} \u{2764}\u{fe0f} \u{1f469}\u{200d}\u{1f680}";
        assert_eq!(print_in_pieces(text.as_bytes(), 1, true), text);
    }
}
