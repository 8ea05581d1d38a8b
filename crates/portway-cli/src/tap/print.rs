//! `--print`: one line for each message.

use std::collections::HashMap;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use portway::stdio;
use portway::tap::{Content, Direction, Record, RecordKind};
use portway_cli_support::escape::escape_control;

use super::arguments::{PrintedKind, TapArguments};
use super::glob;
use super::message::{ErrorMembers, Kind, Members, batch};
use crate::limits::{MAX_TAP_PENDING, MAX_TAP_PRINTED_BATCH};

/// Width of a line if standard error is not a terminal, or is narrower than 20 columns.
const WIDTH: usize = 160;

/// Maximum number of characters of an id.
const MAX_ID_CHARACTERS: usize = 24;

/// Maximum number of characters of a method.
const MAX_METHOD_CHARACTERS: usize = 80;

// Colours of terminals (ECMA-48 §8.3.117).
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "";

/// Prints records on standard error.
pub(super) struct Printer {
    direction: Option<Direction>,
    only: Vec<PrintedKind>,
    methods: Vec<String>,
    has_colours: bool,
    width: usize,
    /// Whether lines have the number of their connection.
    has_numbers: bool,
    /// The time of the first record.
    start: Option<u64>,
    /// The numbers of the open links.
    links: HashMap<Arc<str>, u64>,
    link_count: u64,
    /// The requests without a response: their times and methods.
    pending: HashMap<Call, (u64, String)>,
}

/// A request, by its link, its direction and the text of its id.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Call(u64, Direction, String);

/// A part of a line, with its colour.
type Part = (&'static str, String);

impl Printer {
    pub(super) fn new(arguments: &TapArguments) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let width = if is_terminal {
            rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col))
        } else {
            0
        };
        Self {
            direction: arguments.direction.map(Direction::from),
            only: arguments.only.clone(),
            methods: arguments.methods.clone(),
            has_colours: is_terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            width: if width < 20 { WIDTH } else { width },
            has_numbers: arguments.listen.is_some(),
            start: None,
            links: HashMap::new(),
            link_count: 0,
            pending: HashMap::new(),
        }
    }

    pub(super) fn print(&mut self, record: &Record) {
        let mut lines = String::new();
        self.show(record, &mut lines);
        // A closed standard error is ignored.
        let _ = stdio::stderr().write_all(lines.as_bytes());
    }

    /// Appends the lines of a record.
    fn show(&mut self, record: &Record, lines: &mut String) {
        let start = *self.start.get_or_insert(record.at);
        let seconds = record.at.saturating_sub(start) as f64 / 1e6;
        let link = match (&record.kind, self.links.get(&record.link)) {
            (RecordKind::Open { .. }, _) | (_, None) => {
                self.link_count += 1;
                self.links.insert(Arc::clone(&record.link), self.link_count);
                self.link_count
            }
            (_, Some(number)) => *number,
        };
        let number = if self.has_numbers { format!(" [{link}]") } else { String::new() };
        let head = (DIM, format!("{seconds:>9.3}{number} "));
        match &record.kind {
            RecordKind::Open { name, .. } => {
                self.line(lines, vec![head, (DIM, "  open ".into()), (DIM, escape_control(name))])
            }
            RecordKind::Close { reason, .. } => {
                self.links.remove(&record.link);
                self.pending.retain(|call, _| call.0 != link);
                self.line(lines, vec![head, (DIM, "  close ".into()), (DIM, escape_control(reason))]);
            }
            RecordKind::Gap { direction, messages, bytes } => {
                let text = format!("{messages} messages ({bytes} bytes) were left out");
                self.line(lines, vec![head, arrow(*direction), (YELLOW, text)]);
            }
            RecordKind::Invalid { direction, content, size, reason, .. }
                if self.is_printed(*direction, Kind::Invalid, None) =>
            {
                let preview = match content {
                    Content::Text(text) => self.preview(text),
                    Content::Bytes(bytes) => self.preview(&String::from_utf8_lossy(bytes)),
                };
                let summary = format!("invalid       {size} bytes, {reason}: ");
                self.line(lines, vec![head, arrow(*direction), (YELLOW, summary), (DIM, preview)]);
            }
            RecordKind::Message { direction, text, .. } => {
                let context = Context { at: record.at, link, direction: *direction, head };
                if text.trim_start().starts_with('[') {
                    let messages = batch(text);
                    let count = messages.len();
                    for message in messages.into_iter().take(MAX_TAP_PRINTED_BATCH) {
                        self.message(lines, &context, message, &format!("batch of {count}: "));
                    }
                    if count > MAX_TAP_PRINTED_BATCH {
                        let rest =
                            format!("batch of {count}: {} messages were left out", count - MAX_TAP_PRINTED_BATCH);
                        self.line(lines, vec![context.head, arrow(*direction), (YELLOW, rest)]);
                    }
                } else {
                    self.message(lines, &context, text, "");
                }
            }
            _ => {}
        }
    }

    fn message(&mut self, lines: &mut String, context: &Context, text: &str, batch: &str) {
        let members = Members::read(text);
        let kind = members.kind();
        let id = members.id.unwrap_or_default();
        let (mut method, mut elapsed) = (members.method.clone(), None);
        match kind {
            Kind::Request if self.pending.len() < MAX_TAP_PENDING => {
                let call = Call(context.link, context.direction, id.to_owned());
                self.pending.insert(call, (context.at, method.clone().unwrap_or_default()));
            }
            Kind::Result | Kind::Error => {
                let request_direction = match context.direction {
                    Direction::Sent => Direction::Received,
                    Direction::Received => Direction::Sent,
                };
                let call = Call(context.link, request_direction, id.to_owned());
                if let Some((at, request_method)) = self.pending.remove(&call) {
                    method = Some(request_method);
                    elapsed = Some(context.at.saturating_sub(at));
                }
            }
            _ => {}
        }
        if !self.is_printed(context.direction, kind, method.as_deref()) {
            return;
        }
        let (colour, name) = match kind {
            Kind::Request => (PLAIN, "request      "),
            Kind::Notification => (PLAIN, "notification "),
            Kind::Result => (GREEN, "result       "),
            Kind::Error => (RED, "error        "),
            Kind::Invalid => (YELLOW, "invalid      "),
        };
        let mut parts = vec![context.head.clone(), arrow(context.direction), (colour, format!("{name} {batch}"))];
        if let Some(method) = &method {
            parts.push((PLAIN, cut(&escape_control(method), MAX_METHOD_CHARACTERS)));
        }
        if members.id.is_some() {
            parts.push((CYAN, format!(" #{}", cut(&escape_control(id), MAX_ID_CHARACTERS))));
        }
        if let Some(elapsed) = elapsed {
            parts.push((PLAIN, format!(" {:.1} ms", elapsed as f64 / 1e3)));
        }
        match (kind, members.value) {
            (Kind::Error, Some(error)) => {
                let ErrorMembers { code, message } = serde_json::from_str(error).unwrap_or_default();
                let code = code.map(|code| format!(" {code}")).unwrap_or_default();
                parts.push((RED, format!("{code} {}", self.preview(&message.unwrap_or_default()))));
            }
            (Kind::Invalid, _) => parts.push((DIM, format!("not JSON-RPC: {}", self.preview(text)))),
            (_, Some(value)) => parts.push((DIM, format!(" {}", self.preview(value)))),
            (_, None) => {}
        }
        self.line(lines, parts);
    }

    fn is_printed(&self, direction: Direction, kind: Kind, method: Option<&str>) -> bool {
        let is_kind = |only: &PrintedKind| match only {
            PrintedKind::Requests => kind == Kind::Request,
            PrintedKind::Responses => matches!(kind, Kind::Result | Kind::Error),
            PrintedKind::Notifications => kind == Kind::Notification,
            PrintedKind::Errors => kind == Kind::Error,
            PrintedKind::Invalid => kind == Kind::Invalid,
        };
        self.direction.is_none_or(|wanted| wanted == direction)
            && (self.only.is_empty() || self.only.iter().any(is_kind))
            && (self.methods.is_empty()
                || method.is_some_and(|method| self.methods.iter().any(|pattern| glob::fits(pattern, method))))
    }

    /// Returns the beginning of a text, with control characters escaped. The rest of the text has no room on a line.
    fn preview(&self, text: &str) -> String {
        let end = text.char_indices().nth(self.width + 1).map_or(text.len(), |(end, _)| end);
        escape_control(text.get(..end).unwrap_or(text))
    }

    /// Appends a line that is at most `width` characters long.
    fn line(&self, lines: &mut String, parts: Vec<Part>) {
        let mut room = self.width;
        for (colour, text) in parts {
            // A tab has an unknown width.
            let text = cut(&text.replace('\t', " "), room);
            room -= text.chars().count();
            if text.is_empty() {
                continue;
            }
            if self.has_colours && !colour.is_empty() {
                lines.extend([colour, text.as_str(), "\x1b[0m"]);
            } else {
                lines.push_str(&text);
            }
        }
        lines.push('\n');
    }
}

/// The record of a message: its time, link and direction, and the beginning of its lines.
struct Context {
    at: u64,
    link: u64,
    direction: Direction,
    head: Part,
}

fn arrow(direction: Direction) -> Part {
    match direction {
        Direction::Sent => (CYAN, "→ ".into()),
        Direction::Received => (GREEN, "← ".into()),
    }
}

/// Returns at most `max` characters of a text. If the text is longer, the last of these characters is `…`.
fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let mut beginning: String = text.chars().take(max.saturating_sub(1)).collect();
    if max > 0 {
        beginning.push('…');
    }
    beginning
}
