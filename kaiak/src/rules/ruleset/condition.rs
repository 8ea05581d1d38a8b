//! Conditions of rules: the member `when`.

use yaml_serde::{Mapping, Value};

use super::brief;
use super::pattern::Pattern;

use crate::limits::MAX_CONDITION_DEPTH;

/// A search for one pattern.
#[derive(Clone, Debug)]
pub(crate) enum Search {
    /// `builtin.filecontent`: text in the files whose path matches `files`.
    Content { pattern: Pattern, source: String, files: Option<Pattern> },
    /// `builtin.file`: files by their path.
    File(Pattern),
    /// `java.referenced` at `IMPORT`: imports of Java files.
    Import { pattern: Pattern, source: String },
}

/// A condition over the searches of a rule. The condition refers to the searches by their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Search(usize),
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    /// A condition whose places are not reported.
    Ignored(Box<Self>),
}

impl Condition {
    /// Returns whether the condition is true. `has_places` returns whether a search has found a place.
    pub(crate) fn is_true(&self, has_places: &impl Fn(usize) -> bool) -> bool {
        match self {
            Self::Search(index) => has_places(*index),
            Self::All(parts) => parts.iter().all(|part| part.is_true(has_places)),
            Self::Any(parts) => parts.iter().any(|part| part.is_true(has_places)),
            Self::Not(part) => !part.is_true(has_places),
            Self::Ignored(part) => part.is_true(has_places),
        }
    }

    /// Returns the searches whose places are reported if the condition is true. Only the alternatives that are true
    /// report places.
    pub(crate) fn reported(&self, has_places: &impl Fn(usize) -> bool) -> Vec<usize> {
        match self {
            Self::Search(index) => vec![*index],
            Self::All(parts) => parts.iter().flat_map(|part| part.reported(has_places)).collect(),
            Self::Any(parts) => {
                let are_true = parts.iter().filter(|part| part.is_true(has_places));
                are_true.flat_map(|part| part.reported(has_places)).collect()
            }
            Self::Not(_) | Self::Ignored(_) => Vec::new(),
        }
    }

    /// Returns whether the condition consists of searches of which one is enough.
    pub(crate) fn is_alternative(&self) -> bool {
        match self {
            Self::Search(_) => true,
            Self::Any(parts) => parts.iter().all(Self::is_alternative),
            _ => false,
        }
    }
}

/// Parses a condition, and appends its searches to `searches`. An error is the reason for which the rule is skipped.
pub(super) fn parse(value: &Value, searches: &mut Vec<Search>, depth: usize) -> Result<Condition, String> {
    if depth > MAX_CONDITION_DEPTH {
        return Err(format!("conditions must be nested at most {MAX_CONDITION_DEPTH} deep"));
    }
    let map = value.as_mapping().ok_or("`when` must be a mapping")?;
    let mut condition = None;
    for (key, value) in map {
        let key = key.as_str().ok_or("a condition must have a name")?;
        let parsed = match key {
            "not" | "ignore" | "as" => continue,
            "from" => return Err("conditions that refer to others by `from` are not supported".to_owned()),
            "and" | "or" => {
                let parts = value.as_sequence().ok_or_else(|| format!("`{key}` must be a list of conditions"))?;
                if parts.is_empty() {
                    return Err(format!("`{key}` must have at least one condition"));
                }
                let parts = parts.iter().map(|part| parse(part, searches, depth + 1)).collect::<Result<_, _>>()?;
                if key == "and" { Condition::All(parts) } else { Condition::Any(parts) }
            }
            provider => {
                searches.push(search(provider, value)?);
                Condition::Search(searches.len() - 1)
            }
        };
        if condition.replace(parsed).is_some() {
            return Err("a condition must have one provider, `and` or `or`".to_owned());
        }
    }
    let mut condition = condition.ok_or("a condition must have a provider, `and` or `or`")?;
    if flag(map, "not")? {
        condition = Condition::Not(Box::new(condition));
    }
    if flag(map, "ignore")? {
        condition = Condition::Ignored(Box::new(condition));
    }
    Ok(condition)
}

fn flag(map: &Mapping, name: &str) -> Result<bool, String> {
    map.get(name).map_or(Ok(false), |value| value.as_bool().ok_or_else(|| format!("`{name}` must be true or false")))
}

/// Parses the search of a provider.
fn search(provider: &str, value: &Value) -> Result<Search, String> {
    let known: &[&str] = match provider {
        "builtin.filecontent" => &["pattern", "filePattern"],
        "builtin.file" => &["pattern"],
        "java.referenced" => &["pattern", "location"],
        _ => return Err(format!("the provider {} is not supported", brief(&provider))),
    };
    let map = value.as_mapping().ok_or_else(|| format!("{provider} must be a mapping"))?;
    for key in map.keys() {
        let key = key.as_str().unwrap_or_default();
        if !known.contains(&key) {
            return Err(format!("the member `{}` of {provider} is not supported", brief(&key)));
        }
    }
    let text = |name: &str| match map.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.as_str())),
        None => Ok(None),
        Some(_) => Err(format!("`{name}` of {provider} must be a text")),
    };
    let source = text("pattern")?.ok_or_else(|| format!("{provider} must have a `pattern`"))?;
    if source.contains("{{") {
        return Err("patterns that refer to other conditions are not supported".to_owned());
    }
    let invalid = |reason: String| format!("the pattern `{}` must be a regular expression: {reason}", brief(&source));
    match provider {
        "builtin.filecontent" => {
            let file_pattern = text("filePattern")?;
            let files = file_pattern
                .map(Pattern::path)
                .transpose()
                .map_err(|reason| format!("`filePattern` must be a regular expression: {reason}"))?;
            let pattern = Pattern::content(source).map_err(invalid)?;
            if pattern.regex().is_match("") {
                return Err(format!("the pattern `{}` must not match an empty text", brief(&source)));
            }
            Ok(Search::Content { pattern, source: source.to_owned(), files })
        }
        "builtin.file" => Ok(Search::File(Pattern::path(source).map_err(invalid)?)),
        _ => match text("location")? {
            Some("IMPORT") => {
                Ok(Search::Import { pattern: Pattern::import(source).map_err(invalid)?, source: source.to_owned() })
            }
            location => {
                let location = brief(&location.unwrap_or("any place"));
                Err(format!("java.referenced is supported at the location IMPORT only, got {location}"))
            }
        },
    }
}
