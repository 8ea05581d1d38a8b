//! The replacements of matches: text with references to the groups of a pattern.

use regex::{Captures, Regex};

/// A replacement whose result has a maximum size. The crate `regex` has the same syntax for references, but no maximum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A group of the pattern, by its index.
    Group(usize),
}

/// The error of a result that would be too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Template {
    /// Returns a replacement without references.
    pub(crate) fn literal(text: String) -> Self {
        Self(vec![Piece::Text(text)])
    }

    /// Parses a replacement: `$name` and `${name}` are groups of `pattern`, by their names or numbers. `$$` is `$`, and
    /// so is a `$` before another character.
    ///
    /// # Errors
    /// The first reference that names no group of the pattern.
    pub(crate) fn parse<'a>(pattern: &Regex, text: &'a str) -> Result<Self, &'a str> {
        let group = |name: &str| match name.parse::<usize>() {
            Ok(number) => (number < pattern.captures_len()).then_some(number),
            Err(_) => pattern.capture_names().position(|known| known == Some(name)),
        };
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let (mut pieces, mut literal) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            literal.push_str(before);
            let braced = after.strip_prefix('{').and_then(|braced| braced.split_once('}'));
            let (name, next) = braced.unwrap_or_else(|| {
                let end = after.find(|character| !is_name(character)).unwrap_or(after.len());
                after.split_at_checked(end).unwrap_or((after, ""))
            });
            if let Some(after) = after.strip_prefix('$') {
                literal.push('$');
                rest = after;
            } else if braced.is_none() && name.is_empty() {
                literal.push('$');
                rest = after;
            } else {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
                pieces.push(Piece::Group(group(name).ok_or(name)?));
                rest = next;
            }
        }
        literal.push_str(rest);
        pieces.push(Piece::Text(literal));
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Ok(Self(pieces))
    }

    /// Replaces the first `limit` matches of `pattern`, or all without a limit. Returns `None` if nothing matches.
    ///
    /// # Errors
    /// If the result would have more than `max` bytes.
    pub(super) fn replace(
        &self,
        pattern: &Regex,
        text: &str,
        limit: Option<usize>,
        max: usize,
    ) -> Result<Option<String>, TooLarge> {
        let mut replaced = Bounded { text: String::new(), max };
        let mut end = None;
        for captures in pattern.captures_iter(text).take(limit.unwrap_or(usize::MAX)) {
            let Some(whole) = captures.get(0) else { continue };
            replaced.push(text.get(end.unwrap_or(0)..whole.start()).unwrap_or_default())?;
            self.expand(&captures, &mut replaced)?;
            end = Some(whole.end());
        }
        let Some(end) = end else { return Ok(None) };
        replaced.push(text.get(end..).unwrap_or_default())?;
        Ok(Some(replaced.text))
    }

    fn expand(&self, captures: &Captures<'_>, to: &mut Bounded) -> Result<(), TooLarge> {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => to.push(text),
            Piece::Group(index) => to.push(captures.get(*index).map_or("", |group| group.as_str())),
        })
    }
}

/// A text with a maximum size in bytes.
struct Bounded {
    text: String,
    max: usize,
}

impl Bounded {
    fn push(&mut self, text: &str) -> Result<(), TooLarge> {
        if self.text.len() + text.len() > self.max {
            return Err(TooLarge);
        }
        self.text.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test is a panic")]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_that_of_the_crate_regex() {
        let pattern = Regex::new("(?P<x>a+)(b)?").unwrap();
        for with in ["", "c", "$0 $1 ${1}c $x ${x} $$9 $ ${", "$2", "[${x}]", "$$", "$é", "a$", "$1$2$x", "${0}${0}"] {
            let template = Template::parse(&pattern, with).unwrap();
            for text in ["", "x", "ab", "xaabyab", "éaé"] {
                for (limit, expected) in
                    [(None, pattern.replace_all(text, with)), (Some(1), pattern.replace(text, with))]
                {
                    let replaced = template.replace(&pattern, text, limit, 1_000).unwrap();
                    assert_eq!(replaced.as_deref().unwrap_or(text), expected, "{with} {text}");
                    assert_eq!(replaced.is_some(), pattern.is_match(text));
                }
            }
        }
        assert_eq!(Template::parse(&pattern, "$1c"), Err("1c"));
    }

    #[test]
    fn the_result_has_a_maximum_size() {
        let pattern = Regex::new("a").unwrap();
        let template = Template::literal("b".repeat(10));
        assert_eq!(template.replace(&pattern, "aa", None, 20), Ok(Some("b".repeat(20))));
        assert_eq!(template.replace(&pattern, "aa", None, 19), Err(TooLarge));
        assert_eq!(template.replace(&pattern, "aa", Some(1), 11), Ok(Some(format!("{}a", "b".repeat(10)))));
        // The whole result would have 40 PB.
        let groups = Template::parse(&pattern, &"$0".repeat(1_000_000)).unwrap();
        assert_eq!(groups.replace(&pattern, &"a".repeat(40_000), None, 2_097_152), Err(TooLarge));
    }
}
