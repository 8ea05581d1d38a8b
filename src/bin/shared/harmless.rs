//! Text of others on a terminal, for both commands.

/// Characters that change the order of text, end a line, or are not seen, in order: what Unicode has ignored by default
/// (`Default_Ignorable_Code_Point`), U+2028 and U+2029, the blank of Braille, and U+FFF9 to U+FFFB, which annotate text.
///
/// Two kinds are left out, since letters and emoji are made with them: the joiners U+200C and U+200D, and the variation
/// selectors U+FE00 to U+FE0F.
const OBEYED: [(char, char); 18] = [
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

/// Whether a terminal does something else with this character than to show it in its place: a control character (C0, DEL and
/// C1), or one of [`OBEYED`].
pub(crate) fn is_obeyed(character: char) -> bool {
    let after = OBEYED.partition_point(|(first, _)| *first <= character);
    let range = after.checked_sub(1).and_then(|place| OBEYED.get(place));
    character.is_control() || range.is_some_and(|(_, last)| character <= *last)
}

/// Text of others, for a terminal: on one line, and without what would change more than the text.
pub(crate) fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_obeyed(character) && character != '\t' {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The same, of several lines.
pub(crate) fn harmless_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(harmless).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranges_are_in_order_and_their_edges_are_obeyed() {
        assert!(OBEYED.iter().all(|(first, last)| first <= last));
        assert!(OBEYED.windows(2).all(|pair| matches!(pair, [(_, last), (first, _)] if last < first)));
        for (first, last) in OBEYED {
            assert!(is_obeyed(first) && is_obeyed(last), "{first:?} {last:?}");
        }
        for character in "\u{ac}\u{ae}\u{34e}\u{350}\u{200a}\u{200c}\u{200d}\u{2010}\u{2027}\u{202f}\u{205f}\u{2070}\u{fe0f}\u{fffc}\u{fffd}\u{10ffff} aé€😀".chars() {
            assert!(!is_obeyed(character), "{character:?}");
        }
    }
}
