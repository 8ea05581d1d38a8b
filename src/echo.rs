//! Shortens values from a peer for the text of an error, to at most 100 characters of each value.

use portway_proto::MAX_ECHO_LENGTH;

/// Returns the first 100 characters of a name that a peer sent.
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
pub(crate) fn first_100_characters(text: &str) -> &str {
    text.char_indices().nth(MAX_ECHO_LENGTH).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Shortens the text of an error of serde, which may repeat a value from a peer. A long text is reduced to its first
/// and last 50 characters: its beginning states the fault, and its end states the expected value.
pub(crate) fn shorten_middle(text: String) -> String {
    let half = MAX_ECHO_LENGTH / 2;
    if text.chars().nth(MAX_ECHO_LENGTH).is_none() {
        return text;
    }
    let first = text.char_indices().nth(half).and_then(|(end, _)| text.get(..end)).unwrap_or_default();
    let last = text.char_indices().nth_back(half - 1).and_then(|(start, _)| text.get(start..)).unwrap_or_default();
    format!("{first}…{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shortened_to_100_characters() {
        let name = "é".repeat(100);
        assert_eq!(first_100_characters(&name), name);
        assert_eq!(first_100_characters(&format!("{name}x")), name);
        assert_eq!(first_100_characters(""), "");
    }

    #[test]
    fn a_long_text_is_reduced_to_its_beginning_and_its_end() {
        let text = format!("invalid type: string \"{}\", expected u8", "é".repeat(1_000));
        let shortened = shorten_middle(text);
        assert!(
            shortened.starts_with("invalid type: string \"é") && shortened.ends_with("é\", expected u8"),
            "{shortened}"
        );
        assert_eq!(shortened.chars().count(), 101);
        let text = "é".repeat(100);
        assert_eq!(shorten_middle(text.clone()), text);
    }
}
