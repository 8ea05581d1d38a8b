//! Fixes that follow from the message of a rule, or else from its description. A text that states a replacement, such
//! as "Replace `a` with `b`", is enough if the rule searches for the text that is to be replaced.
//!
//! A derived fix changes only the text that the rule has found. Its risk is medium, since a message may describe
//! further steps.

use std::sync::LazyLock;

use regex::Regex;

use super::Rule;
use super::condition::Search;
use super::table::is_name;
use crate::rules::fix::{Action, Fix, Move, Risk};

/// The forms of sentences that state a replacement. The groups are `from` and `to`. In a form with the group `class`,
/// `from` and `to` are the packages of this class.
const FORMS: &[&str] = &[
    // "Replace the `a` artifact with `b`", "by replacing the `a` groupId with `b`"
    r"(?i:\breplac(?:e|ing))\s+(?:the\s+)?`(?<from>[^`]+)`(?:\s+[\w-]+){0,3}\s+(?:with|by)\s+`(?<to>[^`]+)`",
    // "Rename properties prefixed by `a` with `b`"
    r"(?i:\brename)\s+[\w\s-]{1,40}?\s+prefixed\s+(?:with|by)\s+`(?<from>[^`]+)`\s+(?:with|to|by)\s+`(?<to>[^`]+)`",
    // "classes moved from package `a` to package `b`"
    r"\bmoved\s+(?:classes\s+)?from\s+(?:the\s+)?package\s+`(?<from>[^`]+)`\s+to\s+(?:the\s+)?package\s+`(?<to>[^`]+)`",
    // "The class a.B was moved from the JAR x to c.B in the JAR y"
    r"\bclass\s+`?(?<from>[\w$]+(?:\.[\w$]+)+)`?\s+(?:has\s+|was\s+|has\s+been\s+)?moved\s+(?:from\s+[\w\s-]{1,60}?\s+)?to\s+`?(?<to>[\w$]+(?:\.[\w$]+)+)",
    // "The class B has moved from the x package a to the y package c"
    r"\bclass\s+`?(?<class>[A-Z][\w$]*)`?\s+(?:has\s+|was\s+|has\s+been\s+)?moved\s+from\s+(?:[\w-]+\s+){0,3}?package\s+`?(?<from>[\w$]+(?:\.[\w$]+)+)`?\s+to\s+(?:[\w-]+\s+){0,3}?package\s+`?(?<to>[\w$]+(?:\.[\w$]+)+)",
];

static COMPILED: LazyLock<Vec<Regex>> =
    LazyLock::new(|| FORMS.iter().filter_map(|form| Regex::new(form).ok()).collect());

/// Returns the fix that the message states. If the message states no replacement or several, the description is used
/// instead. Returns `None` if the condition is not a search or a list of alternatives, or if the rule does not search
/// for the text that is to be replaced.
pub(super) fn derive(rule: &Rule) -> Option<Fix> {
    if !rule.condition.is_alternative() {
        return None;
    }
    let (from, to) = replacement(&rule.message).or_else(|| replacement(&rule.description))?;
    let are_imports = rule.searches.iter().map(|search| matches!(search, Search::Import { .. }));
    let action = if are_imports.clone().all(|is_import| is_import) {
        let (from, to) = (from.trim_end_matches('.'), to.trim_end_matches('.'));
        let is_searched = rule.searches.iter().all(|search| match search {
            Search::Import { source, .. } => is_below(source, from),
            _ => false,
        });
        if !is_name(from) || !is_name(to) || !is_searched {
            return None;
        }
        let one = Move { from: from.to_owned(), to: to.to_owned(), only: Vec::new(), except: Vec::new() };
        Action::RenameImport(vec![one])
    } else {
        if are_imports.into_iter().any(|is_import| is_import) {
            return None;
        }
        let is_searched = rule.searches.iter().all(|search| match search {
            Search::Content { source, .. } => literal(source).contains(&from),
            _ => false,
        });
        is_searched.then_some(Action::ReplaceInMatches { text: from, with: to })?
    };
    Some(Fix { action, risk: Risk::Medium })
}

/// Returns the texts of the only replacement that `text` states. If both texts end with the same variables, these
/// variables are removed from both: "replace `javax.{{name}}` with `jakarta.{{name}}`" replaces `javax.`.
fn replacement(text: &str) -> Option<(String, String)> {
    let mut found = None;
    for form in &*COMPILED {
        for captures in form.captures_iter(text) {
            let group = |name: &str| captures.name(name).map(|group| group.as_str().trim());
            let (mut from, mut to) = (group("from")?.to_owned(), group("to")?.to_owned());
            if let Some(class) = group("class") {
                from = format!("{from}.{class}");
                to = format!("{to}.{class}");
            }
            if let Some(one) = pair(&from, &to)
                && found.replace(one.clone()).is_some_and(|other| other != one)
            {
                return None;
            }
        }
    }
    found
}

fn pair(from: &str, to: &str) -> Option<(String, String)> {
    let variables = |text: &str| text.split_once("{{").map(|(before, rest)| (before.to_owned(), rest.to_owned()));
    let (from, to) = match (variables(from), variables(to)) {
        (None, None) => (from.to_owned(), to.to_owned()),
        (Some((from, rest)), Some((to, other))) if rest == other => (from, to),
        _ => return None,
    };
    let is_useful = !from.is_empty() && !to.is_empty() && from != to && !to.contains(['\n', '\r', '\0']);
    is_useful.then_some((from, to))
}

/// Returns a pattern without its escapes.
fn literal(pattern: &str) -> String {
    let mut characters = pattern.chars();
    let mut text = String::with_capacity(pattern.len());
    while let Some(character) = characters.next() {
        text.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    text
}

/// Returns whether a pattern for imports is `name`, or `name` with `.` or `*` after it.
fn is_below(pattern: &str, name: &str) -> bool {
    pattern.strip_prefix(name).is_some_and(|rest| matches!(rest.chars().next(), None | Some('.' | '*')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(text: &str) -> Option<(String, String)> {
        replacement(text)
    }

    #[test]
    fn sentences_state_replacements() {
        for (text, from, to) in [
            ("Replace `a.b` with `c.d` and change the version", "a.b", "c.d"),
            ("Update it by replacing the `a` group id with `b`", "a", "b"),
            ("Replace the `x.{{n}}-api` artifact with `y.{{n}}-api`", "x.", "y."),
            ("Rename properties prefixed by `a` with `b`", "a", "b"),
            ("Some moved classes from package `a.b` to package `c`.", "a.b", "c"),
            ("The class a.B was moved to c.B in the JAR d.", "a.B", "c.B"),
            ("The class a.B was moved from x-y JAR to c.B.", "a.B", "c.B"),
            ("The class B has moved from x package a.b to y package c.d.", "a.b.B", "c.d.B"),
        ] {
            assert_eq!(stated(text), Some((from.to_owned(), to.to_owned())), "{text}");
        }
    }

    #[test]
    fn other_sentences_state_no_replacement() {
        for text in [
            "Replace `a` with `a`",
            "Replace `a` with `b`, or replace `a` with `c`",
            "Replace `x.{{n}}` with `y.{{m}}`",
            "Replace `a` with `b.{{m}}`",
            "Do not use `a`, use `b`",
            "The class a.B was removed, see c.D",
        ] {
            assert_eq!(stated(text), None, "{text}");
        }
    }
}
