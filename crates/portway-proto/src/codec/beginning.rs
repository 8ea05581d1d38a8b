//! Records the beginning of a dropped message. If the message is a response, its beginning may contain the id of a
//! call. In this case, the driver ends the call.

use alloc::vec::Vec;

use super::limits::MAX_BEGINNING;
use crate::message::Unreadable;

#[derive(Debug)]
pub(super) struct Beginning {
    bytes: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No message was dropped, or [`Beginning::take`] has returned the reason.
    None,
    /// More bytes of the message may arrive. The value is the reason why the message was dropped.
    Open(Unreadable),
    /// The beginning is complete. The value is the reason, which [`Beginning::take`] has not returned yet.
    Complete(Unreadable),
}

impl Beginning {
    pub(super) const fn new() -> Self {
        Self { bytes: Vec::new(), state: State::None }
    }

    /// Starts the record of a message that is dropped for the reason `why`.
    pub(super) fn open(&mut self, why: Unreadable) {
        self.bytes.clear();
        self.state = State::Open(why);
    }

    /// Adds more bytes of the message. Records at most [`MAX_BEGINNING`] bytes in total, and ignores further bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let State::Open(why) = self.state else { return };
        let room = MAX_BEGINNING - self.bytes.len();
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        if self.bytes.len() == MAX_BEGINNING {
            self.state = State::Complete(why);
        }
    }

    /// Completes the beginning. Call this method when no more bytes of the message will arrive.
    pub(super) const fn close(&mut self) {
        if let State::Open(why) = self.state {
            self.state = State::Complete(why);
        }
    }

    /// Records and completes the beginning of a dropped message. `parts` are the consecutive slices of the message that
    /// were received.
    pub(super) fn record_whole<'b>(&mut self, parts: impl IntoIterator<Item = &'b [u8]>, why: Unreadable) {
        self.open(why);
        parts.into_iter().for_each(|part| self.add(part));
        self.close();
    }

    /// Returns the reason why the message was dropped. The reason is returned once, after the beginning of the message
    /// is complete.
    pub(super) const fn take(&mut self) -> Option<Unreadable> {
        let State::Complete(why) = self.state else { return None };
        self.state = State::None;
        Some(why)
    }

    /// Returns the recorded bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
