//! Patterns for names of methods.

/// Returns whether `text` fits a pattern, in which `*` is any text and `?` is any character.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // The position after the last `*`, and the end of the text that this `*` covers.
    let mut star: Option<(usize, usize)> = None;
    while let Some(character) = text.get(t) {
        match pattern.get(p) {
            Some('*') => {
                p += 1;
                star = Some((p, t));
                continue;
            }
            Some(expected) if *expected == '?' || expected == character => {
                (p, t) = (p + 1, t + 1);
                continue;
            }
            _ => {}
        }
        let Some((after, covered)) = &mut star else { return false };
        *covered += 1;
        (p, t) = (*after, *covered);
    }
    pattern.get(p..).unwrap_or_default().iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, text) in [
            ("*", ""),
            ("textDocument/*", "textDocument/hover"),
            ("*/hover", "textDocument/hover"),
            ("*Doc*ver", "textDocument/hover"),
            ("a?c", "aéc"),
            ("a*b*c", "a*bbbc"),
            ("", ""),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("hover", "textDocument/hover"), ("a?", "a"), ("a*b", "abc"), ("", "a"), ("?", "")] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
        // With a search in exponential time, this check would not end.
        assert!(!fits(&"*a".repeat(200), &"a".repeat(199)));
    }
}
