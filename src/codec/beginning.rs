//! How a message begins that is dropped: it may tell whose answer it is.

use alloc::vec::Vec;

use super::limits::MAX_BEGINNING;
use crate::message::Unreadable;

#[derive(Debug)]
pub(super) struct Beginning {
    bytes: Vec<u8>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    None,
    /// More of it comes.
    Open(Unreadable),
    /// It is to be given away.
    Complete(Unreadable),
}

impl Beginning {
    pub(super) const fn new() -> Self {
        Self { bytes: Vec::new(), stage: Stage::None }
    }

    /// A message is dropped for this reason. What comes of it is to be added.
    pub(super) fn open(&mut self, why: Unreadable) {
        self.bytes.clear();
        self.stage = Stage::Open(why);
    }

    /// More of the message. What is beyond the limit is left out.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let Stage::Open(why) = self.stage else { return };
        let room = MAX_BEGINNING - self.bytes.len();
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        if self.bytes.len() == MAX_BEGINNING {
            self.stage = Stage::Complete(why);
        }
    }

    /// No more comes.
    pub(super) const fn close(&mut self) {
        if let Stage::Open(why) = self.stage {
            self.stage = Stage::Complete(why);
        }
    }

    /// A message that had come so far is dropped.
    pub(super) fn drop_all<'b>(&mut self, parts: impl IntoIterator<Item = &'b [u8]>, why: Unreadable) {
        self.open(why);
        parts.into_iter().for_each(|part| self.add(part));
        self.close();
    }

    /// Why the message was dropped, if it is time to say so: once.
    pub(super) const fn take(&mut self) -> Option<Unreadable> {
        let Stage::Complete(why) = self.stage else { return None };
        self.stage = Stage::None;
        Some(why)
    }

    /// What is given away.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
