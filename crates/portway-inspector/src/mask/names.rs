//! The names of members whose values are secrets.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::limits::MAX_SECRET_NAMES;

/// A member whose name has one of these endings is a secret by default, except for the `EXCEPTIONS`. The name is
/// compared in lower case, without hyphens and underscores.
const ENDINGS: [&str; 4] = ["password", "token", "secret", "authorization"];

/// Names with one of the `ENDINGS` whose values are not secrets: tokens of progress in the Language Server Protocol and
/// the Model Context Protocol.
const EXCEPTIONS: [&str; 3] = ["progresstoken", "workdonetoken", "partialresulttoken"];

/// The names of members whose values are masked.
#[derive(Clone, Debug, Default)]
pub struct SecretNames {
    /// The names in addition to the usual ones, in lower case. `*` stands for any characters.
    names: Vec<String>,
}

impl SecretNames {
    /// Creates the usual names, and adds `names`. In `names`, `*` stands for any characters, and case has no effect.
    pub fn new(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let names = names.into_iter().map(|name| name.as_ref().to_lowercase().to_string());
        Self { names: names.filter(|name| !name.is_empty()).take(MAX_SECRET_NAMES).collect() }
    }

    /// Returns whether the values of members with this name are masked.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let plain: String = name.chars().filter(|character| !matches!(character, '-' | '_')).collect();
        (ENDINGS.iter().any(|ending| plain.ends_with(ending)) && !EXCEPTIONS.contains(&&*plain))
            || self.names.iter().any(|pattern| matches(pattern, &name))
    }
}

/// Returns whether `name` matches `pattern`. In the pattern, `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(index) = name.find(part) else { return false };
        name = name.get(index + part.len()..).unwrap_or_default();
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "acd", false),
            ("*key*", "apikeys", true),
            ("*", "", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("ab*ba", "aba", false),
            ("key", "keys", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
