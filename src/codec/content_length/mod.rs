//! `Content-Length: N`, a blank line, and N bytes of JSON: the base protocol of the Language Server Protocol 3.17.
//!
//! What is written has that one header and no other. What is read:
//!
//! - Names of headers in any case, with blanks around the colon and at the end of a line; line ends CRLF or LF. Headers other
//!   than `Content-Length` and `Content-Type` are passed over, and so are blank lines between frames.
//! - A length has ASCII digits and nothing else. It may come twice if it is the same; else the header is
//!   [`FrameFault::InvalidHeader`].
//! - A length over the limit, however many digits it has, is told right after the header, and so many bytes are dropped as
//!   they come. So is a header that is too long. If the next thing that comes is a header, then the body was never sent.
//! - After a fault, the next `Content-Length: N` counts wherever in a line it stands. What is before it is noise: what a peer
//!   prints into the stream, or what is left of a broken message. A line of text that looks like a header of unknown name is
//!   noise too if it is the first one and ends with a mere LF.
//! - A length that is too short leaves noise behind. One that is too long swallows the next header: [`header_within`] finds
//!   it, and [`Decoder::unread`] takes it back.
//!
//! No more than a message and a header within their limits is held, and no more than has come.

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

/// Finds the messages in a stream.
///
/// # Examples
///
/// ```
/// use portway::Limits;
/// use portway::codec::content_length::Decoder;
/// use portway::codec::frame::Event;
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
    /// What was given back, from `read` on.
    unread: Vec<u8>,
    read: usize,
    /// How many bytes may still be given back.
    rescan_budget: u64,
}

impl Decoder {
    /// A decoder at the beginning of its stream.
    #[must_use]
    pub const fn new(limits: &Limits) -> Self {
        Self { machine: Machine::new(limits), unread: Vec::new(), read: 0, rescan_budget: 0 }
    }

    /// The next find. Takes from the front of `input` what it used; `None` when all of it is used up, and what is incomplete
    /// is kept inside. Whole frames in `input` are borrowed from there.
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

    /// The input has ended: what was held as an event, if anything was. Call it after [`Self::next`] gave `None`.
    #[must_use]
    pub fn finish(&mut self) -> Option<Event<'_>> {
        self.machine.recycle();
        let item = self.machine.finish()?;
        Some(event(item, &[], &self.machine))
    }

    /// A number that stays the same while one message has begun and is not complete: the time for
    /// [`crate::Limits::partial_frame_ms`] runs. `None` in between. A body that is dropped for its length counts.
    #[must_use]
    pub const fn unfinished(&self) -> Option<u64> {
        self.machine.unfinished()
    }

    /// Drops the message that has begun. The rest of it is noise that continues this fault. [`Self::next`] then returns
    /// its beginning, without more input.
    pub fn time_out(&mut self) -> FrameFault {
        FrameFault::TimedOut { held: self.machine.time_out() }
    }

    /// Gives back the end of the last body, from [`header_within`] on, to be read again before any further input.
    ///
    /// A stream of nothing but swallowed headers would be read again and again: once it has been several times over, bytes
    /// that are given back are dropped.
    pub fn unread(&mut self, bytes: &[u8]) {
        // What was read of what was given back before leaves room for these bytes, unless they are of another origin.
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
