//! The state machine of the decoder. `line` handles header lines, `noise` handles noise, and this file handles bodies.

mod line;
mod noise;

use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use super::header::canonical_header;
use super::search::{HeaderMatch, Peek, peek};
use crate::Limits;
use crate::codec::beginning::Beginning;
use crate::codec::buffer::{grow, release};
use crate::codec::event_bytes::{EventBuffer, Span};
use crate::codec::frame::FrameFault;
use crate::message::{Reason, Unreadable};

/// An event like [`crate::codec::frame::Event`], with spans in place of bytes.
#[derive(Debug)]
pub(super) enum Item {
    Body(Span, Option<Reason>),
    Fault(FrameFault),
    Noise { span: Span, starts: bool },
    Dropped(Unreadable),
}

/// The part of the decoder that reads bytes. [`super::Decoder`] stores the bytes that are decoded again.
#[derive(Debug)]
pub(super) struct Machine {
    /// The limit [`Limits::message_bytes`].
    message_bytes: usize,
    /// The limit [`Limits::header_bytes`].
    header_bytes: usize,
    state: State,
    header: Header,
    /// The received part of an incomplete line or body.
    buffered: Vec<u8>,
    event_buffer: EventBuffer,
    /// The beginning of the dropped message.
    beginning: Beginning,
    /// True after noise or a fault. While true, further noise continues the same run of noise.
    is_in_noise_run: bool,
    /// A number that identifies the incomplete message. The number increases between two messages.
    message_number: u64,
}

/// The position of the decoder in the stream.
#[derive(Clone, Copy, Debug)]
enum State {
    /// In a line that may be a header.
    Line(LinePosition),
    /// In noise, or in the rest of a line that is too long for a header.
    Noise {
        progress: HeaderMatch,
        line_end: LineEndEffect,
    },
    Body {
        length: usize,
        reason: Option<Reason>,
    },
    /// In a dropped body. `is_new` is true until the received bytes show that they are a body, and not another header.
    Drop {
        remaining: u64,
        is_new: bool,
    },
}

/// The position in a line that may be a header line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinePosition {
    Start,
    /// After a CR at the start of the line.
    Return,
    Name,
    /// In whitespace before the colon.
    BeforeColon,
    Value,
}

/// The effect of the next line end on the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEndEffect {
    /// No effect.
    None,
    /// The first line of a possible header is too long. If the line ends with CRLF, it is a header line. If the line
    /// ends with LF alone, it is noise, and the header is dropped. `before` is the last received byte of the line,
    /// because the CR may be in another chunk than the LF.
    DecidesFirstLine { before: u8 },
}

/// The content of the header lines so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    /// The number of received bytes of the message that are not buffered. It counts the header lines and the dropped
    /// part of the body.
    bytes: usize,
    /// The value of `Content-Length`, or `None` without this header line. The inner `None` stands for a length that
    /// exceeds a `u64`.
    length: Option<Option<u64>>,
    /// See [`Line::SuffixedLength`](super::header::Line::SuffixedLength).
    suffixed_length: Option<Option<u64>>,
    /// The reason to refuse the body, or `None` to accept the body.
    reason: Option<Reason>,
    /// At least one line is a `Content-Length` or a `Content-Type`.
    is_known: bool,
    /// The header was found inside a line, or noise was received between its lines. If true, a second `Content-Length`
    /// with another value begins a new header, and does not contradict the first value.
    is_uncertain: bool,
    /// A fault was already reported. The rest of the header is read only to find the number of bytes to drop.
    is_refused: bool,
    /// The header has two different lengths, or an invalid length after a fault.
    is_contradictory: bool,
}

impl Header {
    const NEW: Self = Self {
        bytes: 0,
        length: None,
        suffixed_length: None,
        reason: None,
        is_known: false,
        is_uncertain: false,
        is_refused: false,
        is_contradictory: false,
    };
}

impl Machine {
    pub(super) const fn new(limits: &Limits) -> Self {
        Self {
            message_bytes: limits.message_bytes,
            header_bytes: limits.header_bytes,
            state: State::Line(LinePosition::Start),
            header: Header::NEW,
            buffered: Vec::new(),
            event_buffer: EventBuffer::new(),
            beginning: Beginning::new(),
            is_in_noise_run: false,
            message_number: 0,
        }
    }

    /// Returns the bytes of `span`. `source` is the input that contained the span.
    pub(super) fn bytes<'a>(&'a self, span: Span, source: &'a [u8]) -> &'a [u8] {
        self.event_buffer.bytes(span, source)
    }

    pub(super) fn beginning(&self) -> &[u8] {
        self.beginning.bytes()
    }

    /// Returns the item for a dropped message, if the beginning of the message is complete. Returns each item once.
    pub(super) fn dropped(&mut self) -> Option<Item> {
        self.beginning.take().map(Item::Dropped)
    }

    /// Empties the buffer that the last event has borrowed, and reuses its memory.
    pub(super) fn recycle(&mut self) {
        self.event_buffer.recycle(&mut self.buffered);
    }

    /// See [`Decoder::unfinished`](super::Decoder::unfinished).
    pub(super) const fn unfinished(&self) -> Option<u64> {
        // A header can be refused before its first line is counted.
        let in_header = self.header.bytes > 0 || self.header.is_refused;
        let has_begun = match self.state {
            State::Line(_) => in_header || !self.buffered.is_empty(),
            // Inside noise, a message begins with the whole name `Content-Length`, not with a part of this name.
            State::Noise { progress, .. } => in_header || !matches!(progress, HeaderMatch::Name(_)),
            State::Body { .. } | State::Drop { .. } => true,
        };
        if has_begun { Some(self.message_number) } else { None }
    }

    /// Drops the buffered bytes. Returns the number of bytes of the message that were received.
    pub(super) fn time_out(&mut self) -> usize {
        let received_bytes = self.header.bytes + self.buffered.len();
        match self.state {
            State::Body { .. } => self.beginning.record_whole([self.buffered.as_slice()], Unreadable::Stalled),
            State::Drop { .. } => self.beginning.close(),
            State::Line(_) | State::Noise { .. } => {}
        }
        self.buffered = Vec::new();
        self.is_in_noise_run = true;
        self.start_over();
        received_bytes
    }

    /// Reads `source` from the position `at` on, and advances `at`. Returns the next event, or `None` at the end of
    /// `source`.
    pub(super) fn next(&mut self, source: &[u8], at: &mut usize) -> Option<Item> {
        while *at < source.len() {
            let item = match self.state {
                State::Line(LinePosition::Start) => {
                    if self.read_canonical_header(source, at) {
                        continue;
                    }
                    self.in_line(LinePosition::Start, source, at)
                }
                State::Line(position) => self.in_line(position, source, at),
                State::Noise { progress, line_end } => self.in_noise(progress, line_end, source, at),
                State::Body { length, reason } => self.in_body(length, reason, source, at),
                State::Drop { remaining, is_new } => self.in_dropped(remaining, is_new, source, at),
            };
            if item.is_some() {
                return item;
            }
        }
        if self.buffered.is_empty() {
            release(&mut self.buffered);
        }
        None
    }

    /// Reads a complete header that has exactly the form that the encoder writes. For any other header, for the length
    /// 0 and for a length over the limit, reads nothing and returns false.
    fn read_canonical_header(&mut self, source: &[u8], at: &mut usize) -> bool {
        if self.header != Header::NEW || !self.buffered.is_empty() {
            return false;
        }
        let Some((length, bytes)) = source.get(*at..).and_then(canonical_header) else { return false };
        if length == 0 || length > self.message_bytes || bytes > self.header_bytes {
            return false;
        }
        *at += bytes;
        self.header.bytes = bytes;
        self.is_in_noise_run = false;
        self.state = State::Body { length, reason: None };
        true
    }

    /// See [`Decoder::finish`](super::Decoder::finish).
    pub(super) fn finish(&mut self) -> Option<Item> {
        let received_bytes = self.header.bytes + self.buffered.len();
        let is_message = match self.state {
            State::Line(_) if self.header.bytes > 0 => self.header.is_known || !self.is_in_noise_run,
            // An incomplete line is noise, unless its bytes so far match the beginning of a known header.
            State::Line(_) => [&b"content-length"[..], b"content-type"].iter().any(|name| {
                let shorter = name.len().min(self.buffered.len());
                !self.buffered.is_empty()
                    && self
                        .buffered
                        .get(..shorter)
                        .is_some_and(|start| name.get(..shorter).is_some_and(|name| start.eq_ignore_ascii_case(name)))
            }),
            State::Noise { .. } => false,
            State::Body { .. } => true,
            State::Drop { .. } => {
                self.buffered.clear();
                false
            }
        };
        let item = if is_message {
            (!self.header.is_refused).then_some(Item::Fault(FrameFault::Truncated { received_bytes }))
        } else {
            self.return_noise()
        };
        self.buffered.clear();
        self.is_in_noise_run = false;
        self.start_over();
        item
    }

    /// Reads a body, unless another header follows in its place.
    fn in_body(&mut self, length: usize, reason: Option<Reason>, source: &[u8], at: &mut usize) -> Option<Item> {
        let rest = source.get(*at..)?;
        if self.buffered.is_empty() {
            let body = rest.get(..length);
            match peek(body.unwrap_or(rest)) {
                Peek::Header => {
                    self.start_over();
                    return Some(Item::Body(Span::Empty, reason));
                }
                _ if body.is_some() => {
                    let span = Span::Source(*at..*at + length);
                    *at += length;
                    self.start_over();
                    return Some(Item::Body(span, reason));
                }
                _ => {}
            }
        } else if peek(&self.buffered) == Peek::Undecided {
            // The bytes are read one by one until they show whether they are a header. This decision needs at most
            // `MAX_PEEK_BYTES` bytes.
            self.buffered.push(*rest.first()?);
            *at += 1;
            if peek(&self.buffered) == Peek::Header {
                self.start_over();
                self.state = State::Line(LinePosition::Value);
                return Some(Item::Body(Span::Empty, reason));
            }
            return (self.buffered.len() == length).then(|| self.return_body(reason));
        }
        let rest = rest.get(..length - self.buffered.len()).unwrap_or(rest);
        let rest = if self.buffered.is_empty() && peek(rest) == Peek::Undecided { rest.get(..1)? } else { rest };
        grow(&mut self.buffered, rest, length);
        *at += rest.len();
        (self.buffered.len() == length).then(|| self.return_body(reason))
    }

    /// Returns the buffered bytes as the body.
    fn return_body(&mut self, reason: Option<Reason>) -> Item {
        let span = self.event_buffer.move_from(&mut self.buffered);
        self.start_over();
        Item::Body(span, reason)
    }

    /// Drops the bytes of a refused body, unless another header follows in its place.
    fn in_dropped(&mut self, remaining: u64, is_new: bool, source: &[u8], at: &mut usize) -> Option<Item> {
        let rest = source.get(*at..)?;
        if !is_new {
            let length = usize::try_from(remaining).unwrap_or(usize::MAX).min(rest.len());
            *at += length;
            self.beginning.add(rest.get(..length)?);
            self.count_dropped(remaining, length);
            return self.dropped();
        }
        self.buffered.push(*rest.first()?);
        match peek(&self.buffered) {
            Peek::Undecided => *at += 1,
            Peek::Header => {
                *at += 1;
                self.start_over();
                self.state = State::Line(LinePosition::Value);
                self.beginning.close();
                return self.dropped();
            }
            Peek::Body => {
                // `at` does not include the last byte, so the next step reads this byte again.
                self.buffered.pop();
                let dropped = usize::try_from(remaining).unwrap_or(usize::MAX).min(self.buffered.len());
                self.beginning.add(self.buffered.get(..dropped)?);
                self.count_dropped(remaining, dropped);
                self.buffered.drain(..dropped);
                return self.return_noise();
            }
        }
        None
    }

    /// Adds dropped bytes of the body to the count that a timeout reports. Ends the message after the last byte of the
    /// body.
    fn count_dropped(&mut self, remaining: u64, dropped: usize) {
        self.header.bytes = self.header.bytes.saturating_add(dropped);
        let remaining = remaining - dropped as u64;
        self.state = State::Drop { remaining, is_new: false };
        if remaining == 0 {
            self.beginning.close();
            self.start_over();
        }
    }

    fn start_over(&mut self) {
        self.state = State::Line(LinePosition::Start);
        self.header = Header::NEW;
        self.message_number += 1;
    }

    fn noise(&mut self, range: Range<usize>) -> Item {
        Item::Noise { span: Span::Source(range), starts: !mem::replace(&mut self.is_in_noise_run, true) }
    }

    /// Returns the buffered bytes as noise.
    fn return_noise(&mut self) -> Option<Item> {
        if self.buffered.is_empty() {
            return None;
        }
        let span = self.event_buffer.move_from(&mut self.buffered);
        Some(Item::Noise { span, starts: !mem::replace(&mut self.is_in_noise_run, true) })
    }
}
