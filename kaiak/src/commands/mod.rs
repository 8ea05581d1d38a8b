//! The commands. Each prints its result to standard output, and everything else to standard error.

pub(crate) mod find;
pub(crate) mod fix;
mod report;
pub(crate) mod serve;

use std::error::Error;
use std::io;

use kaiak::rules::RuleSet;
use kaiak::workspace::{DEFAULT_EXCLUDE, Workspace};

use crate::arguments::CommonArguments;
use report::Report;

/// The failure of a command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reason, for the user.
    Message(String),
    /// Standard output cannot be written.
    Output(io::Error),
}

impl Failure {
    pub(crate) fn of(error: impl Error) -> Self {
        Self::Message(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Returns a number with its noun, such as `1 file` or `2 files`.
fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns the end of the summary: the number of binary files, or an empty text if there are no binary files.
fn binary_files(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "; of one binary file, only the path was searched".to_owned(),
        _ => format!("; of {count} binary files, only the paths were searched"),
    }
}

/// Warns if no file is searched. It is easily overlooked that an option such as `--include '*.java'` selects no files
/// in subfolders.
fn check_files(files: usize, report: &Report) {
    if files == 0 {
        report.warn(&"WORKSPACE must have a file that `--include` and `--exclude` select, got none");
    }
}

/// Loads the rules and opens the workspace. Prints the warnings of the rules.
fn open(arguments: &CommonArguments, report: &Report) -> Result<(RuleSet, Workspace), Failure> {
    let (mut rules, warnings) = RuleSet::load(&arguments.rules).map_err(Failure::of)?;
    for warning in &warnings {
        let is_wanted =
            warning.rule.as_ref().is_none_or(|rule| arguments.rule.is_empty() || arguments.rule.contains(rule));
        if is_wanted {
            report.warn(warning);
        }
    }
    rules.check_not_empty().map_err(Failure::of)?;
    if !arguments.rule.is_empty() {
        for id in &arguments.rule {
            if !rules.rules().any(|rule| rule.id() == id) {
                return Err(Failure::Message(format!("the rule {id} must be in the rule set, and must be usable")));
            }
        }
        rules = rules.select(|rule| arguments.rule.iter().any(|id| id == rule.id()));
    }
    let exclude: Vec<String> = if arguments.exclude.is_empty() {
        DEFAULT_EXCLUDE.iter().map(|pattern| (*pattern).to_owned()).collect()
    } else {
        arguments.exclude.clone()
    };
    let workspace = Workspace::open(&arguments.workspace, &arguments.include, &exclude).map_err(Failure::of)?;
    Ok((rules, workspace))
}
