//! Reads the records of a history for one page.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use hyper::body::Bytes;
use serde_json::json;
use tokio::sync::watch;

use super::{Counts, History, Kind, State, now, write};

/// The size after which a reader returns the lines that it has collected.
const CHUNK_BYTES: usize = 64 * 1024;

/// If a reader knows more links than this number, it forgets those that the history no longer has.
const PRUNED_LINKS: usize = 512;

/// The line after the last record. Without it, a page in WebKit could not distinguish the end from a lost connection.
const END: &[u8] = b"{\"kind\":\"end\"}\n";

impl History {
    /// Returns a reader, which first reads the records that the history has.
    pub(crate) fn reader(self: &Arc<Self>) -> Reader {
        let (links, forgotten) = (HashMap::new(), Counts::default());
        let (history, changed) = (Arc::clone(self), self.changed.subscribe());
        Reader { history, changed, stage: Stage::Begin, next: 0, links, forgotten }
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
    /// The read messages, and the messages reported as dropped, of links that the history no longer has.
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
    /// The number of the link in the history. An id can be used again after its link was removed.
    number: u64,
    /// The messages that were read or reported as dropped.
    counts: Counts,
    /// The position of the last record `open` that was read.
    opened_at: Option<u64>,
    is_open: bool,
}

impl Reader {
    /// Waits for records. Returns complete lines: first an empty line, and [`END`] after the last record. Then returns
    /// `None`.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        match self.stage {
            Stage::Begin => {
                self.stage = Stage::Records;
                // Firefox passes a response to the page only when the first byte of the body has arrived.
                return Some(Bytes::from_static(b"\n"));
            }
            Stage::Records => {}
            Stage::End => return None,
        }
        loop {
            self.changed.borrow_and_update();
            // `has_ended` is read before the records. So if the history has ended, `read` returns all remaining
            // records.
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
    pub(super) fn read(&mut self) -> Vec<u8> {
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
            let position = self.next;
            self.next += 1;
            lines.extend_from_slice(&record.line);
            let number = state.links.get(&record.link).map_or(0, |link| link.number);
            let seen = self.links.entry(Arc::clone(&record.link)).or_default();
            if seen.number != number {
                self.forgotten.merge(mem::take(&mut seen.counts));
                seen.number = number;
            }
            match record.kind {
                Kind::Messages(direction, count) => seen.counts.add(direction, count),
                Kind::Close => seen.is_open = false,
                Kind::Open => (seen.is_open, seen.opened_at) = (true, Some(position)),
                Kind::Other => {}
            }
        }
        if self.links.len() > PRUNED_LINKS {
            self.forget(&state);
        }
        lines
    }

    /// Writes the records that replace the dropped ones: `open` of links that the reader does not know, `gap` for
    /// messages, and `close` of links whose record `close` was dropped.
    fn describe_loss(&mut self, state: &State, lines: &mut Vec<u8>) {
        let at = now();
        for link in self.forget(state) {
            write_lost_close(lines, at, &link);
        }
        if let Some(link) = &state.forgotten_link {
            write_gaps(lines, at, link, &mut self.forgotten, state.forgotten);
        }
        let mut links: Vec<_> = state.links.iter().collect();
        links.sort_by_key(|(_, link)| link.number);
        for (id, link) in links {
            let seen = self.links.entry(Arc::clone(id)).or_default();
            seen.number = link.number;
            if let Some(open) = link.opens.front().filter(|open| Some(open.position) > seen.opened_at) {
                if mem::take(&mut seen.is_open) {
                    write_lost_close(lines, at, id);
                }
                // A record `open` that was not dropped is still in the history, and is read later.
                if open.position < state.dropped {
                    lines.extend_from_slice(&open.line);
                    (seen.is_open, seen.opened_at) = (true, Some(open.position));
                }
            }
            write_gaps(lines, at, id, &mut seen.counts, link.dropped);
        }
    }

    /// Removes the links that the history no longer has. Returns those whose record `close` the reader has not read.
    fn forget(&mut self, state: &State) -> Vec<Arc<str>> {
        let mut unclosed = Vec::new();
        let forgotten = &mut self.forgotten;
        self.links.retain(|id, seen| {
            let is_known = state.links.get(id).is_some_and(|link| link.number == seen.number);
            if !is_known {
                forgotten.merge(seen.counts);
                if seen.is_open {
                    unclosed.push(Arc::clone(id));
                }
            }
            is_known
        });
        unclosed
    }
}

fn write_lost_close(lines: &mut Vec<u8>, at: u64, link: &str) {
    let reason = "the link has closed; the record of its end was dropped";
    write(lines, &json!({ "kind": "close", "at": at, "link": link, "reason": reason }));
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
