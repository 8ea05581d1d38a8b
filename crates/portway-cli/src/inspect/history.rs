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

/// The memory of a record in addition to its line, in bytes.
const RECORD_BYTES: usize = 64;

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
    bytes: usize,
    /// The links that are open, or whose record `close` is in `records`.
    links: HashMap<Arc<str>, Link>,
    opened: u64,
    /// The dropped messages of all other links.
    forgotten: Counts,
    /// The last of these links.
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
    /// several.
    opens: VecDeque<Opened>,
    /// The position of the link in the order of all links.
    number: u64,
    /// The messages that were dropped.
    dropped: Counts,
}

#[derive(Debug)]
struct Opened {
    line: Bytes,
    /// The number of records before this record.
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
        count.messages += more.messages;
        count.bytes += more.bytes;
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

    /// Returns a writer for the lines of a tap.
    pub(crate) fn writer(self: &Arc<Self>) -> Lines {
        Lines { history: Arc::clone(self), rest: Vec::new(), open: HashSet::new(), rejected: 0 }
    }

    /// Ends the history. Each reader ends after the last record.
    pub(crate) fn end(&self) {
        self.lock().has_ended = true;
        self.changed.send_replace(());
    }

    /// Appends a record: a JSON object and a line feed. Returns its link and its kind, or `None` if the line is not a
    /// record. Such a line is ignored.
    fn push(&self, line: Vec<u8>) -> Option<(Arc<str>, Kind)> {
        let members = serde_json::from_slice::<Members<'_>>(&line).ok()?;
        let (kind, link) = (members.kind(), Arc::<str>::from(&*members.link));
        let line = Bytes::from(line);
        let mut state = self.lock();
        let known = state.links.get_key_value(&link).map(|(known, _)| Arc::clone(known));
        let link = known.unwrap_or_else(|| {
            state.opened += 1;
            let number = state.opened;
            let new = Link { opens: VecDeque::new(), number, dropped: Counts::default() };
            state.links.insert(Arc::clone(&link), new);
            link
        });
        let position = state.dropped + state.records.len() as u64;
        if matches!(kind, Kind::Open)
            && let Some(entry) = state.links.get_mut(&link)
        {
            entry.opens.push_back(Opened { line: line.clone(), position });
        }
        state.bytes += RECORD_BYTES + line.len();
        state.records.push_back(Record { line, link: Arc::clone(&link), kind });
        while state.bytes > self.max_bytes && state.drop_oldest() {}
        Some((link, kind))
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
        match kind {
            Kind::Messages(direction, count) => {
                if let Some(link) = self.links.get_mut(&link) {
                    link.dropped.add(direction, count);
                } else {
                    // A record after the `close` of its link.
                    self.forgotten.add(direction, count);
                    self.forgotten_link = Some(link);
                }
            }
            Kind::Close => {
                // A link that was opened again after this record remains.
                let is_open = self.links.get_mut(&link).is_some_and(|link| link.drop_opens_before(position));
                if !is_open && let Some(removed) = self.links.remove(&link) {
                    self.forgotten.merge(removed.dropped);
                    self.forgotten_link = Some(link);
                }
            }
            Kind::Open => {
                if let Some(link) = self.links.get_mut(&link) {
                    link.drop_opens_before(position);
                }
            }
            Kind::Other => {}
        }
        true
    }
}

impl Link {
    /// Drops the records `open` before a record of the link. Returns whether a record `open` remains.
    fn drop_opens_before(&mut self, position: u64) -> bool {
        while self.opens.front().is_some_and(|open| open.position < position) {
            self.opens.pop_front();
        }
        !self.opens.is_empty()
    }
}

/// A writer whose lines are records.
#[derive(Debug)]
pub(crate) struct Lines {
    history: Arc<History>,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    /// The links whose record `open` was written, and whose `close` was not.
    open: HashSet<Arc<str>>,
    /// The number of lines that are not records.
    rejected: u64,
}

impl Lines {
    /// Returns the size of the incomplete line.
    pub(super) const fn unfinished_bytes(&self) -> usize {
        self.rest.len()
    }

    /// Returns the number of lines that were ignored, because they are not records.
    pub(super) const fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Writes a record `close` for each open link.
    pub(super) fn close_links(&mut self, reason: &str) {
        let at = now();
        for link in mem::take(&mut self.open) {
            let mut line = Vec::new();
            write(&mut line, &json!({ "kind": "close", "at": at, "link": *link, "reason": reason }));
            self.history.push(line);
        }
        self.history.changed.send_replace(());
    }

    fn end_line(&mut self) {
        let line = mem::take(&mut self.rest);
        match self.history.push(line) {
            Some((link, Kind::Open)) => {
                self.open.insert(link);
            }
            Some((link, Kind::Close)) => {
                self.open.remove(&link);
            }
            Some(_) => {}
            None => self.rejected += 1,
        }
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
