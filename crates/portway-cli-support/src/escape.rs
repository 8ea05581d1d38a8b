//! Escapes control characters in text of peers.

/// Ranges of characters that reorder text, end a line, or are invisible, in ascending order:
///
/// - the characters with the Unicode property `Default_Ignorable_Code_Point`, except for the joiners U+200C and U+200D
///   and the variation selectors U+FE00 to U+FE0F, which letters and emoji need;
/// - the line ends U+2028 and U+2029, the blank Braille pattern U+2800, and the annotation characters U+FFF9 to U+FFFB.
const ESCAPED: [(char, char); 18] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200b}'),
    ('\u{200e}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Returns whether a character must be escaped on a terminal. Control characters (C0, DEL and C1), characters that
/// reorder text or end a line, and invisible characters must be escaped. Joiners and variation selectors are not
/// escaped, since letters and emoji need them.
#[must_use]
pub fn needs_escape(character: char) -> bool {
    let after = ESCAPED.partition_point(|(first, _)| *first <= character);
    let range = after.checked_sub(1).and_then(|index| ESCAPED.get(index));
    character.is_control() || range.is_some_and(|(_, last)| character <= *last)
}

/// Returns `text` on one line, for a terminal, with [control characters](needs_escape) escaped. Tabs are not escaped.
#[must_use]
pub fn escape_control(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if needs_escape(character) && character != '\t' {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Escapes `text` as [`escape_control`] does, except for line feeds.
#[must_use]
pub fn escape_control_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(escape_control).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_tabs_are_not() {
        assert_eq!(escape_control("a\tb\u{1b}[31m\u{202e}\n\u{9b}é"), "a\tb\\u{1b}[31m\\u{202e}\\n\\u{9b}é");
        assert_eq!(escape_control_lines("a\u{1b}\nb\r\n"), "a\\u{1b}\nb\\r\n");
    }

    #[test]
    fn the_ranges_are_in_order_and_their_edges_are_escaped() {
        assert!(ESCAPED.iter().all(|(first, last)| first <= last));
        assert!(ESCAPED.windows(2).all(|pair| matches!(pair, [(_, last), (first, _)] if last < first)));
        for (first, last) in ESCAPED {
            assert!(needs_escape(first) && needs_escape(last), "{first:?} {last:?}");
        }
        for character in "\u{ac}\u{ae}\u{34e}\u{350}\u{200a}\u{200c}\u{200d}\u{2010}\u{2027}\u{202f}\u{205f}\u{2070}\u{fe0f}\u{fffc}\u{fffd}\u{10ffff} aé€😀".chars() {
            assert!(!needs_escape(character), "{character:?}");
        }
    }
}
