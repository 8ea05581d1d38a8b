//! One message a line: the framing of MCP on stdio and of ACP.
//!
//! A line ends with LF or CRLF. Blanks before a message and blank lines are passed over. A line that is too long is told
//! once, and dropped up to its end as it comes. What a line holds is not looked at, so there is no noise here: what is no
//! JSON is told by who reads it.

use alloc::vec::Vec;
use core::mem;

use memchr::memchr;

use super::beginning::Beginning;
use super::buffer::{grow, leading_whitespace, release};
use super::frame::{Event, FrameFault};
use crate::Limits;
use crate::message::Unreadable;

/// Appends one message. Its text has to be on one line, as [`super::json::encode`] writes it.
pub fn encode(body: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(body.as_bytes());
    out.push(b'\n');
}

/// Finds the messages in a stream.
///
/// # Examples
///
/// ```
/// use portway::Limits;
/// use portway::codec::frame::Event;
/// use portway::codec::newline::Decoder;
///
/// let mut decoder = Decoder::new(&Limits::DEFAULT);
/// assert_eq!(decoder.next(&mut &b"{}\r\n"[..]), Some(Event::Body(b"{}")));
/// ```
#[derive(Debug)]
pub struct Decoder {
    max_bytes: usize,
    /// The line that has begun.
    held: Vec<u8>,
    /// The line that was returned away last.
    returned: Vec<u8>,
    /// The beginning of the line that is dropped.
    beginning: Beginning,
    skipping: Skipping,
    count: u64,
}

/// Whether what comes is dropped up to the end of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skipping {
    No,
    TooLong,
    TimedOut,
}

impl Decoder {
    /// A decoder at the beginning of its stream.
    #[must_use]
    pub const fn new(limits: &Limits) -> Self {
        Self {
            max_bytes: limits.message_bytes,
            held: Vec::new(),
            returned: Vec::new(),
            beginning: Beginning::new(),
            skipping: Skipping::No,
            count: 0,
        }
    }

    /// The next find. Takes from the front of `input` what it used; `None` when all of it is used up. A whole line in
    /// `input` is borrowed from there.
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
            self.count += 1;
        }
        if self.held.is_empty() {
            *input = input.get(leading_whitespace(input)..).unwrap_or_default();
        }
        // There is no line end to look for behind what the limit and a CRLF have room for.
        let room = self.max_bytes.saturating_sub(self.held.len()).saturating_add(2);
        let near = input.get(..room).unwrap_or(input);
        let end = memchr(b'\n', near);
        let line = near.get(..end.unwrap_or(near.len()))?;
        // Without its line end, a last CR may be half of it.
        let last = line.last().or_else(|| self.held.last());
        let length = self.held.len() + line.len() - usize::from(last == Some(&b'\r'));
        if length > self.max_bytes {
            self.beginning.drop_all([&self.held, line], Unreadable::TooLarge);
            self.held = Vec::new();
            self.skipping = Skipping::TooLong;
            return Some(Event::Fault(FrameFault::Oversize { length: None }));
        }
        *input = input.get(line.len() + usize::from(end.is_some())..).unwrap_or_default();
        if self.held.is_empty() && end.is_some() {
            self.count += 1;
            return Some(Event::Body(without_return(line)));
        }
        grow(&mut self.held, line, self.max_bytes.saturating_add(1));
        end?;
        self.count += 1;
        mem::swap(&mut self.held, &mut self.returned);
        Some(Event::Body(without_return(&self.returned)))
    }

    /// The input has ended: a last line without a line end is a message.
    #[must_use]
    pub fn finish(&mut self) -> Option<Event<'_>> {
        release(&mut self.returned);
        self.skipping = Skipping::No;
        self.count += 1;
        mem::swap(&mut self.held, &mut self.returned);
        let body = without_return(&self.returned);
        (!body.is_empty()).then_some(Event::Body(body))
    }

    /// A number that stays the same while one message has begun and is not complete; `None` in between. A line that is
    /// dropped for its length counts.
    #[must_use]
    pub const fn unfinished(&self) -> Option<u64> {
        if matches!(self.skipping, Skipping::TooLong) || !self.held.is_empty() { Some(self.count) } else { None }
    }

    /// Drops the message that has begun. The rest of its line is dropped in silence. [`Self::next`] then returns its
    /// beginning, without more input.
    pub fn time_out(&mut self) -> FrameFault {
        let held = self.held.len();
        if self.unfinished().is_some() {
            if self.skipping == Skipping::No {
                self.beginning.drop_all([self.held.as_slice()], Unreadable::Stalled);
            }
            self.skipping = Skipping::TimedOut;
        }
        self.held = Vec::new();
        FrameFault::TimedOut { held }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
