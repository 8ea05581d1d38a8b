//! Tables of fixes: the file `fixes.yaml` beside files of rules. docs/kaiak.md describes its form.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use yaml_serde::Value;

use super::brief;
use crate::limits::MAX_FIX_PATTERN_BYTES;
use crate::rules::fix::{Action, Fix, Move, Risk, Template};

/// The fixes of rules by the ids of the rules.
pub(super) type Table = BTreeMap<String, Vec<Fix>>;

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
        let id = brief(&value.get("ruleID").and_then(Value::as_str).unwrap_or("without an id"));
        let parsed = yaml_serde::from_value::<Entry>(value).map_err(|error| brief(&error)).and_then(|entry| {
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
                let (from, to) = (brief(&wrong.from), brief(&wrong.to));
                return Err(format!("`from` and `to` must be names of Java, got `{from}` and `{to}`"));
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
    /// Returns the pattern and the replacement.
    fn compile(self) -> Result<(Regex, Template), String> {
        if self.with.contains(['\n', '\r']) {
            return Err("`with` must not contain line ends".to_owned());
        }
        if self.with.contains('\0') {
            return Err("`with` must not contain NUL, because a file with NUL is binary".to_owned());
        }
        let pattern = match (&self.text, &self.pattern) {
            (Some(text), None) => regex::escape(text),
            (None, Some(pattern)) => pattern.clone(),
            _ => return Err("a replacement must have `text` or `pattern`".to_owned()),
        };
        let regex = RegexBuilder::new(&pattern).size_limit(MAX_FIX_PATTERN_BYTES).build();
        let regex = regex.map_err(|error| format!("`pattern` must be a regular expression: {}", brief(&error)))?;
        if regex.is_match("") {
            return Err("`pattern` must not match an empty text".to_owned());
        }
        let with = if self.text.is_some() {
            Template::literal(self.with)
        } else {
            let invalid = |name: &str| {
                let name = brief(&name);
                format!(
                    "each reference in `with` must name a group of `pattern`, got `{name}`; write `${{1}}` before a \
                     letter, and `$$` for a `$`"
                )
            };
            Template::parse(&regex, &self.with).map_err(invalid)?
        };
        Ok((regex, with))
    }
}

/// Returns whether a text consists of identifiers with dots between them.
pub(super) fn is_name(text: &str) -> bool {
    text.split('.').all(|part| {
        !part.is_empty() && part.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '$'))
    })
}
