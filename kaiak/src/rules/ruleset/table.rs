//! Tables of fixes: the file `fixes.yaml` beside files of rules. docs/kaiak.md describes its form.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use yaml_serde::Value;

use crate::rules::fix::{Action, Fix, Move, Risk};

/// The fixes of rules by the ids of the rules.
pub(super) type Table = BTreeMap<String, Vec<Fix>>;

/// Maximum size in bytes of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "ruleID")]
    rule_id: String,
    fixes: Vec<RawFix>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawFix {
    risk: Risk,
    #[serde(default)]
    rename_import: Option<OneOrMore>,
    #[serde(default)]
    replace: Option<Replace>,
    #[serde(default)]
    delete_line: Option<bool>,
    #[serde(default)]
    rename_file: Option<Replace>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(Move),
    More(Vec<Move>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replace {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    pattern: Option<String>,
    with: String,
}

/// Parses the entries of a table. An invalid entry is omitted, with a warning.
pub(super) fn parse(entries: Vec<Value>, warnings: &mut Vec<String>) -> Table {
    let mut table = Table::new();
    for value in entries {
        let id = value.get("ruleID").and_then(Value::as_str).unwrap_or("without an id").to_owned();
        let parsed = yaml_serde::from_value::<Entry>(value).map_err(|error| error.to_string()).and_then(|entry| {
            let fixes = entry.fixes.into_iter().map(RawFix::fix).collect::<Result<Vec<_>, _>>()?;
            Ok((entry.rule_id, fixes))
        });
        match parsed {
            Ok((id, _)) if table.contains_key(&id) => {
                warnings.push(format!("the second entry of the rule {id} is skipped"));
            }
            Ok((id, fixes)) => {
                table.insert(id, fixes);
            }
            Err(reason) => warnings.push(format!("the fixes of the rule {id} are skipped: {reason}")),
        }
    }
    table
}

impl RawFix {
    fn fix(self) -> Result<Fix, String> {
        let mut actions = Vec::new();
        if let Some(moves) = self.rename_import {
            let moves = match moves {
                OneOrMore::One(only) => vec![only],
                OneOrMore::More(moves) => moves,
            };
            if let Some(wrong) = moves.iter().find(|one| !is_name(&one.from) || !is_name(&one.to)) {
                return Err(format!("`from` and `to` must be names of Java, got `{}` and `{}`", wrong.from, wrong.to));
            }
            actions.push(Action::RenameImport(moves));
        }
        if let Some(replace) = self.replace {
            let (pattern, with) = replace.compile()?;
            actions.push(Action::ReplaceInLines { pattern, with });
        }
        match self.delete_line {
            Some(true) => actions.push(Action::DeleteLines),
            Some(false) => return Err("`delete-line` must be true".to_owned()),
            None => {}
        }
        if let Some(replace) = self.rename_file {
            let (pattern, with) = replace.compile()?;
            actions.push(Action::RenameFile { pattern, with });
        }
        let mut actions = actions.into_iter();
        match (actions.next(), actions.next()) {
            (Some(action), None) => Ok(Fix { action, risk: self.risk }),
            _ => Err("a fix must have one of `rename-import`, `replace`, `delete-line`, `rename-file`".to_owned()),
        }
    }
}

impl Replace {
    /// Returns the pattern, and the replacement with references such as `${1}` to the groups of the pattern.
    fn compile(self) -> Result<(Regex, String), String> {
        let (pattern, with) = match (self.text, self.pattern) {
            (Some(text), None) => (regex::escape(&text), self.with.replace('$', "$$")),
            (None, Some(pattern)) => (pattern, self.with),
            _ => return Err("a replacement must have `text` or `pattern`".to_owned()),
        };
        let regex = RegexBuilder::new(&pattern).size_limit(MAX_PATTERN_BYTES).build();
        let regex = regex.map_err(|error| format!("`pattern` must be a regular expression: {error}"))?;
        if regex.is_match("") {
            return Err("`pattern` must not match an empty text".to_owned());
        }
        if with.contains(['\n', '\r']) {
            return Err("`with` must not contain line ends".to_owned());
        }
        Ok((regex, with))
    }
}

/// Returns whether a text consists of identifiers with dots between them.
fn is_name(text: &str) -> bool {
    text.split('.').all(|part| {
        !part.is_empty() && part.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '$'))
    })
}
