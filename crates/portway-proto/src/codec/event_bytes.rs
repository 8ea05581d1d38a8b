//! The bytes of an event: a part of the input, or bytes that the decoder buffered and lends to the event.

use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use super::buffer::release;

/// The place of the bytes of an event.
#[derive(Debug)]
pub(super) enum Span {
    /// No bytes.
    Empty,
    /// At these positions of the input.
    Source(Range<usize>),
    /// In the [`EventBuffer`].
    Buffer,
}

/// Buffered bytes that the last event borrows.
#[derive(Debug)]
pub(super) struct EventBuffer(Vec<u8>);

impl EventBuffer {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Moves all bytes of `buffer` to `self`, so that the next event can borrow the bytes. Empties `buffer`.
    pub(super) fn move_from(&mut self, buffer: &mut Vec<u8>) -> Span {
        mem::swap(buffer, &mut self.0);
        buffer.clear();
        Span::Buffer
    }

    /// Copies `bytes` to `self`, so that the next event can borrow the copy.
    pub(super) fn copy_from(&mut self, bytes: &[u8]) -> Span {
        self.0.extend_from_slice(bytes);
        Span::Buffer
    }

    /// Drops the bytes of the last event. Call this method when no event borrows them. If `buffer` is empty, `buffer`
    /// receives the memory of these bytes, for the next message of the stream.
    pub(super) fn recycle(&mut self, buffer: &mut Vec<u8>) {
        self.0.clear();
        if buffer.is_empty() && buffer.capacity() < self.0.capacity() {
            mem::swap(buffer, &mut self.0);
        }
        release(&mut self.0);
    }

    /// Returns the bytes of a span. `source` is the input that contained the span.
    pub(super) fn bytes<'a>(&'a self, span: Span, source: &'a [u8]) -> &'a [u8] {
        match span {
            Span::Empty => &[],
            Span::Source(Range { start, end }) => source.get(start..end).unwrap_or_default(),
            Span::Buffer => &self.0,
        }
    }
}
