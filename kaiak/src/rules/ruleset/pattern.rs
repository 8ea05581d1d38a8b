//! Patterns of rules. Rules are written for the regular expressions of Go and of `grep -P`. This module compiles them
//! for the crate `regex`, whose searches take linear time.

use regex::{Regex, RegexBuilder};

use globset::GlobBuilder;

use crate::limits::MAX_PATTERN_BYTES;

/// A compiled pattern, and its text, which can be compiled again as a part of a set of patterns.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles a pattern for the content of files, without the quotes around it. `^` and `$` match at the beginning
    /// and at the end of each line. A line ends with LF or CRLF.
    pub(crate) fn content(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.strip_prefix('"').unwrap_or(pattern);
        let pattern = if pattern.ends_with("\\\"") { pattern } else { pattern.strip_suffix('"').unwrap_or(pattern) };
        Self::compile(format!("(?mR:{})", translate(pattern)))
    }

    /// Compiles a pattern for paths: a regular expression that matches a part of the path or of the name of a file. A
    /// pattern without wildcards must match the whole path, with a `/` before it, or the whole name. A pattern that is
    /// not a regular expression may be a glob.
    pub(crate) fn path(pattern: &str) -> Result<Self, String> {
        let has_wildcard = pattern.contains(['*', '?', '[', ']', '$', '^']);
        let translated = translate(pattern);
        let text = if has_wildcard { format!("(?:{translated})") } else { format!("^(?:{translated})$") };
        Self::compile(text).or_else(|error| match GlobBuilder::new(pattern).literal_separator(true).build() {
            // The regular expressions of globs are for bytes.
            Ok(glob) => Self::compile(glob.regex().replacen("(?-u)", "", 1)),
            Err(_) => Err(error),
        })
    }

    /// Compiles a pattern for the names of imports: `*` matches any text, `\*` matches the wildcard of an import, and
    /// `(a|b)` matches alternatives.
    pub(crate) fn import(pattern: &str) -> Result<Self, String> {
        let mut text = "^(?:".to_owned();
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => text.extend(characters.next().map(|escaped| regex::escape(&escaped.to_string()))),
                '*' => text.push_str(".*"),
                '(' => text.push_str("(?:"),
                '|' | ')' => text.push(character),
                literal => text.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4]))),
            }
        }
        text.push_str(")$");
        Self::compile(text)
    }

    fn compile(text: String) -> Result<Self, String> {
        let regex = RegexBuilder::new(&text).size_limit(MAX_PATTERN_BYTES).build().map_err(|error| {
            let error = error.to_string();
            // The text of a syntax error has several lines. The last line has the reason.
            error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        })?;
        Ok(Self { text, regex })
    }

    /// Returns the text for a set of patterns.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Returns whether a pattern of [`Pattern::path`] matches the path of a file.
    pub(crate) fn matches_path(&self, path: &str, name: &str) -> bool {
        self.regex.is_match(name) || self.regex.is_match(&format!("/{path}"))
    }
}

/// Rewrites the parts of a pattern that Go and `grep -P` read as literals and the crate `regex` does not: a brace that
/// is not a repetition, `\<` and `\>`, and in a class, `[` and the operators of sets.
pub(crate) fn translate(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut in_class = false;
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let after = rest.get(character.len_utf8()..).unwrap_or_default();
        let next = after.chars().next();
        match (character, next) {
            ('\\', Some(escaped)) => {
                if !matches!(escaped, '<' | '>') {
                    text.push('\\');
                }
                text.push(escaped);
                rest = after.get(escaped.len_utf8()..).unwrap_or_default();
                continue;
            }
            ('[', _) if !in_class => {
                in_class = true;
                text.push('[');
                // `]` directly after `[` or `[^` is a literal.
                let negated = if next == Some('^') { "^" } else { "" };
                text.push_str(negated);
                rest = after.get(negated.len()..).unwrap_or_default();
                if let Some(after) = rest.strip_prefix(']') {
                    text.push_str("\\]");
                    rest = after;
                }
                continue;
            }
            ('[', Some(':')) => {
                // A class such as `[:alpha:]` inside of a class.
                let end = after.find(":]").map_or(0, |end| end + 2);
                text.push('[');
                text.push_str(after.get(..end).unwrap_or_default());
                if end == 0 {
                    text.insert(text.len() - 1, '\\');
                }
                rest = after.get(end..).unwrap_or_default();
                continue;
            }
            ('[', _) => text.push_str("\\["),
            (']', _) => {
                in_class = false;
                text.push(']');
            }
            ('&' | '~' | '-', Some(same)) if in_class && same == character => {
                text.push('\\');
                text.push(character);
            }
            ('{', _) if !in_class && !is_repetition(after) => text.push_str("\\{"),
            _ => text.push(character),
        }
        rest = after;
    }
    text
}

/// Returns whether the text after `{` completes a repetition: `3}`, `3,}` or `3,5}`.
fn is_repetition(after: &str) -> bool {
    let Some((numbers, _)) = after.split_once('}') else { return false };
    let (least, most) = numbers.split_once(',').unwrap_or((numbers, ""));
    !least.is_empty() && (least.to_owned() + most).bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_go_are_escaped() {
        for (pattern, expected) in [
            ("\\${VAULT::", "\\$\\{VAULT::"),
            ("a{2}b{2,}c{2,3}", "a{2}b{2,}c{2,3}"),
            ("a{,3}", "a\\{,3}"),
            ("\\<bean\\>", "<bean>"),
            ("[[]x]", "[\\[]x]"),
            ("[]a]", "[\\]a]"),
            ("[^]a&&b--c]", "[^\\]a\\&&b\\--c]"),
            ("[[:alpha:]_]", "[[:alpha:]_]"),
            ("[a{2}]", "[a{2}]"),
        ] {
            assert_eq!(translate(pattern), expected, "{pattern}");
            assert!(Regex::new(expected).is_ok(), "{expected}");
        }
    }

    #[test]
    fn a_path_without_wildcards_matches_as_a_whole() -> Result<(), String> {
        let pattern = Pattern::path("ra\\.xml")?;
        assert!(pattern.matches_path("META-INF/ra.xml", "ra.xml"));
        assert!(!pattern.matches_path("META-INF/extra.xml", "extra.xml"));
        assert!(Pattern::path("*.xml")?.matches_path("a/b.xml", "b.xml"));
        assert!(!Pattern::path("*.xml")?.matches_path("a/b.xsl", "b.xsl"));
        Ok(())
    }

    #[test]
    fn an_import_pattern_has_wildcards_and_alternatives() -> Result<(), String> {
        let pattern = Pattern::import("javax.(ejb|jms)*")?;
        assert!(pattern.regex().is_match("javax.jms.Queue"));
        assert!(!pattern.regex().is_match("javax_jms.Queue"));
        assert!(!pattern.regex().is_match("a.javax.jms"));
        let wildcard = Pattern::import("a\\.b.\\*")?;
        assert!(wildcard.regex().is_match("a.b.*") && !wildcard.regex().is_match("a.b.c"));
        Ok(())
    }

    #[test]
    fn a_pattern_that_compiles_to_too_many_bytes_is_an_error() {
        assert!(Pattern::content("((a{1000}){1000}){1000}").is_err());
    }
}
