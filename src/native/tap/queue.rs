//! The records that the reader of a tap has not taken. The size of these records is limited, and records above the
//! limit are counted.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::watch;

use super::batch::Batch;
use super::record::{Content, Direction, Record, RecordKind};
use crate::native::limits::MAX_TAP_BYTES;

/// The memory of a record in addition to its text, in bytes.
const RECORD_BYTES: usize = 128;

/// The room that each recorded connection reserves for the record of its end, in bytes.
const CLOSE_BYTES: usize = 512;

/// The time in which a thread collects further records before it handles the first record. A thread that wakes up for
/// each message would slow the link.
const COLLECTING_TIME: Duration = Duration::from_millis(5);

/// If the collected records have at least this size, the thread handles them at once.
const COLLECTED_BYTES: usize = MAX_TAP_BYTES / 4;

/// The queue between the links of a tap and the reader of its records.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    wakes_thread: Condvar,
    /// The number of entries that the reader has handled.
    handled: watch::Sender<u64>,
}

/// One place in the queue.
#[derive(Debug)]
pub(super) enum Entry {
    Record(Record),
    Batch(Batch),
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    /// The number of entries that were removed from the front of `entries`.
    taken: u64,
    /// The size of the entries that the reader has not handled.
    bytes: usize,
    /// The room for the records of the ends of open connections.
    reserved: usize,
    /// The positions of the gaps after the last entry that is not a gap. A position is the number of all earlier
    /// entries, which includes the taken entries.
    gaps: HashMap<(Arc<str>, Direction), u64>,
    /// The messages of connections that have ended before the queue had room for their record `open`.
    lost: Loss,
    /// The last of the connections whose messages `lost` counts.
    lost_link: Option<Arc<str>>,
    waits: Wait,
    waker: Option<Waker>,
    /// Whether a caller waits until all records are handled.
    must_flush: bool,
    /// Whether no further record is pushed, because all links and handles of the tap were dropped.
    is_closed: bool,
    /// Why the reader has ended.
    end: Option<End>,
}

/// The condition that the thread of the reader waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wait {
    #[default]
    Nothing,
    Record,
    /// Many records, or the end of [`COLLECTING_TIME`].
    Many,
}

/// Why the reader of the records has ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// The reader was dropped, or its callback panicked.
    Dropped,
    Failed(io::ErrorKind, String),
}

/// The messages that were not recorded, by direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loss {
    sent: Count,
    received: Count,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    messages: u64,
    bytes: u64,
}

impl Loss {
    pub(super) const fn add(&mut self, direction: Direction, bytes: u64) {
        let count = match direction {
            Direction::Sent => &mut self.sent,
            Direction::Received => &mut self.received,
        };
        count.messages += 1;
        count.bytes += bytes;
    }

    const fn merge(&mut self, other: Self) {
        self.sent.messages += other.sent.messages;
        self.sent.bytes += other.sent.bytes;
        self.received.messages += other.received.messages;
        self.received.bytes += other.received.bytes;
    }
}

impl Queue {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), wakes_thread: Condvar::new(), handled: watch::Sender::new(0) }
    }

    /// Appends the record `open` of a connection, and gaps for the messages in `loss`, which have crossed the link
    /// before. If the queue has no room, appends nothing and returns `false`. After the end of the reader, appends
    /// nothing and returns `true`.
    pub(super) fn open(&self, open: &Record, loss: Loss) -> bool {
        let mut state = self.lock();
        if state.end.is_some() || !state.has_room(size_of_record(open) + CLOSE_BYTES) {
            return state.end.is_some();
        }
        state.reserved += CLOSE_BYTES;
        state.push(Entry::Record(open.clone()));
        state.push_loss(open.at, &open.link, loss);
        self.wake(state);
        true
    }

    /// Appends the record of a message or of invalid input, or counts it in a gap.
    pub(super) fn push(&self, record: Record, direction: Direction, bytes: u64) {
        let mut state = self.lock();
        if state.end.is_some() {
            return;
        }
        if state.has_room(size_of_record(&record)) {
            state.push(Entry::Record(record));
        } else {
            state.add_gap(record.at, &record.link, direction, Count { messages: 1, bytes });
        }
        self.wake(state);
    }

    /// Appends the messages of a batch for which there is room. A gap counts the other messages.
    pub(super) fn push_batch(&self, mut batch: Batch) {
        let mut state = self.lock();
        if state.end.is_some() || batch.is_empty() {
            return;
        }
        let (messages, bytes) = batch.truncate(state.room());
        let (at, link, direction) = (batch.at, Arc::clone(&batch.link), batch.direction);
        if !batch.is_empty() {
            state.push(Entry::Batch(batch));
        }
        if messages > 0 {
            state.add_gap(at, &link, direction, Count { messages, bytes });
        }
        self.wake(state);
    }

    /// Returns whether a record with a text of `kept` bytes has room. Otherwise, counts its message in a gap.
    pub(super) fn has_room_or_count(
        &self,
        at: u64,
        link: &Arc<str>,
        direction: Direction,
        kept: usize,
        bytes: u64,
    ) -> bool {
        let mut state = self.lock();
        if state.end.is_some() {
            return false;
        }
        if state.has_room(RECORD_BYTES + kept) {
            return true;
        }
        state.add_gap(at, link, direction, Count { messages: 1, bytes });
        self.wake(state);
        false
    }

    /// Appends the `close` of a recorded connection.
    pub(super) fn close_link(&self, close: Record) {
        let mut state = self.lock();
        state.reserved = state.reserved.saturating_sub(CLOSE_BYTES);
        if state.end.is_none() {
            state.push(Entry::Record(close));
            self.wake(state);
        }
    }

    /// Counts the messages of a connection that was never recorded.
    pub(super) fn lose_link(&self, link: &Arc<str>, loss: Loss) {
        let mut state = self.lock();
        state.lost.merge(loss);
        state.lost_link = Some(Arc::clone(link));
    }

    /// Ends the queue after the records that were pushed before.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.push_lost();
        drop(state);
        self.wakes_thread.notify_all();
        let waker = self.lock().waker.take();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Wakes the reader if it waits for the record that was pushed.
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let must_wake = match state.waits {
            Wait::Nothing => false,
            Wait::Record => true,
            Wait::Many => state.must_flush || state.bytes >= COLLECTED_BYTES,
        };
        if must_wake {
            state.waits = Wait::Nothing;
            self.wakes_thread.notify_all();
        }
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Waits until records were pushed, and takes them. Returns `None` at the end of the queue. The taken records
    /// occupy their room until [`Queue::release`] is called.
    pub(super) fn take_all(&self) -> Option<VecDeque<Entry>> {
        let mut state = self.lock();
        while state.entries.is_empty() {
            if state.is_closed {
                return None;
            }
            state.waits = Wait::Record;
            state = self.wakes_thread.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.is_closed && !state.must_flush && state.bytes < COLLECTED_BYTES {
            state.waits = Wait::Many;
            let waited = self.wakes_thread.wait_timeout_while(state, COLLECTING_TIME, |state| {
                state.waits == Wait::Many && !state.is_closed && !state.must_flush
            });
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.waits = Wait::Nothing;
        state.must_flush = false;
        state.taken += state.entries.len() as u64;
        state.gaps.clear();
        Some(mem::take(&mut state.entries))
    }

    /// Takes the first record, or registers the waker. Returns `None` at the end of the queue.
    pub(super) fn poll_take(&self, context: &Context<'_>) -> Poll<Option<Record>> {
        let mut state = self.lock();
        let Some(record) = state.pop() else {
            if state.is_closed {
                return Poll::Ready(None);
            }
            let replaced = state.waker.replace(context.waker().clone());
            drop(state);
            drop(replaced);
            return Poll::Pending;
        };
        let taken = state.taken;
        drop(state);
        self.handled.send_replace(taken);
        Poll::Ready(Some(record))
    }

    /// Releases `bytes` of room: the total [`Entry::size`] of handled entries that [`Queue::take_all`] has returned.
    pub(super) fn release(&self, bytes: usize) {
        let mut state = self.lock();
        state.bytes = state.bytes.saturating_sub(bytes);
    }

    /// Reports that the first `count` entries are handled and flushed.
    pub(super) fn set_handled(&self, count: u64) {
        self.handled.send_replace(count);
    }

    /// Ends the reader. Further records are dropped.
    pub(super) fn end(&self, end: End) {
        let mut state = self.lock();
        let dropped = mem::take(&mut state.entries);
        state.gaps.clear();
        state.bytes = 0;
        state.end.get_or_insert(end);
        drop(state);
        drop(dropped);
        self.handled.send_replace(u64::MAX);
    }

    /// Waits until the reader has handled all records that were pushed before.
    ///
    /// # Errors
    /// If the reader has failed.
    pub(super) async fn flushed(&self) -> io::Result<()> {
        let count = {
            let mut state = self.lock();
            state.must_flush = true;
            state.taken + state.entries.len() as u64
        };
        self.wakes_thread.notify_all();
        let mut handled = self.handled.subscribe();
        // The queue owns the sender, so waiting does not fail.
        let _ = handled.wait_for(|handled| *handled >= count).await;
        match &self.lock().end {
            Some(End::Failed(kind, problem)) => Err(io::Error::new(*kind, problem.clone())),
            Some(End::Dropped) | None => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns whether a record of this size fits. A long record fits if the other records have at most half of the
    /// room. This rule allows a file to contain a message that is longer than the limit.
    const fn has_room(&self, bytes: usize) -> bool {
        let other_bytes = self.bytes + self.reserved;
        other_bytes + bytes <= MAX_TAP_BYTES || (bytes > MAX_TAP_BYTES / 2 && other_bytes <= MAX_TAP_BYTES / 2)
    }

    /// Returns the remaining room in bytes, without the exception for a long record.
    const fn room(&self) -> usize {
        MAX_TAP_BYTES.saturating_sub(self.bytes + self.reserved)
    }

    fn push(&mut self, entry: Entry) {
        self.push_lost();
        self.gaps.clear();
        self.append(entry);
    }

    fn append(&mut self, entry: Entry) {
        self.bytes += entry.size();
        self.entries.push_back(entry);
    }

    /// Removes the first record.
    fn pop(&mut self) -> Option<Record> {
        let (record, size) = match self.entries.front_mut()? {
            Entry::Record(_) => {
                let Some(Entry::Record(record)) = self.entries.pop_front() else { return None };
                self.taken += 1;
                let size = size_of_record(&record);
                (record, size)
            }
            Entry::Batch(batch) => {
                let before = batch.size();
                let record = batch.pop()?;
                let after = batch.size();
                if after == 0 {
                    self.entries.pop_front();
                    self.taken += 1;
                }
                (record, before - after)
            }
        };
        self.bytes = self.bytes.saturating_sub(size);
        Some(record)
    }

    /// Appends the gaps for the messages in `lost`.
    fn push_lost(&mut self) {
        if let Some(link) = self.lost_link.take() {
            let loss = mem::take(&mut self.lost);
            let at = self.entries.back().map_or_else(super::now, Entry::at);
            self.push_loss(at, &link, loss);
        }
    }

    /// Adds the messages in `loss` to the gaps of the link. Each direction has its own gap.
    fn push_loss(&mut self, at: u64, link: &Arc<str>, loss: Loss) {
        for (direction, count) in [(Direction::Sent, loss.sent), (Direction::Received, loss.received)] {
            if count.messages > 0 {
                self.add_gap(at, link, direction, count);
            }
        }
    }

    /// Adds messages to the gap of this link and direction at the end of the queue. If this gap does not exist, appends
    /// it.
    fn add_gap(&mut self, at: u64, link: &Arc<str>, direction: Direction, more: Count) {
        let position = self.gaps.get(&(Arc::clone(link), direction)).and_then(|place| place.checked_sub(self.taken));
        let gap = position.and_then(|index| self.entries.get_mut(usize::try_from(index).ok()?));
        if let Some(Entry::Record(Record { kind: RecordKind::Gap { messages, bytes, .. }, .. })) = gap {
            *messages += more.messages;
            *bytes += more.bytes;
            return;
        }
        self.gaps.insert((Arc::clone(link), direction), self.taken + self.entries.len() as u64);
        let Count { messages, bytes } = more;
        let kind = RecordKind::Gap { direction, messages, bytes };
        self.append(Entry::Record(Record { at, link: Arc::clone(link), kind }));
    }
}

impl Entry {
    /// Returns the memory of the entry.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Record(record) => size_of_record(record),
            Self::Batch(batch) => batch.size(),
        }
    }

    const fn at(&self) -> u64 {
        match self {
            Self::Record(record) => record.at,
            Self::Batch(batch) => batch.at,
        }
    }
}

/// Returns the memory of a record. The memory of a `close` is reserved when its connection is opened.
fn size_of_record(record: &Record) -> usize {
    RECORD_BYTES
        + match &record.kind {
            RecordKind::Open { name, .. } => name.len(),
            RecordKind::Message { text, .. } => text.len(),
            RecordKind::Invalid { content: Content::Text(text), .. } => text.len(),
            RecordKind::Invalid { content: Content::Bytes(bytes), .. } => bytes.len(),
            RecordKind::Gap { .. } => 0,
            RecordKind::Close { reason, .. } => reason.len(),
        }
}
