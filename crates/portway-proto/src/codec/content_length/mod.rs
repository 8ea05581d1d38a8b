//! `Content-Length: N`, a blank line, and N bytes of JSON: the base protocol of the Language Server Protocol 3.17.
//!
//! The encoder writes this header and no other. The decoder accepts more:
//!
//! - Header names in any case, with whitespace around the colon and at the end of a line. Lines end with CRLF or LF.
//!   Headers other than `Content-Length` and `Content-Type` are ignored, and so are blank lines between frames.
//! - A length consists of ASCII digits. A repeated length must be equal, else the header is
//!   [`FrameFault::InvalidHeader`].
//! - A length over the limit is reported right after the header, however many digits it has. Then that many bytes are
//!   dropped as they come. A header over the limit is treated likewise. If a header follows instead of the body, the
//!   body was never sent.
//! - After a fault, the next `Content-Length: N` counts wherever it stands in a line. The bytes before it are noise:
//!   output that a peer prints into the stream, or the rest of a broken message. A line that looks like an unknown
//!   header is noise too, if it is the first line and ends with LF alone.
//! - A length that is too short leaves noise behind. A length that is too long swallows the next header:
//!   [`header_within`] finds it, and [`Decoder::unread`] returns it to the decoder.
//!
//! The decoder buffers at most one header and one message within their limits, and never more than it has received.

mod decode;
mod header;
mod search;

use alloc::vec::Vec;

pub use search::header_within;

use self::decode::{Item, Machine};
use super::frame::{Event, FrameFault};
use super::limits::MAX_REREADS;
use crate::Limits;

/// Appends one message.
pub fn encode(body: &str, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = body.len();
    for (index, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        start = index;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(b"Content-Length: ");
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(body.as_bytes());
}

/// Decodes the messages of a byte stream.
///
/// # Examples
///
/// ```
/// use portway_proto::Limits;
/// use portway_proto::codec::content_length::Decoder;
/// use portway_proto::codec::frame::Event;
///
/// let mut decoder = Decoder::new(&Limits::DEFAULT);
/// let mut first = &b"Content-Length: 2\r\n\r"[..];
/// assert_eq!(decoder.next(&mut first), None);
/// let mut second = &b"\n{}warning: low on memory\n"[..];
/// assert_eq!(decoder.next(&mut second), Some(Event::Body(b"{}")));
/// assert!(matches!(decoder.next(&mut second), Some(Event::Noise { starts: true, .. })));
/// ```
#[derive(Debug)]
pub struct Decoder {
    machine: Machine,
    /// Bytes that were unread. The next one is at `read`.
    unread: Vec<u8>,
    read: usize,
    /// How many bytes may still be unread.
    rescan_budget: u64,
}

impl Decoder {
    /// Creates a decoder for the beginning of a stream.
    #[must_use]
    pub const fn new(limits: &Limits) -> Self {
        Self { machine: Machine::new(limits), unread: Vec::new(), read: 0, rescan_budget: 0 }
    }

    /// Returns the next event and removes its bytes from the front of `input`. Returns `None` when `input` is used up;
    /// an incomplete message is buffered. A complete frame in `input` is borrowed, not copied.
    #[must_use]
    pub fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Option<Event<'a>> {
        self.machine.recycle();
        if let Some(dropped) = self.machine.dropped() {
            return Some(event(dropped, &[], &self.machine));
        }
        let rescanned = if self.unread.is_empty() { None } else { self.machine.next(&self.unread, &mut self.read) };
        if let Some(item) = rescanned {
            return Some(event(item, &self.unread, &self.machine));
        }
        if !self.unread.is_empty() {
            self.unread = Vec::new();
            self.read = 0;
        }
        let source = *input;
        let mut used = 0;
        let item = self.machine.next(source, &mut used);
        *input = source.get(used..).unwrap_or_default();
        self.rescan_budget = self.rescan_budget.saturating_add((used as u64).saturating_mul(MAX_REREADS));
        Some(event(item?, source, &self.machine))
    }

    /// Ends the input. Returns the buffered bytes as an event, if there are any. Call it after [`Self::next`] has
    /// returned `None`.
    #[must_use]
    pub fn finish(&mut self) -> Option<Event<'_>> {
        self.machine.recycle();
        let item = self.machine.finish()?;
        Some(event(item, &[], &self.machine))
    }

    /// Returns a number that stays the same while one message is incomplete, for the timeout
    /// [`crate::Limits::partial_frame_ms`]. Returns `None` between messages. A body that is dropped for its length
    /// counts as a message.
    #[must_use]
    pub const fn unfinished(&self) -> Option<u64> {
        self.machine.unfinished()
    }

    /// Drops the incomplete message. The rest of it is noise that continues this fault. [`Self::next`] then returns the
    /// beginning of the message, without more input.
    pub fn time_out(&mut self) -> FrameFault {
        FrameFault::TimedOut { held: self.machine.time_out() }
    }

    /// Returns the end of the last body to the decoder, from [`header_within`] on. The decoder reads it before any
    /// further input.
    ///
    /// Swallowed headers could cause a byte to be read without end. After several readings of a byte on average, unread
    /// bytes are dropped.
    pub fn unread(&mut self, bytes: &[u8]) {
        // The space of the bytes read before is used again, unless these bytes are of another origin.
        let start = self.read.checked_sub(bytes.len());
        let rest = if start.is_some() { 0 } else { self.unread.len() - self.read };
        let Some(rescan_budget) = self.rescan_budget.checked_sub((bytes.len() + rest) as u64) else { return };
        self.rescan_budget = rescan_budget;
        if let Some(slot) = start.and_then(|start| self.unread.get_mut(start..self.read)) {
            slot.copy_from_slice(bytes);
            self.read -= bytes.len();
        } else {
            self.unread.splice(..self.read, bytes.iter().copied());
            self.read = 0;
        }
    }
}

fn event<'a>(item: Item, source: &'a [u8], machine: &'a Machine) -> Event<'a> {
    let bytes = |span| machine.bytes(span, source);
    match item {
        Item::Body(span, None) => Event::Body(bytes(span)),
        Item::Body(span, Some(reason)) => Event::Refused { body: bytes(span), reason },
        Item::Fault(fault) => Event::Fault(fault),
        Item::Noise { span, starts } => Event::Noise { bytes: bytes(span), starts },
        Item::Dropped(why) => Event::Dropped { beginning: machine.beginning(), why },
    }
}
