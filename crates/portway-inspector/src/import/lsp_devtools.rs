//! Reads lines of `lsp-devtools record --to-file`. By default, a line is only a JSON-RPC message, without its time and
//! its sender.
//!
//! With a format such as `{{"source":"{metadata[source]:message-source}","timestamp":"{metadata[timestamp]}",`
//! `"message":{message:jsonl}}}`, a line also has the sender and the time.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use portway_proto::codec::json::members;
use portway_proto::message::Id;
use serde_json::value::RawValue;

use super::time::{iso_micros, seconds_to_micros};
use super::{Format, Imported, add_problem, head, lines, quoted, reason};
use crate::classify::{Kind, classify};
use crate::links::matching;
use crate::record::Direction;

const LINK: &str = "\"lsp-devtools\"";

/// A line.
pub(super) struct Line<'t> {
    /// The text of the message.
    message: &'t str,
    /// The direction as the client sees it, if the line has the sender.
    direction: Option<Direction>,
    /// The time, if the line has it.
    at: Option<u64>,
}

/// Reads a line. Returns `None` if it has no JSON-RPC message.
pub(super) fn message(line: &str) -> Option<Line<'_>> {
    let [message, source, timestamp, version] =
        members(line.as_bytes(), ["message", "source", "timestamp", "jsonrpc"])?;
    if version.is_some() {
        return Some(Line { message: line, direction: None, at: None });
    }
    let message = message?.get();
    members(message.as_bytes(), ["jsonrpc"])?.first()?.as_ref()?;
    let source: Option<String> = source.and_then(|source| serde_json::from_str(source.get()).ok());
    let direction = source.and_then(|source| match source.to_ascii_lowercase().as_str() {
        "client" => Some(Direction::Sent),
        "server" => Some(Direction::Received),
        _ => None,
    });
    Some(Line { message, direction, at: timestamp.and_then(time) })
}

fn time(value: &RawValue) -> Option<u64> {
    match serde_json::from_str::<String>(value.get()) {
        Ok(text) => iso_micros(&text).or_else(|| seconds_to_micros(text.parse().ok()?)),
        Err(_) => seconds_to_micros(value.get().parse().ok()?),
    }
}

pub(super) fn read(text: &str) -> Imported {
    let mut imported = Imported {
        format: Format::LspDevtools,
        lines: format!("{},\"name\":\"lsp-devtools\",\"transport\":\"stdio\"}}\n", head("open", 0, LINK)),
        problems: Vec::new(),
        notes: Vec::new(),
    };
    let (mut has_no_time, mut has_no_direction) = (false, false);
    let mut directions = Directions::default();
    let mut records = Vec::new();
    for (at, (number, line)) in (0..).zip(lines(text)) {
        let Some(line) = message(line) else {
            add_problem(&mut imported.problems, number, &reason(line));
            continue;
        };
        has_no_time |= line.at.is_none();
        has_no_direction |= line.direction.is_none();
        let direction = directions.of(&line);
        // Without a time, the index of the line is the time, so that the records ascend.
        records.push((line.at.unwrap_or(at), direction, line.message));
    }
    if let Some((first, _, _)) = records.first() {
        imported.lines =
            format!("{},\"name\":\"lsp-devtools\",\"transport\":\"stdio\"}}\n", head("open", *first, LINK));
    }
    for (at, direction, message) in records {
        let direction = if direction == Direction::Sent { "sent" } else { "received" };
        let (text, size) = (quoted(message), message.len());
        let head = head("message", at, LINK);
        imported.lines.push_str(&format!(
            "{head},\"direction\":\"{direction}\",\"form\":\"text\",\"text\":{text},\"size\":{size}}}\n"
        ));
    }
    if has_no_time {
        imported.notes.push("The file has no times, so durations and ages are meaningless.".into());
    }
    if has_no_direction {
        let note = "The file has no senders. They follow from the methods, and from the requests of responses.";
        imported.notes.push(note.into());
    }
    imported
}

/// Infers the senders of messages.
#[derive(Default)]
struct Directions {
    /// The directions of the pending requests with an id, the oldest first.
    requests: BTreeMap<Id, VecDeque<Direction>>,
}

impl Directions {
    /// Returns the direction of a message, as the client sees it.
    fn of(&mut self, line: &Line<'_>) -> Direction {
        let classified = classify(line.message, false);
        let Some(message) = classified.messages.into_iter().next() else {
            return line.direction.unwrap_or(Direction::Sent);
        };
        let id = message.id.map(matching);
        if message.kind.is_response() {
            let request = id.and_then(|id| {
                let pending = self.requests.get_mut(&id)?;
                let wanted = line.direction.map(Direction::opposite);
                let index = wanted.map_or(Some(0), |wanted| pending.iter().position(|direction| *direction == wanted));
                pending.remove(index?)
            });
            return line.direction.unwrap_or_else(|| request.map_or(Direction::Received, Direction::opposite));
        }
        let is_of_server = message.method.as_deref().is_some_and(is_method_of_server);
        let inferred = if is_of_server { Direction::Received } else { Direction::Sent };
        let direction = line.direction.unwrap_or(inferred);
        if let Some(id) = id.filter(|_| message.kind == Kind::Request) {
            self.requests.entry(id).or_default().push_back(direction);
        }
        direction
    }
}

/// Returns whether servers send a message with this method (Language Server Protocol 3.17).
fn is_method_of_server(method: &str) -> bool {
    const METHODS: [&str; 7] = [
        "$/logTrace",
        "$/progress",
        "telemetry/event",
        "textDocument/publishDiagnostics",
        "workspace/applyEdit",
        "workspace/configuration",
        "workspace/workspaceFolders",
    ];
    METHODS.contains(&method)
        || (method.starts_with("window/") && method != "window/workDoneProgress/cancel")
        || method.starts_with("client/")
        || (method.starts_with("workspace/") && method.ends_with("/refresh"))
}
