//! Encoded messages that wait to be written.

use std::collections::VecDeque;
use std::mem;

use crate::Framing;
use crate::codec::wipc::{self, FrameType};

/// The bytes that a queued message occupies in addition to its text.
const MESSAGE_OVERHEAD: usize = size_of::<usize>();

/// An empty queue keeps memory for at most this number of messages.
const RETAINED_MESSAGES: usize = 1024;

/// Encoded messages, in the form that the transport needs.
#[derive(Debug)]
pub(super) enum Outbox {
    /// The frames of a byte stream.
    Frames(Framing, Vec<u8>),
    /// Whole messages.
    Messages(MessageQueue),
}

/// Whole messages in their order. The texts of all messages are in one string, so that a message needs no allocation.
#[derive(Debug, Default)]
pub(super) struct MessageQueue {
    /// The texts of all messages since the queue was cleared.
    texts: String,
    /// The end of each remaining message in `texts`.
    ends: VecDeque<usize>,
    /// The start of the first remaining message in `texts`.
    start: usize,
    /// The number of messages since the queue was cleared. This number includes removed messages.
    count: usize,
}

impl Outbox {
    /// Creates an empty outbox for frames, or for whole messages if `framing` is `None`.
    pub(super) fn new(framing: Option<Framing>) -> Self {
        framing.map_or_else(|| Self::Messages(MessageQueue::default()), |framing| Self::Frames(framing, Vec::new()))
    }

    /// Appends a message.
    pub(super) fn push(&mut self, text: &str) {
        match self {
            Self::Frames(framing, bytes) => framing.encode(text, bytes),
            Self::Messages(queue) => queue.push_with(|texts| texts.push_str(text)),
        }
    }

    /// Appends the message that `encode` writes. `scratch` is a buffer for the text of the message.
    pub(super) fn push_with(&mut self, scratch: &mut String, encode: impl FnOnce(&mut String)) {
        match self {
            Self::Frames(framing, bytes) => {
                scratch.clear();
                encode(scratch);
                framing.encode(scratch, bytes);
            }
            Self::Messages(queue) => queue.push_with(encode),
        }
    }

    /// Appends a WIPC frame. The framing of this outbox must be WIPC.
    ///
    /// # Errors
    /// If the payload is too long.
    pub(super) fn push_frame(&mut self, frame_type: FrameType, payload: &[u8]) -> Result<(), wipc::PayloadTooLong> {
        match self {
            Self::Frames(_, bytes) => wipc::encode(frame_type, payload, bytes),
            Self::Messages(_) => Ok(()),
        }
    }

    /// Returns the size, in bytes, of all messages that were appended since the outbox was cleared. For frames, the
    /// size is their length. For whole messages, it is the memory of all messages, including removed messages.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Frames(_, bytes) => bytes.len(),
            Self::Messages(queue) => queue.texts.len() + queue.count * MESSAGE_OVERHEAD,
        }
    }

    /// Returns the bytes of the frames. Returns no bytes for an outbox of whole messages.
    pub(super) fn frames(&self) -> &[u8] {
        match self {
            Self::Frames(_, bytes) => bytes,
            Self::Messages(_) => &[],
        }
    }

    /// Returns the first whole message.
    pub(super) fn first_message(&self) -> Option<&str> {
        match self {
            Self::Frames(..) => None,
            Self::Messages(queue) => queue.first(),
        }
    }

    /// Removes the first whole message. Returns its size.
    pub(super) fn remove_first_message(&mut self) -> usize {
        match self {
            Self::Frames(..) => 0,
            Self::Messages(queue) => queue.remove_first(),
        }
    }

    /// Removes all content. Keeps the buffer if its capacity is at most `retained` bytes.
    pub(super) fn clear(&mut self, retained: usize) {
        match self {
            Self::Frames(_, bytes) if bytes.capacity() <= retained => bytes.clear(),
            Self::Frames(_, bytes) => *bytes = Vec::new(),
            Self::Messages(queue) => queue.clear(retained),
        }
    }
}

impl MessageQueue {
    fn push_with(&mut self, append: impl FnOnce(&mut String)) {
        append(&mut self.texts);
        self.ends.push_back(self.texts.len());
        self.count += 1;
    }

    fn first(&self) -> Option<&str> {
        self.texts.get(self.start..*self.ends.front()?)
    }

    fn remove_first(&mut self) -> usize {
        let Some(end) = self.ends.pop_front() else { return 0 };
        end - mem::replace(&mut self.start, end) + MESSAGE_OVERHEAD
    }

    fn clear(&mut self, retained: usize) {
        if self.texts.capacity() > retained {
            self.texts = String::new();
        }
        self.texts.clear();
        self.ends.clear();
        if self.ends.capacity() > RETAINED_MESSAGES {
            self.ends.shrink_to(RETAINED_MESSAGES);
        }
        (self.start, self.count) = (0, 0);
    }
}
