//! The messages of one HTTP response, or of the stream that the server opens for its own messages. The sender is a
//! handler, and the reader is the body of the response.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::time::Instant;

use crate::native::limits::MAX_HTTP_UNREAD_BYTES;

/// The messages are numbered from 1.
pub(super) struct EventQueue {
    /// Whether messages are kept after they were read, for a client that continues the stream on another connection.
    keeps: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: VecDeque<Bytes>,
    /// The number of messages before `events`.
    dropped: u64,
    /// The number of messages that the reader has taken.
    read: u64,
    bytes: usize,
    is_finished: bool,
    /// The number of the reader. A newer reader ends the older one.
    reader: u64,
    /// Whether the newest reader still reads.
    is_read: bool,
    /// The time at which the newest reader has ended.
    left: Option<Instant>,
    waker: Option<Waker>,
}

/// The first output of a handler.
pub(super) enum First {
    /// The response, or nothing if the request was cancelled.
    Response(Option<Bytes>),
    /// Another message.
    Stream,
}

impl EventQueue {
    pub(super) fn new(keeps: bool) -> Self {
        Self { keeps, state: Mutex::default() }
    }

    /// Adds a message. Returns `false` if the reader has left too many bytes unread, or after the end.
    pub(super) fn push(&self, text: String) -> bool {
        let mut state = self.state();
        let is_pushed = !state.is_finished && state.push(text, false);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        is_pushed
    }

    /// Ends the messages. The response is the last message, and is always added.
    pub(super) fn finish(&self, response: Option<String>) {
        let mut state = self.state();
        if let Some(response) = response.filter(|_| !state.is_finished) {
            state.push(response, true);
        }
        state.is_finished = true;
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    pub(super) fn is_finished(&self) -> bool {
        self.state().is_finished
    }

    /// Returns the number of bytes that the queue holds.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Waits for the first output.
    pub(super) fn poll_first(&self, context: &Context<'_>) -> Poll<First> {
        let mut state = self.state();
        if state.is_finished && state.events.len() <= 1 {
            return Poll::Ready(First::Response(state.events.pop_front()));
        }
        if !state.events.is_empty() {
            return Poll::Ready(First::Stream);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Begins to read after the message with this number, or after the last message that was read. Returns the number
    /// of the reader and of the last message that it does not receive. Returns `None` if later messages are no longer
    /// kept.
    pub(super) fn attach(&self, after: Option<u64>) -> Option<(u64, u64)> {
        let mut state = self.state();
        let after = after.unwrap_or(state.read);
        let end = state.dropped + state.events.len() as u64;
        if after < state.dropped || after > end {
            return None;
        }
        state.read = after;
        state.reader += 1;
        state.is_read = true;
        let waker = state.waker.take();
        let reader = state.reader;
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Some((reader, after))
    }

    /// Ends a reader.
    pub(super) fn detach(&self, reader: u64) {
        let mut state = self.state();
        if state.reader == reader {
            state.is_read = false;
            state.left = Some(Instant::now());
        }
    }

    /// Returns whether a reader waits for messages.
    pub(super) fn is_read(&self) -> bool {
        self.state().is_read
    }

    /// Returns the time at which the newest reader has ended, or `None` if there was no reader.
    pub(super) fn left(&self) -> Option<Instant> {
        self.state().left
    }

    /// Returns the next message and its number, or `None` at the end.
    pub(super) fn poll_event(&self, reader: u64, context: &Context<'_>) -> Poll<Option<(u64, Bytes)>> {
        let mut state = self.state();
        if state.reader != reader {
            return Poll::Ready(None);
        }
        let index = usize::try_from(state.read - state.dropped).unwrap_or(usize::MAX);
        if let Some(event) = state.events.get(index).cloned() {
            state.read += 1;
            if !self.keeps {
                state.drop_first();
            }
            return Poll::Ready(Some((state.read, event)));
        }
        if state.is_finished {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, text: String, is_required: bool) -> bool {
        let text = Bytes::from(on_one_line(text));
        let is_full = |state: &Self| state.bytes.saturating_add(text.len()) > MAX_HTTP_UNREAD_BYTES;
        while is_full(self) && self.dropped < self.read {
            self.drop_first();
        }
        if is_full(self) && !is_required {
            return false;
        }
        self.bytes += text.len();
        self.events.push_back(text);
        true
    }

    fn drop_first(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.bytes -= event.len();
            self.dropped += 1;
        }
    }
}

/// Replaces line breaks between the tokens of a message. An event has one line for each line of its text.
fn on_one_line(text: String) -> String {
    if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(queue: &EventQueue, reader: u64) -> Option<Option<(u64, String)>> {
        let context = Context::from_waker(Waker::noop());
        match queue.poll_event(reader, &context) {
            Poll::Ready(event) => {
                Some(event.map(|(number, text)| (number, String::from_utf8_lossy(&text).into_owned())))
            }
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_reader_continues_after_the_message_that_it_names() {
        let queue = EventQueue::new(true);
        for text in ["a", "b\r\nb", "c"] {
            assert!(queue.push(text.into()));
        }
        let (first, after) = queue.attach(None).unwrap_or_default();
        assert_eq!((first, after), (1, 0));
        assert_eq!(next(&queue, first), Some(Some((1, "a".into()))));
        assert_eq!(next(&queue, first), Some(Some((2, "b  b".into()))));
        assert_eq!(queue.attach(Some(1)), Some((2, 1)));
        assert_eq!(next(&queue, first), Some(None), "a newer reader ends the older one");
        assert_eq!(next(&queue, 2), Some(Some((2, "b  b".into()))));
        assert_eq!(next(&queue, 2), Some(Some((3, "c".into()))));
        assert_eq!(next(&queue, 2), None);
        assert_eq!(queue.attach(Some(4)), None);
        queue.finish(None);
        assert_eq!(next(&queue, 2), Some(None));
    }

    #[test]
    fn unread_bytes_are_bounded_and_read_messages_make_room() {
        for keeps in [false, true] {
            let queue = EventQueue::new(keeps);
            let half = || "x".repeat(MAX_HTTP_UNREAD_BYTES / 2);
            assert!(queue.push(half()) && queue.push(half()));
            assert!(!queue.push("x".into()));
            let (reader, _) = queue.attach(None).unwrap_or_default();
            for _ in 0..2 {
                next(&queue, reader);
            }
            assert!(queue.push("x".into()));
            assert_eq!(queue.attach(Some(0)), None, "the first message was dropped");
            queue.finish(Some("y".repeat(2 * MAX_HTTP_UNREAD_BYTES)));
            assert!(queue.bytes() > 2 * MAX_HTTP_UNREAD_BYTES, "a response is always added");
        }
    }
}
