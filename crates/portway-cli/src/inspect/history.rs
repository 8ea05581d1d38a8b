//! The records that the pages of the inspector read. Their size is bounded: the oldest records are dropped, and counted
//! for each page that has not read them.

mod reader;
mod record;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;

use self::record::Members;
use crate::limits::MAX_PROGRAM_LINKS;

/// The memory of a record in addition to its line, in bytes.
const RECORD_BYTES: usize = 64;

/// The memory of a link in addition to its id and its records `open`, in bytes.
const LINK_BYTES: usize = 256;

/// The memory of a record `open` of a link in addition to its line, in bytes.
const OPEN_BYTES: usize = 64;

/// The memory of the links is at most the `max_bytes` of the history, divided by this number. A record is refused if
/// the links would use more memory with this record.
const LINKS_PART: usize = 2;

/// The newest records, and the links to which they belong.
#[derive(Debug)]
pub(crate) struct History {
    state: Mutex<State>,
    max_bytes: usize,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    records: VecDeque<Record>,
    /// The number of records that were dropped from the front of `records`.
    dropped: u64,
    /// The memory of `records`.
    bytes: usize,
    /// The memory of `links`.
    link_bytes: usize,
    /// The links that are open, or that have a record in `records`.
    links: HashMap<Arc<str>, Link>,
    /// The number of links that were ever added to `links`.
    opened: u64,
    /// The dropped messages of links that are not in `links` anymore.
    forgotten: Counts,
    /// The last link whose messages were added to `forgotten`.
    forgotten_link: Option<Arc<str>>,
    has_ended: bool,
}

#[derive(Debug)]
struct Record {
    line: Bytes,
    link: Arc<str>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Open,
    Messages(Direction, Count),
    Close,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Sent,
    Received,
}

#[derive(Debug)]
struct Link {
    /// The records `open` that are in the history, and the last one that was dropped. A link that reconnects has
    /// several records `open`.
    opens: VecDeque<Opened>,
    /// The position of the link in the order of all links.
    number: u64,
    /// The position of the last record of the link.
    last: u64,
    /// The messages that were dropped.
    dropped: Counts,
}

#[derive(Debug)]
struct Opened {
    line: Bytes,
    /// The position of this record: the number of all records before it, including dropped ones.
    position: u64,
}

/// The numbers of messages, by direction.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sent: Count,
    received: Count,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    messages: u64,
    bytes: u64,
}

impl Counts {
    const fn add(&mut self, direction: Direction, more: Count) {
        let count = match direction {
            Direction::Sent => &mut self.sent,
            Direction::Received => &mut self.received,
        };
        count.messages = count.messages.saturating_add(more.messages);
        count.bytes = count.bytes.saturating_add(more.bytes);
    }

    const fn merge(&mut self, other: Self) {
        self.add(Direction::Sent, other.sent);
        self.add(Direction::Received, other.received);
    }
}

impl History {
    /// Creates a history that has at most `max_bytes` of records.
    pub(crate) fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), max_bytes, changed: watch::Sender::new(()) })
    }

    /// Returns a writer for the lines of a tap of this process.
    pub(crate) fn writer(self: &Arc<Self>) -> Lines {
        Lines { history: Arc::clone(self), rest: Vec::new(), open: None, refused: 0 }
    }

    /// Returns a writer for the lines of another program. The number of open links of the program is bounded.
    pub(super) fn program_writer(self: &Arc<Self>) -> Lines {
        Lines { open: Some(HashSet::new()), ..self.writer() }
    }

    /// Ends the history. Each reader ends after the last record.
    pub(crate) fn end(&self) {
        self.lock().has_ended = true;
        self.changed.send_replace(());
    }

    /// Appends a record: a JSON object and a line feed. Returns the link of the record. If the links would use too much
    /// memory, ignores the record and returns `None`.
    fn push(&self, line: Vec<u8>, link: Arc<str>, kind: Kind) -> Option<Arc<str>> {
        // A vector may have more capacity than its line needs.
        let line = Bytes::from(line.into_boxed_slice());
        let mut state = self.lock();
        let known = state.links.get_key_value(&link).map(|(known, _)| Arc::clone(known));
        let new_link = if known.is_some() { 0 } else { LINK_BYTES + link.len() };
        let new_open = if matches!(kind, Kind::Open) { OPEN_BYTES + line.len() } else { 0 };
        if new_link + new_open > 0 && state.link_bytes + new_link + new_open > self.max_bytes / LINKS_PART {
            return None;
        }
        state.link_bytes += new_link + new_open;
        let link = known.unwrap_or_else(|| {
            state.opened += 1;
            let number = state.opened;
            let new = Link { opens: VecDeque::new(), number, last: 0, dropped: Counts::default() };
            state.links.insert(Arc::clone(&link), new);
            link
        });
        let position = state.dropped + state.records.len() as u64;
        if let Some(entry) = state.links.get_mut(&link) {
            entry.last = position;
            if matches!(kind, Kind::Open) {
                entry.opens.push_back(Opened { line: line.clone(), position });
            }
        }
        state.bytes += RECORD_BYTES + line.len();
        state.records.push_back(Record { line, link: Arc::clone(&link), kind });
        while state.bytes + state.link_bytes > self.max_bytes && state.drop_oldest() {}
        Some(link)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn drop_oldest(&mut self) -> bool {
        let Some(Record { line, link, kind }) = self.records.pop_front() else { return false };
        let position = self.dropped;
        self.dropped += 1;
        self.bytes -= RECORD_BYTES + line.len();
        if let Kind::Messages(direction, count) = kind {
            if let Some(link) = self.links.get_mut(&link) {
                link.dropped.add(direction, count);
            } else {
                // This record came after the record `close`, with which the link was removed.
                self.forgotten.add(direction, count);
                self.forgotten_link = Some(Arc::clone(&link));
            }
        }
        let Some(entry) = self.links.get_mut(&link) else { return true };
        let has_ended = match kind {
            Kind::Open | Kind::Close => {
                self.link_bytes -= entry.drop_opens_before(position);
                // A link that was opened again after its `close` remains.
                matches!(kind, Kind::Close) && entry.opens.is_empty()
            }
            // A link without a record `open` is removed with its last record.
            Kind::Messages(..) | Kind::Other => entry.opens.is_empty() && entry.last == position,
        };
        if has_ended && let Some(removed) = self.links.remove(&link) {
            self.link_bytes -= LINK_BYTES + link.len();
            self.forgotten.merge(removed.dropped);
            self.forgotten_link = Some(link);
        }
        true
    }
}

impl Link {
    /// Drops the records `open` whose position is less than `position`. Returns the memory of the dropped records.
    fn drop_opens_before(&mut self, position: u64) -> usize {
        let mut bytes = 0;
        while let Some(open) = self.opens.front().filter(|open| open.position < position) {
            bytes += OPEN_BYTES + open.line.len();
            self.opens.pop_front();
        }
        bytes
    }
}

/// A writer whose lines are records.
#[derive(Debug)]
pub(crate) struct Lines {
    history: Arc<History>,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    /// The open links of another program: the last record of each is not a `close`. `None` for a tap of this process.
    open: Option<HashSet<Arc<str>>>,
    /// The number of lines that were refused.
    refused: u64,
}

impl Lines {
    /// Returns the size of the incomplete line.
    pub(super) const fn unfinished_bytes(&self) -> usize {
        self.rest.len()
    }

    /// Returns the number of lines that were ignored, because they are not records or exceed a limit.
    pub(super) const fn refused(&self) -> u64 {
        self.refused
    }

    /// Writes a record `close` for each open link.
    pub(super) fn close_links(&mut self, reason: &str) {
        let at = now();
        for link in self.open.as_mut().map(mem::take).into_iter().flatten() {
            let mut line = Vec::new();
            write(&mut line, &json!({ "kind": "close", "at": at, "link": *link, "reason": reason }));
            self.history.push(line, link, Kind::Close);
        }
        self.history.changed.send_replace(());
    }

    fn end_line(&mut self) {
        let line = mem::take(&mut self.rest);
        if self.write_record(line).is_none() {
            self.refused += 1;
        }
    }

    /// Returns `None` if the line is refused.
    fn write_record(&mut self, line: Vec<u8>) -> Option<()> {
        let (members, kind) = Members::parse(&line)?;
        let link = Arc::<str>::from(&*members.link);
        let is_close = matches!(kind, Kind::Close);
        if let Some(open) = &self.open
            && !is_close
            && open.len() >= MAX_PROGRAM_LINKS
            && !open.contains(&link)
        {
            return None;
        }
        let link = self.history.push(line, link, kind)?;
        if let Some(open) = &mut self.open {
            if is_close {
                open.remove(&link);
            } else {
                open.insert(link);
            }
        }
        Some(())
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut has_line = false;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line();
                has_line = true;
            }
        }
        if has_line {
            self.history.changed.send_replace(());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(lines: &mut Vec<u8>, record: &serde_json::Value) {
    lines.extend_from_slice(record.to_string().as_bytes());
    lines.push(b'\n');
}

/// Returns the microseconds since 1970-01-01 UTC.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a failed test is a panic")]
mod tests;
