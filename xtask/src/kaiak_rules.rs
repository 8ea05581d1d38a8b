//! `cargo xtask kaiak-rules DIR`: measures `kaiak` with rules of Konveyor and their test projects.
//!
//! The folder has these files. Paths in them are relative to the folder.
//! - `cases.json`: a list of `{rules, ruleID, data, exactly}`. `rules` is the file of the rule, `data` is its test
//!   project, and `exactly` is the number of incidents that the test of the rule expects. With `atLeast` instead of
//!   `exactly`, more incidents are accepted.
//! - `fixable.json`, optional: a list of `{ruleID}`: the rules whose fixes must leave no incident.
//! - `javax-imports.json`, optional: imports for the rules in `kaiak/rules/jakarta`. `changed` has pairs: an import
//!   that the rules rename, and its new name. `left` has the imports that the rules must not change.
//! - `fixes.yaml`, optional: a table of fixes for the rules.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::build::{self, files_below};
use crate::environment::Environment;
use crate::process::{capture, duration};
use crate::setup::Setup;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder with rules of Konveyor, their test projects, and cases.json. fixable.json, javax-imports.json and
    /// fixes.yaml are optional
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    rules: PathBuf,
    #[serde(rename = "ruleID")]
    rule_id: String,
    data: PathBuf,
    exactly: Option<usize>,
    at_least: Option<usize>,
}

#[derive(Deserialize)]
struct Fixable {
    #[serde(rename = "ruleID")]
    rule_id: String,
}

#[derive(Deserialize)]
struct Imports {
    changed: Vec<(String, String)>,
    left: Vec<String>,
}

/// An incident: its rule, its file and its line.
#[derive(Deserialize)]
struct Incident {
    rule_id: String,
    uri: String,
    #[serde(rename = "lineNumber")]
    line_number: Option<usize>,
}

/// Minimum share of the counts that must be as expected, in percent. Some tests of rules expect wrong counts.
const MIN_COUNTS_PERCENT: usize = 97;

/// Runs the measurements. Returns `false` if too many counts differ, if the fixes of a fixable rule fail, or if an
/// import differs.
pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    let folder = fs::canonicalize(&arguments.folder).with_context(|| arguments.folder.display().to_string())?;
    let kaiak = Kaiak { program: build::program(setup, "kaiak", "kaiak")?, folder, setup };
    let cases: Vec<Case> = kaiak.json("cases.json")?.context("the folder must have a file cases.json")?;
    let start = Instant::now();
    let mut is_good = kaiak.counts(&cases)?;
    if let Some(fixable) = kaiak.json::<Vec<Fixable>>("fixable.json")? {
        is_good &= kaiak.fixes(&cases, &fixable)?;
    }
    if let Some(imports) = kaiak.json::<Imports>("javax-imports.json")? {
        is_good &= kaiak.imports(&imports)?;
    }
    println!("{} in total", duration(start.elapsed()));
    Ok(is_good)
}

/// The program `kaiak`, and the folder with the rules and their test projects.
struct Kaiak<'a> {
    program: PathBuf,
    folder: PathBuf,
    setup: &'a Setup,
}

impl Kaiak<'_> {
    /// Reads a file of the folder. Returns `None` if the file does not exist.
    fn json<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Result<Option<T>> {
        let path = self.folder.join(name);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).map(Some).with_context(|| path.display().to_string())
    }

    /// Runs the program with the rules of one file, and with the table of the folder. Returns its standard output.
    fn output(&self, words: &[&str], rules: &Path, workspace: &Path) -> Result<String> {
        let mut command = Environment::default().command(&self.program.to_string_lossy(), &self.folder)?;
        let table = self.folder.join("fixes.yaml");
        command.args(words).arg("--rules").arg(rules);
        if table.exists() {
            command.arg("--rules").arg(table);
        }
        // This `--exclude` replaces the default, because test projects may have source folders with the name `target`.
        capture(command.args(["--quiet", "--exclude", "**/.git/**"]).arg(workspace))
    }

    fn find(&self, words: &[&str], rules: &Path, workspace: &Path) -> Result<Vec<Incident>> {
        let words: Vec<_> = ["find"].iter().chain(words).copied().collect();
        let output = self.output(&words, rules, workspace)?;
        output.lines().map(|line| serde_json::from_str(line).context("an incident")).collect()
    }

    /// Compares the number of incidents of each case with the expected number. If they differ, prints the incidents.
    /// Returns whether enough numbers are as expected.
    fn counts(&self, cases: &[Case]) -> Result<bool> {
        let mut runs: BTreeMap<(&Path, &Path), Vec<Incident>> = BTreeMap::new();
        let mut met = 0;
        for case in cases {
            let incidents = match runs.entry((&case.rules, &case.data)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(self.find(&[], &case.rules, &self.folder.join(&case.data))?),
            };
            let found: Vec<_> = incidents.iter().filter(|incident| incident.rule_id == case.rule_id).collect();
            let is_met = match (case.exactly, case.at_least) {
                (Some(exactly), _) => found.len() == exactly,
                (None, at_least) => found.len() >= at_least.unwrap_or(0),
            };
            if is_met {
                met += 1;
                continue;
            }
            let expected = case.exactly.or(case.at_least).unwrap_or(0);
            println!("{}: expected {expected} incidents, found {}:", case.rule_id, found.len());
            for incident in found {
                println!("  {}", self.place(incident));
            }
        }
        println!("counts: {met} of {} are as expected", cases.len());
        Ok(met * 100 >= cases.len() * MIN_COUNTS_PERCENT)
    }

    /// Returns the path and the line of an incident.
    fn place(&self, incident: &Incident) -> String {
        let folder = format!("file://{}/", self.folder.display());
        let path = incident.uri.strip_prefix(&folder).unwrap_or(&incident.uri);
        incident.line_number.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}"))
    }

    /// Fixes the incidents of each fixable rule in a copy of its test project. Returns whether every rule is
    /// fixed, with or without the option `--mixed-wildcards`.
    fn fixes(&self, cases: &[Case], fixable: &[Fixable]) -> Result<bool> {
        let (mut fixed, mut with_option) = (0, 0);
        for rule in fixable {
            let case = cases.iter().find(|case| case.rule_id == rule.rule_id);
            let case = case.with_context(|| format!("cases.json must have the rule {}", rule.rule_id))?;
            let problem = self.fix(case, &[])?;
            let Some(problem) = problem else {
                fixed += 1;
                continue;
            };
            // If only some classes of a package move, this option also renames wildcard imports of the package. The
            // classes that do not move are no longer imported, so the option is the second attempt.
            match self.fix(case, &["--mixed-wildcards"])? {
                None => {
                    with_option += 1;
                    println!("{}: {problem}; with --mixed-wildcards: fixed", rule.rule_id);
                }
                Some(_) => println!("{}: {problem}", rule.rule_id),
            }
        }
        println!(
            "fixes: {fixed} of {} leave no incident, and {with_option} more with --mixed-wildcards",
            fixable.len()
        );
        Ok(fixed + with_option == fixable.len())
    }

    /// Fixes one rule in a copy. Returns the problem: incidents that are left, a change outside of the lines of the
    /// incidents, or a change by a second run.
    fn fix(&self, case: &Case, options: &[&str]) -> Result<Option<String>> {
        let copy = self.setup.workspace.path("target/kaiak-rules");
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        copy_files(&self.folder.join(&case.data), &copy)?;
        let rule = ["--rule", &case.rule_id];
        let root = format!("file://{}/", fs::canonicalize(&copy)?.display());
        let incidents = self.find(&rule, &case.rules, &copy)?;
        let lines: BTreeSet<(String, usize)> = incidents
            .iter()
            .filter_map(|incident| Some((incident.uri.strip_prefix(&root)?.to_owned(), incident.line_number?)))
            .collect();
        let before = contents(&copy)?;
        let words: Vec<_> = ["fix"].iter().chain(&rule).chain(options).copied().collect();
        // A rule without a fix is an error of the command.
        if let Err(error) = self.output(&words, &case.rules, &copy) {
            return Ok(Some(format!("{error:#}").lines().last().unwrap_or_default().to_owned()));
        }
        let after = contents(&copy)?;
        let left = self.find(&rule, &case.rules, &copy)?.len();
        if left > 0 {
            return Ok(Some(format!("{left} of {} incidents are left", incidents.len())));
        }
        if let Some(change) = change_outside(&before, &after, &lines) {
            return Ok(Some(format!("{change} has changed and has no incident")));
        }
        self.output(&words, &case.rules, &copy)?;
        Ok((contents(&copy)? != after).then(|| "a second run changes files".to_owned()))
    }

    /// Writes a file with all `imports`, and fixes the file by the rules of the repository. Returns whether each import
    /// in the fixed file is as expected.
    fn imports(&self, imports: &Imports) -> Result<bool> {
        let folder = self.setup.workspace.path("target/kaiak-imports");
        fs::create_dir_all(&folder)?;
        let stays = imports.left.iter().map(|name| (name.clone(), name.clone()));
        let names: Vec<(String, String)> = imports.changed.iter().cloned().chain(stays).collect();
        let text = |names: &mut dyn Iterator<Item = &String>| -> String {
            names.map(|name| format!("import {name};\n")).collect()
        };
        let file = folder.join("Imports.java");
        fs::write(&file, text(&mut names.iter().map(|(before, _)| before)))?;
        self.output(&["fix"], &self.setup.workspace.path("kaiak/rules/jakarta"), &folder)?;
        let (found, expected) = (fs::read_to_string(&file)?, text(&mut names.iter().map(|(_, after)| after)));
        let mut different = 0;
        for (found, expected) in found.lines().zip(expected.lines()).filter(|(found, expected)| found != expected) {
            different += 1;
            println!("expected `{expected}`, found `{found}`");
        }
        if found.lines().count() != names.len() {
            bail!("the number of imports must stay {}, got {}", names.len(), found.lines().count());
        }
        println!("imports: {} of {} are as expected", names.len() - different, names.len());
        Ok(different == 0)
    }
}

/// Describes a change in a line without an incident by its path and its line. An added or removed line, and an added or
/// removed file, also count as changes.
fn change_outside(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &BTreeMap<PathBuf, Vec<u8>>,
    lines: &BTreeSet<(String, usize)>,
) -> Option<String> {
    if !before.keys().eq(after.keys()) {
        return Some("the list of files".to_owned());
    }
    for ((path, old), new) in before.iter().zip(after.values()) {
        let (old, new): (Vec<_>, Vec<_>) = (old.split(is_line_break).collect(), new.split(is_line_break).collect());
        let name = path.to_string_lossy().into_owned();
        if old.len() != new.len() {
            return Some(format!("the number of lines of {name}"));
        }
        let changed = old.iter().zip(&new).zip(1..).filter(|((old, new), _)| old != new);
        for (_, line) in changed {
            if !lines.contains(&(name.clone(), line)) {
                return Some(format!("{name}:{line}"));
            }
        }
    }
    None
}

fn is_line_break(byte: &u8) -> bool {
    *byte == b'\n'
}

/// Returns the content of all files below a folder, by their relative paths.
fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = Vec::new();
    files_below(folder, &mut files)?;
    files.into_iter().map(|file| Ok((file.strip_prefix(folder)?.to_owned(), fs::read(&file)?))).collect()
}

/// Copies the files below a folder. The copies are writable, even if the originals are read-only.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for (path, content) in contents(from)? {
        let target = to.join(path);
        fs::create_dir_all(target.parent().context("a file without a folder")?)?;
        fs::write(target, content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> BTreeMap<PathBuf, Vec<u8>> {
        files.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_change_in_a_line_without_an_incident_is_found() {
        let lines = BTreeSet::from([("a".to_owned(), 2)]);
        let before = files(&[("a", "1\n2\n3")]);
        let change = |after: &[(&str, &str)]| change_outside(&before, &files(after), &lines);
        assert_eq!(change(&[("a", "1\nx\n3")]), None);
        assert_eq!(change(&[("a", "x\n2\n3")]).as_deref(), Some("a:1"));
        assert!(change(&[("a", "1\n2\n3\n")]).is_some());
        assert!(change(&[("a", "1\n2\n3"), ("b", "")]).is_some());
    }

    #[test]
    fn cases_are_parsed() -> Result<()> {
        let text = r#"[{"rules": "r", "ruleID": "a", "data": "d", "exactly": 2, "kind": "x"},
            {"rules": "r", "ruleID": "b", "data": "d", "atLeast": 1}]"#;
        let cases: Vec<Case> = serde_json::from_str(text)?;
        let numbers: Vec<_> = cases.iter().map(|case| (case.exactly, case.at_least)).collect();
        assert_eq!(numbers, [(Some(2), None), (None, Some(1))]);
        let imports: Imports = serde_json::from_value(serde_json::json!({"changed": [["a", "b"]], "left": ["c"]}))?;
        assert_eq!((imports.changed.len(), imports.left.len()), (1, 1));
        Ok(())
    }
}
