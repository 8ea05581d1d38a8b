//! Text of others on a terminal, for both commands.

/// Whether a terminal does something else with this character than to show it in its place: control characters (C0, DEL and
/// C1), those that end a line, and those that change the direction of text (Unicode Standard Annex 9).
pub(crate) fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
