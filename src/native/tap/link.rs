//! Converts the messages of one connection to records of a tap.

use std::borrow::{Cow, ToOwned};
use std::string::String;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::batch::Batch;
use super::queue::Loss;
use super::record::{Content, Direction, Record, RecordKind, TapTransport};
use super::{Shared, now};
use crate::native::limits::MAX_TAP_REASON_CHARACTERS;

/// One connection of a [`Tap`](super::Tap), for programs that read and write the bytes of a link without a transport.
/// [`Transport::with_tap`](crate::Transport::with_tap) creates this value for the link of a transport.
///
/// The methods never wait for the reader of the records. After [`TapLink::close`], they have no effect.
#[derive(Debug)]
pub struct TapLink {
    shared: Arc<Shared>,
    id: Arc<str>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The record `open`, until the queue has room for it.
    open: Option<Record>,
    /// The number and size of the messages that crossed the link before the queue had room for the record `open`.
    loss: Loss,
    is_closed: bool,
}

impl TapLink {
    pub(super) fn new(shared: Arc<Shared>, name: Arc<str>, transport: TapTransport) -> Self {
        let id = super::next_link_id();
        let open = Record { at: now(), link: Arc::clone(&id), kind: RecordKind::Open { name, transport } };
        let loss = Loss::default();
        let open = if shared.queue.open(&open, loss) { None } else { Some(open) };
        Self { shared, id, state: Mutex::new(State { open, loss, is_closed: false }) }
    }

    /// Returns the id of the link in its records.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Records a message. `text` is its JSON text.
    pub fn message(&self, direction: Direction, text: &str) {
        self.message_at(now(), direction, text);
    }

    /// Records bytes that are not a message. `reason` is a sentence.
    pub fn invalid(&self, direction: Direction, bytes: &[u8], reason: impl Into<Cow<'static, str>>) {
        self.invalid_at(now(), direction, bytes, bytes.len() as u64, reason.into());
    }

    /// Records the end of the connection. `code` is the close code of a WebSocket, or the exit code of a process.
    pub fn close(&self, reason: &str, code: Option<i64>) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        self.open_late(&mut state);
        state.is_closed = true;
        if state.open.is_some() {
            return self.shared.queue.lose_link(&self.id, state.loss);
        }
        let reason = reason.chars().take(MAX_TAP_REASON_CHARACTERS).collect();
        let kind = RecordKind::Close { reason, code };
        self.shared.queue.close_link(Record { at: now(), link: Arc::clone(&self.id), kind });
    }

    pub(super) fn message_at(&self, at: u64, direction: Direction, text: &str) {
        let kept = floor_char_boundary(text, self.shared.max_text_bytes);
        if self.is_recorded(at, direction, text.len(), kept) {
            let size = text.len() as u64;
            let (text, rest) = text.split_at_checked(kept).unwrap_or((text, ""));
            let omitted = rest.chars().count() as u64;
            let kind = RecordKind::Message { direction, text: text.to_owned(), size, omitted };
            self.shared.queue.push(Record { at, link: Arc::clone(&self.id), kind }, direction, size);
        }
    }

    /// Returns an empty batch with room for texts of `bytes` in total.
    pub(super) fn batch(&self, at: u64, direction: Direction, bytes: usize) -> Batch {
        Batch::new(at, Arc::clone(&self.id), direction, bytes)
    }

    /// Records the messages of a batch together, which is faster than one after the other.
    pub(super) fn push_batch(&self, batch: Batch) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        self.open_late(&mut state);
        if state.open.is_some() {
            for text in batch.texts() {
                state.loss.add(batch.direction, text.len() as u64);
            }
            return;
        }
        drop(state);
        self.shared.queue.push_batch(batch);
    }

    /// Records bytes that are not a message. `size` is the number of all bytes, of which `bytes` is the beginning.
    pub(super) fn invalid_at(&self, at: u64, direction: Direction, bytes: &[u8], size: u64, reason: Cow<'static, str>) {
        let max = self.shared.max_text_bytes;
        if !self.is_recorded(at, direction, bytes.len(), bytes.len().min(max)) {
            return;
        }
        let content = match str::from_utf8(bytes) {
            Ok(text) => Content::Text(text.get(..floor_char_boundary(text, max)).unwrap_or(text).to_owned()),
            // The bytes may end within a character, because the later bytes were dropped.
            Err(error) if error.error_len().is_none() && size > bytes.len() as u64 => {
                Content::Text(String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default()).into())
            }
            Err(_) => Content::Bytes(bytes.get(..max).unwrap_or(bytes).to_owned()),
        };
        let kept = match &content {
            Content::Text(text) => text.len(),
            Content::Bytes(bytes) => bytes.len(),
        };
        let omitted = size.saturating_sub(kept as u64);
        let kind = RecordKind::Invalid { direction, content, size, omitted, reason };
        self.shared.queue.push(Record { at, link: Arc::clone(&self.id), kind }, direction, size);
    }

    /// Returns whether a record with a text of `kept` bytes may have room. Otherwise, counts the message, whose size is
    /// `bytes`. So the text of a message without room is not copied.
    fn is_recorded(&self, at: u64, direction: Direction, bytes: usize, kept: usize) -> bool {
        let mut state = self.lock();
        if state.is_closed {
            return false;
        }
        self.open_late(&mut state);
        if state.open.is_some() {
            state.loss.add(direction, bytes as u64);
            return false;
        }
        drop(state);
        self.shared.queue.has_room_or_count(at, &self.id, direction, kept, bytes as u64)
    }

    /// Appends the record `open`, if it has room now.
    fn open_late(&self, state: &mut State) {
        if let Some(open) = &state.open
            && self.shared.queue.open(open, state.loss)
        {
            (state.open, state.loss) = (None, Loss::default());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A link that is dropped has ended.
impl Drop for TapLink {
    fn drop(&mut self) {
        self.close("this side dropped the link", None);
    }
}

/// Returns the end of the longest beginning of `text` that has at most `max` bytes and ends between two characters.
fn floor_char_boundary(text: &str, max: usize) -> usize {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
