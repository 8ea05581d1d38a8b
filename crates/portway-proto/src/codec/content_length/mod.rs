//! The base protocol of the Language Server Protocol 3.17: `Content-Length: N`, a blank line, and N bytes of JSON.
//!
//! The encoder writes only the header `Content-Length`. The decoder accepts more forms:
//!
//! - The case of a header name has no effect. Whitespace may surround the colon, and may precede the end of a line.
//!   Lines end with CRLF or LF. The decoder ignores blank lines between frames, and headers other than `Content-Length`
//!   and `Content-Type`.
//! - In a line such as `done-Content-Length: 2`, the text before `Content-Length` may be output that lacks a line end.
//!   So the decoder uses this length if no line of the header is a `Content-Length`.
//! - A length consists of ASCII digits. If `Content-Length` is repeated, the values must be equal. A header that breaks
//!   one of these two rules is refused as [`FrameFault::InvalidHeader`].
//! - A length over the limit is reported directly after the header, even if the length exceeds a `u64`. The decoder
//!   then drops that number of bytes as they arrive. The decoder also drops the body after a header that is too large.
//!   If another header follows in place of a body, the decoder assumes that the body was not sent.
//! - Bytes that are neither a header nor a body are noise: output that a peer prints into the stream, or the rest of a
//!   broken message. In noise, a header may begin at any position in a line, with `Content-Length: N`.
//! - Output such as `warning: low on memory` has the form of a header line. The first line after a frame or after noise
//!   is noise if its name is unknown, and if it ends with LF instead of CRLF.
//! - If a length is too short, the rest of the body becomes noise. If a length is too long, the body includes the next
//!   header. If this longer body is not JSON, [`Decoder::reject_body`] searches the body for this header. If the header
//!   is found, the decoder decodes again from this header on.
//!
//! The decoder buffers at most one header and one message, within their limits. The length in a header reserves no
//! memory.

mod decode;
mod header;
mod search;

use alloc::vec::Vec;
use core::ops::Range;

pub use search::header_within;

use self::decode::{Item, Machine};
use super::event_bytes::Span;
use super::frame::{Event, FrameFault};
use super::limits::MAX_REREADS;
use crate::Limits;

/// Appends one message with its header.
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
    /// The bytes of rejected bodies that are decoded again. The next byte to decode is at `rescan_pos`.
    rescan: Vec<u8>,
    rescan_pos: usize,
    /// The number of bytes that may still be decoded again. See [`Decoder::reject_body`].
    rescan_budget: u64,
    last_body: Option<BodyPlace>,
}

/// The place of the body of the last event, for [`Decoder::reject_body`].
#[derive(Debug)]
enum BodyPlace {
    /// In the buffer that the decoder lends to the event.
    Buffer,
    /// In `rescan`.
    Rescan(Range<usize>),
    /// In the input of the last call of [`Decoder::next`]. The positions count from the beginning of this input.
    Input(Range<usize>),
}

impl Decoder {
    /// Creates a decoder for the beginning of a stream.
    #[must_use]
    pub const fn new(limits: &Limits) -> Self {
        let machine = Machine::new(limits);
        Self { machine, rescan: Vec::new(), rescan_pos: 0, rescan_budget: 0, last_body: None }
    }

    /// Returns the next event, and removes its bytes from the front of `input`. Returns `None` if `input` contains no
    /// further event. In this case, the decoder has buffered the incomplete message, and `input` is empty. If a frame
    /// is complete in `input`, its event borrows from `input`, without a copy.
    #[must_use]
    pub fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Option<Event<'a>> {
        self.machine.recycle();
        self.last_body = None;
        if let Some(dropped) = self.machine.dropped() {
            return Some(event(dropped, &[], &self.machine));
        }
        if !self.rescan.is_empty() {
            if let Some(item) = self.machine.next(&self.rescan, &mut self.rescan_pos) {
                self.last_body = BodyPlace::of(&item, BodyPlace::Rescan);
                return Some(event(item, &self.rescan, &self.machine));
            }
            self.rescan = Vec::new();
            self.rescan_pos = 0;
        }
        let source = *input;
        let mut used = 0;
        let item = self.machine.next(source, &mut used);
        *input = source.get(used..).unwrap_or_default();
        self.rescan_budget = self.rescan_budget.saturating_add((used as u64).saturating_mul(MAX_REREADS));
        let item = item?;
        self.last_body = BodyPlace::of(&item, BodyPlace::Input);
        Some(event(item, source, &self.machine))
    }

    /// Ends the input. Returns an event for the buffered bytes, or `None` if no bytes are buffered. Call this method
    /// after [`Self::next`] has returned `None`.
    #[must_use]
    pub fn finish(&mut self) -> Option<Event<'_>> {
        self.machine.recycle();
        self.last_body = None;
        let item = self.machine.finish()?;
        Some(event(item, &[], &self.machine))
    }

    /// Returns a number that identifies the incomplete message, or `None` between messages. A driver restarts the
    /// timeout [`crate::Limits::partial_frame_ms`] when this number changes. So the timeout applies to each message. A
    /// body that is dropped because of its length counts as a message.
    #[must_use]
    pub const fn unfinished(&self) -> Option<u64> {
        self.machine.unfinished()
    }

    /// Drops the incomplete message. If the header of the message is complete, the next call of [`Self::next`] returns
    /// [`Event::Dropped`], even without more input. An event that was already returned is not repeated. If the rest of
    /// the message arrives later, the rest is noise, and needs no further error response.
    pub fn time_out(&mut self) -> FrameFault {
        FrameFault::TimedOut { received_bytes: self.machine.time_out() }
    }

    /// Rejects the body that [`Self::next`] has just returned. Call this method if the body is not JSON. If the length
    /// in its header was too large, the body contains the next header. In this case, the decoder decodes again from
    /// this header on, before any further input.
    ///
    /// `input` must be the input as it was before the last call of [`Self::next`]. Returns the number of bytes that
    /// [`Self::next`] will decode again. The number is 0 if the body contains no header, or if the last event was not a
    /// body.
    ///
    /// Headers inside rejected bodies could cause the same bytes to be decoded many times. So the number of bytes that
    /// are decoded again has a limit, which grows with the input. Above this limit, the decoder drops the rejected
    /// body, and this method returns 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use portway_proto::Limits;
    /// use portway_proto::codec::content_length::Decoder;
    /// use portway_proto::codec::frame::Event;
    ///
    /// let mut decoder = Decoder::new(&Limits::DEFAULT);
    /// // The first length should be 2.
    /// let mut input = &b"Content-Length: 8\r\n\r\n{}Content-Length: 2\r\n\r\n[]"[..];
    /// let before = input;
    /// assert_eq!(decoder.next(&mut input), Some(Event::Body(b"{}Conten")));
    /// assert_eq!(decoder.reject_body(before), 6);
    /// assert_eq!(decoder.next(&mut input), Some(Event::Body(b"[]")));
    /// ```
    pub fn reject_body(&mut self, input: &[u8]) -> usize {
        let Some(place) = self.last_body.take() else { return 0 };
        let body = match &place {
            BodyPlace::Buffer => self.machine.bytes(Span::Buffer, &[]),
            BodyPlace::Rescan(range) => self.rescan.get(range.clone()).unwrap_or_default(),
            BodyPlace::Input(range) => input.get(range.clone()).unwrap_or_default(),
        };
        let Some((start, bytes_to_rescan)) = header_within(body).and_then(|start| Some((start, body.get(start..)?)))
        else {
            return 0;
        };
        let count = bytes_to_rescan.len();
        let rest = self.rescan.len() - self.rescan_pos;
        let Some(rescan_budget) = self.rescan_budget.checked_sub((count + rest) as u64) else { return 0 };
        self.rescan_budget = rescan_budget;
        if let BodyPlace::Rescan(range) = place {
            // Only the position changes. A copy of the remaining bytes for each rejected body would take quadratic
            // time.
            self.rescan_pos = range.start + start;
        } else {
            let bytes_to_rescan = bytes_to_rescan.to_vec();
            self.rescan.splice(..self.rescan_pos, bytes_to_rescan);
            self.rescan_pos = 0;
        }
        count
    }
}

impl BodyPlace {
    /// Returns the place of the body in an item, or `None` if the item has no body to reject. `place_in_source` is the
    /// variant for a body outside of the buffer: `Rescan` or `Input`.
    fn of(item: &Item, place_in_source: fn(Range<usize>) -> Self) -> Option<Self> {
        match item {
            Item::Body(Span::Buffer, None) => Some(Self::Buffer),
            Item::Body(Span::Source(range), None) => Some(place_in_source(range.clone())),
            _ => None,
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
