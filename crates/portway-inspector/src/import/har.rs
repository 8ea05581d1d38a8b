//! Reads HAR files. Chromium adds the messages of a WebSocket to the HAR entry of that WebSocket, as
//! `_webSocketMessages`: complete messages with their times in seconds. The data of a binary message is base64.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::time::{iso_micros, seconds_to_micros};
use super::{Format, Imported, add_problem, head, quoted};

#[derive(Deserialize)]
struct Har<'t> {
    #[serde(borrow)]
    log: Log<'t>,
}

#[derive(Deserialize)]
struct Log<'t> {
    #[serde(borrow)]
    entries: Vec<&'t RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'t> {
    started_date_time: Option<String>,
    request: Option<Request>,
    #[serde(borrow, rename = "_webSocketMessages")]
    messages: Option<Vec<&'t RawValue>>,
}

#[derive(Deserialize)]
struct Request {
    url: String,
}

#[derive(Deserialize)]
struct Message<'t> {
    #[serde(rename = "type")]
    kind: String,
    time: f64,
    opcode: i64,
    #[serde(borrow)]
    data: &'t RawValue,
}

/// The operation codes of RFC 6455 §5.2.
const TEXT: i64 = 1;
const BINARY: i64 = 2;

/// Reads a HAR. Returns `None` if the text is not a HAR.
pub(super) fn read(text: &str) -> Option<Imported> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let har: Har<'_> = serde_json::from_str(text).ok()?;
    let mut imported = Imported { format: Format::Har, lines: String::new(), problems: Vec::new(), notes: Vec::new() };
    let mut connections = 0;
    for (number, entry) in (1..).zip(&har.log.entries) {
        match serde_json::from_str::<Entry<'_>>(entry.get()) {
            Ok(Entry { messages: None, .. }) => {}
            Ok(entry) => {
                connections += 1;
                add_entry(&mut imported, number, connections, &entry);
            }
            Err(_) => add_problem(&mut imported.problems, number, "the entry is not an entry of a HAR"),
        }
    }
    if connections == 0 {
        imported.notes.push("The file has no WebSocket messages. Chromium adds them to its HAR files.".into());
    }
    Some(imported)
}

fn add_entry(imported: &mut Imported, number: usize, connection: usize, entry: &Entry<'_>) {
    let link = quoted(&format!("har-{connection}"));
    let url = entry.request.as_ref().map_or("", |request| &request.url);
    let messages = entry.messages.as_deref().unwrap_or_default();
    let parsed: Vec<Option<Message<'_>>> =
        messages.iter().map(|message| serde_json::from_str(message.get()).ok()).collect();
    let first = parsed.iter().flatten().find_map(|message| seconds_to_micros(message.time));
    let opened = entry.started_date_time.as_deref().and_then(iso_micros).or(first).unwrap_or_default();
    let open = format!("{},\"name\":{},\"transport\":\"websocket\"}}\n", head("open", opened, &link), quoted(url));
    imported.lines.push_str(&open);
    for message in parsed {
        match message.and_then(|message| line(&message, &link)) {
            Some(line) => {
                imported.lines.push_str(&line);
                imported.lines.push('\n');
            }
            None => add_problem(&mut imported.problems, number, "an element of _webSocketMessages is not a message"),
        }
    }
}

/// Returns the record of a message, or `None` if a member of the message has an invalid value.
fn line(message: &Message<'_>, link: &str) -> Option<String> {
    let at = seconds_to_micros(message.time)?;
    let data = message.data.get();
    if !data.starts_with('"') {
        return None;
    }
    if message.kind == "error" {
        return Some(format!("{},\"reason\":{data}}}", head("close", at, link)));
    }
    let direction = match &*message.kind {
        "send" => "sent",
        "receive" => "received",
        _ => return None,
    };
    let size = size(data, message.opcode).map(|size| format!(",\"size\":{size}")).unwrap_or_default();
    let rest = match message.opcode {
        TEXT => format!("\"form\":\"text\",\"text\":{data}{size}"),
        BINARY => format!("\"base64\":{data}{size},\"reason\":\"The message is binary.\""),
        _ => return None,
    };
    let kind = if message.opcode == TEXT { "message" } else { "invalid" };
    Some(format!("{},\"direction\":\"{direction}\",{rest}}}", head(kind, at, link)))
}

/// Returns the size of a message in bytes. `data` is a JSON string. Returns `None` for a string with a lone surrogate,
/// which cannot be sent.
fn size(data: &str, opcode: i64) -> Option<usize> {
    let text: String = serde_json::from_str(data).ok()?;
    Some(match opcode {
        BINARY => text.trim_end_matches('=').len() * 3 / 4,
        _ => text.len(),
    })
}
