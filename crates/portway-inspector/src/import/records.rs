//! Reads records of a tap: lines with one JSON object each, or an exported array.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use portway_proto::codec::json::members;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{Format, Imported, add_problem, lines};
use crate::record::{Direction, Record, RecordKind};

pub(super) fn read(text: &str) -> Imported {
    let (mut records, mut problems) = (String::with_capacity(text.len()), Vec::new());
    for (number, line) in lines(text) {
        match check(line) {
            Ok(()) => {
                // The line passes as it is, so that an export of the imported records is the same file.
                records.push_str(line);
                records.push('\n');
            }
            Err(reason) => add_problem(&mut problems, number, &reason),
        }
    }
    Imported { format: Format::Records, lines: records, problems, notes: Vec::new() }
}

/// Checks whether a line is a record. Returns the reason if it is not.
pub(super) fn check(line: &str) -> Result<(), String> {
    let names = ["kind", "at", "link", "direction", "text", "base64"];
    let Some([kind, at, link, direction, text, base64]) = members(line.as_bytes(), names) else {
        return Err("the line is not a JSON object".to_owned());
    };
    let kind: RecordKind = parsed(kind).ok_or("kind must be open, message, invalid, gap or close")?;
    let link: String = parsed(link).ok_or("link must be a string of 1 to 200 characters")?;
    let is_string = |value: Option<&RawValue>| value.is_some_and(|value| value.get().starts_with('"'));
    let record = Record {
        direction: parsed::<Direction>(direction),
        // The text may have a lone surrogate, so it is not decoded.
        text: Some("").filter(|_| is_string(text)),
        ..Record::new(kind, parsed(at).ok_or("at must be a non-negative integer")?, &link)
    };
    if kind == RecordKind::Invalid && !is_string(text) && !is_string(base64) {
        return Err("an invalid message must have text or base64".to_owned());
    }
    record.fault().map_or(Ok(()), |fault| Err(fault.to_owned()))
}

fn parsed<T: DeserializeOwned>(value: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(value?.get()).ok()
}
