//! Sets of rules, which are folders with files in the YAML of Konveyor's analyzer-lsp.

pub(crate) mod condition;
mod derive;
mod files;
pub(crate) mod pattern;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::{self, Display};
use std::fs;
use std::io::{self, Read};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use regex::Regex;
use serde::Deserialize;
use yaml_serde::Value;

use self::condition::{Condition, Search};
use self::files::{Collection, folder_of, open};
use self::pattern::Pattern;
use super::finder::Matcher;
use super::fix::Fix;

use crate::limits::{MAX_ID_CHARACTERS, MAX_REASON_CHARACTERS, MAX_RULE_FILE_BYTES};

/// The name of the file that describes a set. It contains no rules.
const DESCRIPTION: &str = "ruleset.yaml";

/// The name of the file with the fixes of the rules in its folder.
const TABLE: &str = "fixes.yaml";

/// Rules, and the fixes of some of them.
#[derive(Debug)]
pub struct RuleSet {
    rules: Vec<Arc<Rule>>,
    matcher: Matcher,
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    pub(crate) id: String,
    pub(crate) description: String,
    pub(crate) message: String,
    pub(crate) effort: u32,
    pub(crate) category: String,
    pub(crate) labels: Vec<String>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) condition: Condition,
    pub(crate) searches: Vec<Search>,
    pub(crate) fixes: Vec<Fix>,
}

impl Rule {
    /// Returns the id of the rule.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the labels of the rule.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns whether the rule has a mechanical fix.
    #[must_use]
    pub fn has_fix(&self) -> bool {
        !self.fixes.is_empty()
    }
}

/// A variable in the message of a rule. Its value is a part of the line of the place.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) pattern: Regex,
    pub(crate) default: String,
}

/// A part of a set of rules that is not used: a rule, a file, or a fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The file.
    pub file: PathBuf,
    /// The id of the rule, if the warning is for one rule.
    pub rule: Option<String>,
    /// The reason.
    pub reason: String,
}

impl Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        match &self.rule {
            Some(rule) => write!(f, "rule {rule} is skipped: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

/// The error of a set of rules in which no rule can be used.
#[derive(Clone, Copy, Debug)]
pub struct NoRules;

impl Display for NoRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the paths of `--rules` must contain at least one usable rule, got none")
    }
}

impl Error for NoRules {}

/// A set of rules that cannot be read.
#[derive(Debug)]
pub struct LoadError {
    path: PathBuf,
    error: io::Error,
}

impl Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read the rules in {}: {}", self.path.display(), self.error)
    }
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

/// A rule as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a mapping")]
struct RawRule {
    #[serde(rename = "ruleID")]
    rule_id: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    effort: Option<u32>,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    labels: Option<Vec<String>>,
    #[serde(default)]
    custom_variables: Option<Vec<RawVariable>>,
    when: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawVariable {
    name: String,
    name_of_capture_group: String,
    pattern: String,
    #[serde(default)]
    default_value: Option<String>,
}

impl RuleSet {
    /// Reads the rules of files and folders. In a folder and the folders below it, the files that end with `.yaml` or
    /// `.yml` are read. These are omitted: folders `tests`, folders that begin with a dot, files `ruleset.yaml`, and
    /// files that end with `.test.yaml` or `.test.yml`.
    ///
    /// A file `fixes.yaml` has the fixes of rules. A rule without an entry in such a file gets a fix if its message or
    /// its description states a replacement, see [`Rule::has_fix`].
    ///
    /// A rule that is invalid, or that needs another provider, is skipped with a warning. In a folder, a pipe or a link
    /// without a target that has the name of a file of rules is skipped with a warning, too. A file to which several
    /// paths or links lead is read once.
    ///
    /// # Errors
    /// If one of the paths cannot be read, or is neither a folder nor a regular file, or if a `fixes.yaml` is not a
    /// regular file.
    pub fn load(paths: &[PathBuf]) -> Result<(Self, Vec<Warning>), LoadError> {
        let (mut loader, mut collection) = (Loader::default(), Collection::default());
        collection.add(paths, &mut loader)?;
        let mut files = collection.files;
        files.sort();
        for file in &files {
            loader.read(file).map_err(|error| LoadError { path: file.clone(), error })?;
        }
        let (rules, warnings) = loader.finish();
        Ok((Self::new(rules.into_iter().map(Arc::new).collect()), warnings))
    }

    fn new(rules: Vec<Arc<Rule>>) -> Self {
        let matcher = Matcher::new(&rules);
        Self { rules, matcher }
    }

    /// Checks that the set has rules.
    ///
    /// # Errors
    /// If it has none.
    pub fn check_not_empty(&self) -> Result<(), NoRules> {
        if self.rules.is_empty() { Err(NoRules) } else { Ok(()) }
    }

    /// Returns the rules for which `is_wanted` returns true.
    #[must_use]
    pub fn select(&self, is_wanted: impl Fn(&Rule) -> bool) -> Self {
        Self::new(self.rules.iter().filter(|rule| is_wanted(rule)).cloned().collect())
    }

    /// Returns the rules in the order of their files.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(|rule| &**rule)
    }

    pub(crate) fn rule(&self, index: usize) -> Option<&Rule> {
        self.rules.get(index).map(|rule| &**rule)
    }

    pub(crate) fn matcher(&self) -> &Matcher {
        &self.matcher
    }
}

/// Returns the beginning of an invalid value, or of its error, which may repeat the whole value.
fn brief(error: &impl Display) -> String {
    let text = error.to_string();
    match text.char_indices().nth(MAX_REASON_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Parses a list in YAML. An error does not repeat the text of the file, which may be another file than the user meant.
fn parse_list(text: &str) -> Result<Vec<Value>, String> {
    match yaml_serde::from_str::<Value>(text).map_err(|error| brief(&error))? {
        Value::Sequence(list) => Ok(list),
        Value::Null => Ok(Vec::new()),
        other => Err(format!("it must be a list, got {}", kind(&other))),
    }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Sequence(_) => "a list",
        Value::Mapping(_) => "a mapping",
        Value::Tagged(_) => "a value with a tag",
    }
}

#[derive(Default)]
struct Loader {
    rules: Vec<(PathBuf, Rule)>,
    /// The files of the tables with their content, by their folders without links.
    tables: BTreeMap<PathBuf, (PathBuf, table::Table)>,
    warnings: Vec<Warning>,
}

impl Loader {
    fn read(&mut self, file: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        open(file)?.take(MAX_RULE_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_RULE_FILE_BYTES {
            self.warn(file, None, format!("the file is skipped: it must have at most {MAX_RULE_FILE_BYTES} bytes"));
            return Ok(());
        }
        let text = String::from_utf8(bytes).map_err(|_| "it must be UTF-8".to_owned());
        // Some editors write a byte order mark.
        let list = match text.and_then(|text| parse_list(text.strip_prefix('\u{feff}').unwrap_or(&text))) {
            Ok(list) => list,
            Err(reason) => {
                self.warn(file, None, format!("the file is skipped: {reason}"));
                return Ok(());
            }
        };
        if file.file_name().is_some_and(|name| name == TABLE) {
            let mut warnings = Vec::new();
            let table = table::parse(list, &mut warnings);
            for reason in warnings {
                self.warn(file, None, reason);
            }
            self.tables.insert(folder_of(file)?, (file.to_owned(), table));
            return Ok(());
        }
        for value in list {
            self.rule(file, value);
        }
        Ok(())
    }

    fn rule(&mut self, file: &Path, value: Value) {
        let id = value.get("ruleID").and_then(Value::as_str).map(str::to_owned);
        // A rule without a message only adds tags to a report.
        if value.get("message").is_none() && value.get("tag").is_some() {
            return;
        }
        let raw =
            yaml_serde::from_value::<RawRule>(value).map_err(|error| format!("the rule is invalid: {}", brief(&error)));
        match raw.and_then(Rule::from_raw) {
            Ok(rule) => self.rules.push((file.to_owned(), rule)),
            Err(reason) => {
                let id = id.map_or_else(|| "without an id".to_owned(), |id| brief(&id));
                self.warn(file, Some(id), reason);
            }
        }
    }

    fn warn(&mut self, file: &Path, rule: Option<String>, reason: String) {
        self.warnings.push(Warning { file: file.to_owned(), rule, reason });
    }

    /// Adds the fixes to the rules: those of the nearest table above the file of a rule, or the derived fix.
    fn finish(mut self) -> (Vec<Rule>, Vec<Warning>) {
        let mut unused: BTreeSet<(&Path, &str)> = BTreeSet::new();
        for (file, table) in self.tables.values() {
            unused.extend(table.keys().map(|id| (file.as_path(), id.as_str())));
        }
        let mut above: BTreeMap<&Path, Vec<&(PathBuf, table::Table)>> = BTreeMap::new();
        for (file, rule) in &mut self.rules {
            let file: &Path = file;
            let tables = above.entry(file).or_insert_with(|| tables_above(file, &self.tables));
            match tables.iter().find_map(|(table, fixes)| Some((table, fixes.get_key_value(&rule.id)?))) {
                Some((table, (id, fixes))) => {
                    unused.remove(&(table.as_path(), id.as_str()));
                    rule.fixes = fixes.clone();
                }
                None => rule.fixes = derive::derive(rule).into_iter().collect(),
            }
        }
        for (file, id) in unused {
            let reason = format!("the fixes of the rule {id} are not used, since no such rule was loaded");
            self.warnings.push(Warning { file: file.to_owned(), rule: None, reason });
        }
        (self.rules.into_iter().map(|(_, rule)| rule).collect(), self.warnings)
    }
}

/// Returns the tables in the folders above a file, the nearest first.
fn tables_above<'a, T>(file: &Path, tables: &'a BTreeMap<PathBuf, T>) -> Vec<&'a T> {
    // The path stays as the user has written it: a table also applies to the files behind a link in its folder.
    let file = path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let folders = file.ancestors().skip(1).filter_map(|folder| fs::canonicalize(folder).ok());
    folders.filter_map(|folder| tables.get(&folder)).collect()
}

impl Rule {
    fn from_raw(raw: RawRule) -> Result<Self, String> {
        if raw.rule_id.is_empty() || raw.rule_id.chars().nth(MAX_ID_CHARACTERS).is_some() {
            return Err(format!("`ruleID` must have 1 to {MAX_ID_CHARACTERS} characters"));
        }
        let mut searches = Vec::new();
        let condition = condition::parse(&raw.when, &mut searches, 0)?;
        if condition.reported(&|_| true).is_empty() {
            return Err("the condition must have a search whose places can be reported".to_owned());
        }
        let variables = raw.custom_variables.unwrap_or_default().into_iter().map(Variable::from_raw);
        let description = raw.description.unwrap_or_default().trim().to_owned();
        let message = raw.message.unwrap_or_default().trim().to_owned();
        Ok(Self {
            id: raw.rule_id,
            message: if message.is_empty() { description.clone() } else { message },
            description,
            effort: raw.effort.unwrap_or(0),
            category: raw.category.unwrap_or_default(),
            labels: raw.labels.unwrap_or_default(),
            variables: variables.collect::<Result<_, _>>()?,
            condition,
            searches,
            fixes: Vec::new(),
        })
    }
}

impl Variable {
    fn from_raw(raw: RawVariable) -> Result<Self, String> {
        let invalid =
            |reason| format!("the pattern of the variable {} must be a regular expression: {reason}", raw.name);
        let pattern = Pattern::content(&raw.pattern).map_err(invalid)?.regex().clone();
        Ok(Self {
            group: raw.name_of_capture_group,
            pattern,
            default: raw.default_value.unwrap_or_default(),
            name: raw.name,
        })
    }
}
