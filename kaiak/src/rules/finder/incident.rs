//! Incidents in the form of the request `generate_fix`.

use serde::Serialize;

use crate::limits::{MAX_DESCRIPTION_CHARACTERS, MAX_MESSAGE_CHARACTERS, MAX_RULE_ID_IN_INCIDENT};
use crate::rules::ruleset::Rule;
use crate::workspace::RelativePath;

/// The severity of an incident, which follows from the category of its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The rule has no category, or a category other than `mandatory` and `optional`, such as `potential`.
    Info,
    /// The category is `optional`.
    Warning,
    /// The category is `mandatory`.
    Error,
}

/// A place that a rule has found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Incident {
    /// The id of the rule, a colon, and the number of the incident of this rule.
    pub id: String,
    /// The id of the rule.
    pub rule_id: String,
    /// The message of the rule, in which variables have the values of this place.
    pub message: String,
    /// The description of the rule.
    pub description: String,
    /// The effort of the rule, a number as text.
    pub effort: String,
    /// The severity.
    pub severity: Severity,
    /// The `file` URI of the file.
    pub uri: String,
    /// The number of the line, from 1. If the rule has found the file by its path, the incident has no line.
    #[serde(rename = "lineNumber", skip_serializing_if = "Option::is_none")]
    pub line_number: Option<u32>,
    /// The path of the file.
    #[serde(skip)]
    pub path: RelativePath,
}

impl Incident {
    /// Creates an incident without an id. `line` is the text of the line, from which variables of the message are read.
    pub(super) fn new(rule: &Rule, uri: String, path: RelativePath, line_number: Option<u32>, line: &str) -> Self {
        let message = message(rule, line);
        Self {
            id: String::new(),
            rule_id: rule.id().to_owned(),
            message: cut(if message.is_empty() { rule.id() } else { &message }, MAX_MESSAGE_CHARACTERS),
            description: cut(&rule.description, MAX_DESCRIPTION_CHARACTERS),
            effort: rule.effort.to_string(),
            severity: match &*rule.category {
                "mandatory" => Severity::Error,
                "optional" => Severity::Warning,
                _ => Severity::Info,
            },
            uri,
            line_number,
            path,
        }
    }

    /// Sets the id from the number of the incident among those of its rule.
    pub(super) fn set_number(&mut self, number: usize) {
        self.id = format!("{}:{number}", cut(&self.rule_id, MAX_RULE_ID_IN_INCIDENT));
    }
}

/// Returns the message of a rule with the values of its variables.
fn message(rule: &Rule, line: &str) -> String {
    let mut message = rule.message.clone();
    for variable in &rule.variables {
        let value = variable.pattern.captures(line).and_then(|captures| captures.name(&variable.group));
        let value = value.map_or(&*variable.default, |value| value.as_str());
        for written in [format!("{{{{{}}}}}", variable.name), format!("{{{{ {} }}}}", variable.name)] {
            message = message.replace(&written, value);
        }
    }
    message
}

/// Returns the first `chars` characters of a text.
fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}
