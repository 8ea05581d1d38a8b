//! Text of others on a terminal, for both commands.

/// Whether a terminal does something else with this character than to show it in its place: control characters (C0, DEL and
/// C1), those that end a line, those that change the direction of text (Unicode Standard Annex 9), and those that are not
/// seen. Joiners stay, since letters and emoji are made with them.
pub(crate) fn is_obeyed(character: char) -> bool {
    let is_direction =
        matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_unseen = matches!(
        character,
        '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    );
    character.is_control() || is_direction || is_unseen
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
