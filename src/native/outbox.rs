//! Encoded messages that wait to be written.

use std::collections::VecDeque;
use std::mem;

use crate::Framing;
use crate::codec::wipc::{self, FrameType};

/// The bytes that a queued message occupies in addition to its text: its `String`, and the overhead of its allocation.
const MESSAGE_OVERHEAD: usize = 48;

/// Maximum capacity of a queued message beyond its length, in bytes.
const MAX_UNUSED_BYTES: usize = 128;

/// Maximum number of places for messages that an empty queue keeps.
const RETAINED_MESSAGES: usize = 64;

/// Encoded messages, in the form that the transport needs.
#[derive(Debug)]
pub(super) enum Outbox {
    /// The frames of a byte stream.
    Frames(Framing, Vec<u8>),
    /// Whole messages.
    Messages(MessageQueue),
}

/// Whole messages in their order, with their total size.
#[derive(Debug, Default)]
pub(super) struct MessageQueue {
    texts: VecDeque<String>,
    /// The size of all messages that were appended since the queue was cleared. Removed messages count, too.
    bytes: usize,
}

impl Outbox {
    /// Creates an empty outbox for frames, or for whole messages if `framing` is `None`.
    pub(super) fn new(framing: Option<Framing>) -> Self {
        framing.map_or_else(|| Self::Messages(MessageQueue::default()), |framing| Self::Frames(framing, Vec::new()))
    }

    /// Appends a message. In an outbox of whole messages, moves the string, so that `text` is empty afterwards.
    pub(super) fn push(&mut self, text: &mut String) {
        match self {
            Self::Frames(framing, bytes) => framing.encode(text, bytes),
            Self::Messages(queue) => {
                let mut text = mem::take(text);
                if text.capacity() - text.len() > MAX_UNUSED_BYTES {
                    text.shrink_to_fit();
                }
                queue.push(text);
            }
        }
    }

    /// Appends a WIPC frame.
    ///
    /// # Errors
    /// If the payload is too long. The framing must be WIPC.
    pub(super) fn push_frame(&mut self, frame_type: FrameType, payload: &[u8]) -> Result<(), wipc::PayloadTooLong> {
        match self {
            Self::Frames(_, bytes) => wipc::encode(frame_type, payload, bytes),
            Self::Messages(_) => Ok(()),
        }
    }

    /// Returns the size of all messages that were appended since the outbox was cleared, in bytes. For whole messages,
    /// the size is the memory that they occupy, and removed messages count, too.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Frames(_, bytes) => bytes.len(),
            Self::Messages(queue) => queue.bytes,
        }
    }

    /// Returns the bytes of the frames. Returns no bytes for an outbox of whole messages.
    pub(super) fn frames(&self) -> &[u8] {
        match self {
            Self::Frames(_, bytes) => bytes,
            Self::Messages(_) => &[],
        }
    }

    /// Removes the first whole message. Returns the message and its size.
    pub(super) fn next_message(&mut self) -> Option<(String, usize)> {
        match self {
            Self::Frames(..) => None,
            Self::Messages(queue) => queue.pop(),
        }
    }

    /// Removes all content. Keeps up to `retained` bytes of capacity.
    pub(super) fn clear(&mut self, retained: usize) {
        match self {
            Self::Frames(_, bytes) if bytes.capacity() <= retained => bytes.clear(),
            Self::Frames(_, bytes) => *bytes = Vec::new(),
            Self::Messages(queue) => queue.clear(),
        }
    }
}

impl MessageQueue {
    fn push(&mut self, text: String) {
        self.bytes += size_of_message(&text);
        self.texts.push_back(text);
    }

    fn pop(&mut self) -> Option<(String, usize)> {
        let text = self.texts.pop_front()?;
        let size = size_of_message(&text);
        Some((text, size))
    }

    fn clear(&mut self) {
        self.texts.clear();
        self.texts.shrink_to(RETAINED_MESSAGES);
        self.bytes = 0;
    }
}

/// Returns the memory that a queued message occupies. The result does not change while the message is queued.
const fn size_of_message(text: &String) -> usize {
    text.capacity() + MESSAGE_OVERHEAD
}
