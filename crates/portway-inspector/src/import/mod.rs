//! Reads files of recorded messages, and converts them to records, as lines of JSON.
//!
//! The texts of messages are copied as JSON strings, without decoding them, so that no character changes.

mod har;
mod lsp_devtools;
mod records;
mod time;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::limits::MAX_IMPORT_PROBLEMS;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Records of a tap.
    Records,
    /// A HAR (HTTP Archive) with the WebSocket messages that Chromium adds.
    Har,
    /// Lines of `lsp-devtools record --to-file`.
    LspDevtools,
    /// None of these formats.
    Unknown,
}

/// A line or an entry that is not a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The number of the line in the file, from 1 on. In a HAR, the number of the entry.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

/// The result of reading a file.
#[derive(Clone, Debug, Serialize)]
pub struct Imported {
    /// The format.
    pub format: Format,
    /// The records, one JSON object per line.
    pub lines: String,
    /// The lines that are not records: at most [`MAX_IMPORT_PROBLEMS`]. If the format is unknown, only the first line.
    pub problems: Vec<Problem>,
    /// Facts about the whole file.
    pub notes: Vec<String>,
}

/// Reads a file of any known format.
#[must_use]
pub fn import(text: &str) -> Imported {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(imported) = har::read(text) {
        return imported;
    }
    // The first line that belongs to a format determines the format of the file.
    let format = lines(text).find_map(|(_, line)| {
        if records::check(line).is_ok() {
            Some(Format::Records)
        } else if lsp_devtools::message(line).is_some() {
            Some(Format::LspDevtools)
        } else {
            None
        }
    });
    match format {
        Some(Format::LspDevtools) => lsp_devtools::read(text),
        Some(_) => records::read(text),
        None => Imported {
            format: Format::Unknown,
            lines: String::new(),
            problems: lines(text).take(1).map(|(line, text)| problem(line, &reason(text))).collect(),
            notes: Vec::new(),
        },
    }
}

/// Iterates over the lines with content, and their numbers. A file with an exported JSON array has one record per line.
/// The brackets of the array and the commas after its records are skipped.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = (1..).zip(text.lines());
    let content = numbered.map(|(number, line)| {
        let line = line.trim();
        let is_object = line.starts_with('{') && line.ends_with("},");
        (number, if is_object { line.strip_suffix(',').unwrap_or(line) } else { line })
    });
    content.filter(|(_, line)| !matches!(*line, "" | "[" | "]"))
}

fn reason(line: &str) -> String {
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(line).is_ok();
    if is_json { "the line is not a record of a known format".to_owned() } else { "the line is not JSON".to_owned() }
}

fn problem(line: usize, reason: &str) -> Problem {
    Problem { line, reason: reason.to_owned() }
}

/// Adds a problem, unless there are already [`MAX_IMPORT_PROBLEMS`] problems.
fn add_problem(problems: &mut Vec<Problem>, line: usize, reason: &str) {
    if problems.len() < MAX_IMPORT_PROBLEMS {
        problems.push(problem(line, reason));
    }
}

/// Returns the beginning of a record: its kind, its time, and its link as JSON.
fn head(kind: &str, at: u64, link: &str) -> String {
    format!("{{\"kind\":\"{kind}\",\"at\":{at},\"link\":{link}")
}

/// Returns a string as JSON.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}
