//! The records that the pages of the inspector read. Their size is bounded: the oldest records are dropped, and counted
//! for each page that has not read them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;

/// The size after which a reader returns the lines that it has collected.
const CHUNK_BYTES: usize = 64 * 1024;

/// The memory of a record in addition to its line, in bytes.
const RECORD_BYTES: usize = 64;

/// The number of links after which a reader releases the counts of links that the history no longer has.
const PRUNED_LINKS: usize = 512;

/// The line after the last record. WebKit cannot distinguish the end of a response from a lost connection.
const END: &[u8] = b"{\"kind\":\"end\"}\n";

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
    /// The record `open`. It is empty if the link has none.
    open: Bytes,
    /// The position of the link in the order of all links.
    number: u64,
    /// The number of records before the record `open`.
    opened_at: u64,
    /// The messages that were dropped.
    dropped: Counts,
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

/// The members of a record that decide how the record is counted.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    link: Cow<'a, str>,
    direction: Option<Direction>,
    size: Option<u64>,
    messages: Option<u64>,
    bytes: Option<u64>,
}

impl Members<'_> {
    fn kind(&self) -> Kind {
        let count = match &*self.kind {
            "open" => return Kind::Open,
            "close" => return Kind::Close,
            "gap" => Count { messages: self.messages.unwrap_or(0), bytes: self.bytes.unwrap_or(0) },
            _ => Count { messages: 1, bytes: self.size.unwrap_or(0) },
        };
        self.direction.map_or(Kind::Other, |direction| Kind::Messages(direction, count))
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

    /// Returns a reader, which first reads the records that the history has.
    pub(crate) fn reader(self: &Arc<Self>) -> Reader {
        let (links, forgotten) = (HashMap::new(), Counts::default());
        let (history, changed) = (Arc::clone(self), self.changed.subscribe());
        Reader { history, changed, stage: Stage::Begin, next: 0, links, forgotten }
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
            let new = Link { open: Bytes::new(), number, opened_at: 0, dropped: Counts::default() };
            state.links.insert(Arc::clone(&link), new);
            link
        });
        let position = state.dropped + state.records.len() as u64;
        if matches!(kind, Kind::Open)
            && let Some(entry) = state.links.get_mut(&link)
        {
            (entry.open, entry.opened_at) = (line.clone(), position);
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
                if let Some(removed) = self.links.remove(&link) {
                    self.forgotten.merge(removed.dropped);
                    self.forgotten_link = Some(link);
                }
            }
            Kind::Open | Kind::Other => {}
        }
        true
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

/// Reads the records for one page.
#[derive(Debug)]
pub(crate) struct Reader {
    history: Arc<History>,
    changed: watch::Receiver<()>,
    stage: Stage,
    /// The number of records that were read or dropped.
    next: u64,
    /// The links of which the reader has read a record.
    links: HashMap<Arc<str>, Seen>,
    /// The messages of links that the history no longer has, which were read or reported as dropped.
    forgotten: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begin,
    Records,
    End,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The messages that were read or reported as dropped.
    counts: Counts,
    is_closed: bool,
}

impl Reader {
    /// Waits for records. Returns complete lines: first an empty line, and [`END`] after the last record. Then returns
    /// `None`.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        match self.stage {
            Stage::Begin => {
                self.stage = Stage::Records;
                // Firefox delivers a response only when its first byte has arrived.
                return Some(Bytes::from_static(b"\n"));
            }
            Stage::Records => {}
            Stage::End => return None,
        }
        loop {
            self.changed.borrow_and_update();
            // No record follows a record that was pushed before the end.
            let has_ended = self.history.lock().has_ended;
            let lines = self.read();
            if !lines.is_empty() {
                return Some(lines.into());
            }
            if has_ended || self.changed.changed().await.is_err() {
                self.stage = Stage::End;
                return Some(Bytes::from_static(END));
            }
        }
    }

    /// Returns the next lines. Returns an empty vector if no record follows.
    fn read(&mut self) -> Vec<u8> {
        let history = Arc::clone(&self.history);
        let state = history.lock();
        let mut lines = Vec::new();
        if self.next < state.dropped {
            self.next = state.dropped;
            self.describe_loss(&state, &mut lines);
        }
        let skipped = usize::try_from(self.next - state.dropped).unwrap_or(usize::MAX);
        for record in state.records.iter().skip(skipped) {
            if lines.len() >= CHUNK_BYTES {
                break;
            }
            self.next += 1;
            lines.extend_from_slice(&record.line);
            let seen = self.links.entry(Arc::clone(&record.link)).or_default();
            match record.kind {
                Kind::Messages(direction, count) => seen.counts.add(direction, count),
                Kind::Close => seen.is_closed = true,
                Kind::Open => seen.is_closed = false,
                Kind::Other => {}
            }
        }
        if self.links.len() > PRUNED_LINKS {
            self.forget(&state);
        }
        lines
    }

    /// Writes the records that replace the dropped ones: `open` of links that the reader does not know, `gap` for
    /// messages, and `close` of links whose end was dropped.
    fn describe_loss(&mut self, state: &State, lines: &mut Vec<u8>) {
        let at = now();
        for link in self.forget(state) {
            let reason = "the link has closed; the record of its end was dropped";
            write(lines, &json!({ "kind": "close", "at": at, "link": *link, "reason": reason }));
        }
        if let Some(link) = &state.forgotten_link {
            write_gaps(lines, at, link, &mut self.forgotten, state.forgotten);
        }
        let mut links: Vec<_> = state.links.iter().collect();
        links.sort_by_key(|(_, link)| link.number);
        for (id, link) in links {
            // The record `open` of a new link may still follow.
            if !self.links.contains_key(id) && link.opened_at < state.dropped {
                lines.extend_from_slice(&link.open);
            }
            let seen = self.links.entry(Arc::clone(id)).or_default();
            write_gaps(lines, at, id, &mut seen.counts, link.dropped);
        }
    }

    /// Removes the links that the history no longer has. Returns those whose end the reader has not read.
    fn forget(&mut self, state: &State) -> Vec<Arc<str>> {
        let mut unclosed = Vec::new();
        let forgotten = &mut self.forgotten;
        self.links.retain(|id, seen| {
            let is_known = state.links.contains_key(id);
            if !is_known {
                forgotten.merge(seen.counts);
                if !seen.is_closed {
                    unclosed.push(Arc::clone(id));
                }
            }
            is_known
        });
        unclosed
    }
}

/// Writes a `gap` for each direction in which `dropped` exceeds `seen`, and increases `seen` to `dropped`.
fn write_gaps(lines: &mut Vec<u8>, at: u64, link: &str, seen: &mut Counts, dropped: Counts) {
    for (direction, seen, dropped) in
        [("sent", &mut seen.sent, dropped.sent), ("received", &mut seen.received, dropped.received)]
    {
        let messages = dropped.messages.saturating_sub(seen.messages);
        let bytes = dropped.bytes.saturating_sub(seen.bytes);
        if messages > 0 {
            *seen = dropped;
            write(
                lines,
                &json!({
                    "kind": "gap",
                    "at": at,
                    "link": link,
                    "direction": direction,
                    "messages": messages,
                    "bytes": bytes,
                }),
            );
        }
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
