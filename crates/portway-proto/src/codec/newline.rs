//! One message per line: the framing of MCP on stdio and of ACP.
//!
//! A line ends with LF or CRLF. Blank lines are skipped, and so is whitespace before a message. A line over the limit
//! is reported once, and dropped up to its end. The decoder does not examine the content of lines, and so never reports
//! noise. The JSON decoder refuses a line that is not JSON.

use alloc::vec::Vec;
use core::mem;

use memchr::memchr;

use super::beginning::Beginning;
use super::buffer::{grow, leading_whitespace, release};
use super::frame::{Event, FrameFault};
use crate::Limits;
use crate::message::Unreadable;

/// Appends one message. `body` must be one line, as [`super::json::encode`] writes it.
pub fn encode(body: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(body.as_bytes());
    out.push(b'\n');
}

/// Decodes the messages of a byte stream.
///
/// # Examples
///
/// ```
/// use portway_proto::Limits;
/// use portway_proto::codec::frame::Event;
/// use portway_proto::codec::newline::Decoder;
///
/// let mut decoder = Decoder::new(&Limits::DEFAULT);
/// assert_eq!(decoder.next(&mut &b"{}\r\n"[..]), Some(Event::Body(b"{}")));
/// ```
#[derive(Debug)]
pub struct Decoder {
    max_bytes: usize,
    /// The received part of an incomplete line.
    buffered: Vec<u8>,
    /// The line that the last event borrows.
    returned: Vec<u8>,
    /// The beginning of the dropped line.
    beginning: Beginning,
    skipping: Skipping,
    /// A number that identifies the incomplete line. The number increases at the end of each line.
    message_number: u64,
}

/// Whether the rest of the current line is dropped, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skipping {
    No,
    TooLong,
    TimedOut,
}

impl Decoder {
    /// Creates a decoder for the beginning of a stream.
    #[must_use]
    pub const fn new(limits: &Limits) -> Self {
        Self {
            max_bytes: limits.message_bytes,
            buffered: Vec::new(),
            returned: Vec::new(),
            beginning: Beginning::new(),
            skipping: Skipping::No,
            message_number: 0,
        }
    }

    /// Returns the next event, and removes its bytes from the front of `input`. Returns `None` if `input` contains no
    /// further event. In this case, the decoder has buffered the incomplete line, and `input` is empty. If a line is
    /// complete in `input`, its event borrows from `input`, without a copy.
    #[must_use]
    pub fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Option<Event<'a>> {
        release(&mut self.returned);
        if let Some(why) = self.beginning.take() {
            return Some(Event::Dropped { beginning: self.beginning.bytes(), why });
        }
        if self.skipping != Skipping::No {
            let end = memchr(b'\n', input);
            *input = end.and_then(|end| input.get(end + 1..)).unwrap_or_default();
            end?;
            self.skipping = Skipping::No;
            self.message_number += 1;
        }
        if self.buffered.is_empty() {
            *input = input.get(leading_whitespace(input)..).unwrap_or_default();
        }
        // The search ends where the longest valid line with its CRLF would end.
        let room = self.max_bytes.saturating_sub(self.buffered.len()).saturating_add(2);
        let near = input.get(..room).unwrap_or(input);
        let end = memchr(b'\n', near);
        let line = near.get(..end.unwrap_or(near.len()))?;
        // A CR at the end belongs to the line end, so it does not count. The LF may not have arrived yet.
        let last = line.last().or_else(|| self.buffered.last());
        let length = self.buffered.len() + line.len() - usize::from(last == Some(&b'\r'));
        if length > self.max_bytes {
            self.beginning.record_whole([&self.buffered, line], Unreadable::TooLarge);
            self.buffered = Vec::new();
            self.skipping = Skipping::TooLong;
            return Some(Event::Fault(FrameFault::Oversize { length: None }));
        }
        *input = input.get(line.len() + usize::from(end.is_some())..).unwrap_or_default();
        if self.buffered.is_empty() && end.is_some() {
            self.message_number += 1;
            return Some(Event::Body(without_return(line)));
        }
        grow(&mut self.buffered, line, self.max_bytes.saturating_add(1));
        end?;
        self.message_number += 1;
        mem::swap(&mut self.buffered, &mut self.returned);
        Some(Event::Body(without_return(&self.returned)))
    }

    /// Ends the input. If the last line has no line end, returns this line as a message.
    #[must_use]
    pub fn finish(&mut self) -> Option<Event<'_>> {
        release(&mut self.returned);
        self.skipping = Skipping::No;
        self.message_number += 1;
        mem::swap(&mut self.buffered, &mut self.returned);
        let body = without_return(&self.returned);
        (!body.is_empty()).then_some(Event::Body(body))
    }

    /// Returns a number that identifies the incomplete message, or `None` between messages. A line that is dropped
    /// because of its length counts as a message.
    #[must_use]
    pub const fn unfinished(&self) -> Option<u64> {
        if matches!(self.skipping, Skipping::TooLong) || !self.buffered.is_empty() {
            Some(self.message_number)
        } else {
            None
        }
    }

    /// Drops the incomplete message. The next call of [`Self::next`] returns the beginning of the message as
    /// [`Event::Dropped`], even without more input. This event is omitted if the message was already dropped because of
    /// its length. The decoder drops the rest of the line without an event.
    pub fn time_out(&mut self) -> FrameFault {
        let received_bytes = self.buffered.len();
        if self.unfinished().is_some() {
            if self.skipping == Skipping::No {
                self.beginning.record_whole([self.buffered.as_slice()], Unreadable::Stalled);
            }
            self.skipping = Skipping::TimedOut;
        }
        self.buffered = Vec::new();
        FrameFault::TimedOut { received_bytes }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
