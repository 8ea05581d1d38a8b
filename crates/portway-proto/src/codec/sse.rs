//! Server-sent events: the stream `text/event-stream` of MCP over HTTP (HTML Living Standard, section 9.2).
//!
//! A line ends with LF, CRLF or CR. A blank line ends an event. The value of several `data` lines is their texts, with
//! an LF between two of them. A byte order mark before the first line is skipped, and so are comments and unknown
//! fields. The decoder does not examine the data. The JSON decoder refuses data that is not JSON.
//!
//! Differences from the standard: the data is bytes, and invalid UTF-8 stays as it is. A line with the field `event`,
//! `id` or `retry` is ignored if its value is longer than [`Limits::header_bytes`] or is not UTF-8. A `retry` that does
//! not fit into 64 bits is ignored, too.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use memchr::{memchr, memchr2};

use super::beginning::Beginning;
use super::buffer::{grow, release};
use crate::Limits;
use crate::message::Unreadable;

/// The name of an event without the field `event`.
pub const DEFAULT_NAME: &str = "message";

/// Length of the longest name of a field, with its colon and space.
const LONGEST_PREFIX: usize = b"event: ".len();

/// The bytes of a byte order mark in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Appends one event. An event with an id and empty data is `encode(None, Some(id), "", out)`. A line end in `data`
/// starts another `data` line, so the decoder returns an LF in its place. `name` and `id` must not contain a line end
/// or a NUL. If they do, the event is appended without them.
pub fn encode(name: Option<&str>, id: Option<&str>, data: &str, out: &mut Vec<u8>) {
    for (field, value) in [("event", name), ("id", id)] {
        if let Some(value) = value.filter(|value| !value.contains(['\r', '\n', '\0'])) {
            encode_line(field, value, out);
        }
    }
    let mut rest = data;
    while let Some(end) = memchr2(b'\r', b'\n', rest.as_bytes()) {
        let (line, after) = rest.split_at(end);
        encode_line("data", line, out);
        rest = after.strip_prefix("\r\n").or_else(|| after.get(1..)).unwrap_or_default();
    }
    encode_line("data", rest, out);
    out.push(b'\n');
}

fn encode_line(field: &str, value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(field.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.push(b'\n');
}

/// An event of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A complete event.
    Message {
        /// The value of the field `event`, or [`DEFAULT_NAME`].
        name: &'a str,
        /// The lines of the fields `data`, with an LF between two lines. The data may be empty.
        data: &'a [u8],
    },
    /// An event whose data is longer than [`Limits::message_bytes`]. The decoder skips the rest of it, and keeps only
    /// its `id` and `retry`.
    TooLarge {
        /// The first kibibyte of its data. [`super::json::find_response_ids`] searches these bytes.
        beginning: &'a [u8],
    },
}

/// Decodes the events of a byte stream. At the end of the stream, drop the decoder: an incomplete event does not count
/// (HTML Living Standard, section 9.2.6).
///
/// # Examples
///
/// ```
/// use portway_proto::Limits;
/// use portway_proto::codec::sse::{Decoder, Event};
///
/// let mut decoder = Decoder::new(&Limits::DEFAULT);
/// let mut input = &b"id: 7\ndata: {}\n\n"[..];
/// assert_eq!(decoder.next(&mut input), Some(Event::Message { name: "message", data: b"{}" }));
/// assert_eq!(decoder.last_event_id(), "7");
/// ```
#[derive(Debug)]
pub struct Decoder {
    max_data_bytes: usize,
    max_value_bytes: usize,
    /// The number of bytes of the byte order mark that were received, or `None` after the beginning of the stream.
    mark_bytes: Option<usize>,
    /// Whether the last byte was a CR. An LF that follows belongs to the same line end.
    is_after_return: bool,
    /// The received part of an incomplete line.
    line: Vec<u8>,
    /// Whether the rest of the line is skipped.
    skips_line: bool,
    /// Whether the skipped line is data that belongs to `beginning`.
    records_line: bool,
    /// Whether the incomplete event is too large. Its data is then skipped.
    skips_data: bool,
    /// The data of the incomplete event, with a part of a line before it.
    data: Data,
    name: String,
    /// The data and the name of the last event, for its borrower.
    returned: Data,
    returned_name: String,
    /// The beginning of the last event that was too large.
    beginning: Beginning,
    /// The value of the latest field `id` of the incomplete event, if `has_new_id` is true.
    id: Vec<u8>,
    has_new_id: bool,
    /// The bytes are UTF-8.
    last_event_id: Vec<u8>,
    retry_ms: Option<u64>,
    /// Whether the next byte is the first byte of an event.
    is_between_events: bool,
}

/// The data of an event, if at least one field `data` was received.
#[derive(Debug, Default)]
struct Data {
    buffer: Vec<u8>,
    /// The position of the data in `buffer`. `None` before the first field `data`.
    start: Option<usize>,
}

impl Data {
    const fn new() -> Self {
        Self { buffer: Vec::new(), start: None }
    }

    fn bytes(&self) -> &[u8] {
        self.start.and_then(|start| self.buffer.get(start..)).unwrap_or_default()
    }

    fn clear(&mut self) {
        release(&mut self.buffer);
        self.start = None;
    }
}

impl Decoder {
    /// Creates a decoder for the beginning of a stream. [`Limits::message_bytes`] limits the data of an event, and
    /// [`Limits::header_bytes`] limits the values of `event` and `id`.
    #[must_use]
    pub const fn new(limits: &Limits) -> Self {
        Self {
            max_data_bytes: limits.message_bytes,
            max_value_bytes: limits.header_bytes,
            mark_bytes: Some(0),
            is_after_return: false,
            line: Vec::new(),
            skips_line: false,
            records_line: false,
            skips_data: false,
            data: Data::new(),
            name: String::new(),
            returned: Data::new(),
            returned_name: String::new(),
            beginning: Beginning::new(),
            id: Vec::new(),
            has_new_id: false,
            last_event_id: Vec::new(),
            retry_ms: None,
            is_between_events: false,
        }
    }

    /// Returns the id of the latest complete event that had one, or an empty text. A client that connects again sends
    /// this id as the header `Last-Event-ID`.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        str::from_utf8(&self.last_event_id).unwrap_or_default()
    }

    /// Returns the value of the latest field `retry`: the time before the client connects again, in milliseconds.
    #[must_use]
    pub const fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Returns the next event, and removes its bytes from the front of `input`. Returns `None` if `input` contains no
    /// further event. The decoder then has buffered the incomplete event, and `input` is empty. If the data is one line
    /// of `input`, the event borrows the data from `input`, without a copy.
    #[must_use]
    pub fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Option<Event<'a>> {
        self.returned.clear();
        if self.is_between_events && !input.is_empty() {
            self.skip_line_feed(input);
            if let Some(event) = WholeEvent::read(input, self.max_data_bytes, self.max_value_bytes) {
                *input = event.rest;
                if let Some(id) = event.id {
                    id.clone_into(&mut self.last_event_id);
                }
                return Some(Event::Message { name: event.name, data: event.data });
            }
        }
        self.skip_byte_order_mark(input);
        // The only line of data, if it is in `input`. All other data is in `self.data`.
        let mut borrowed: Option<&'i [u8]> = None;
        while !input.is_empty() {
            self.skip_line_feed(input);
            self.is_between_events = false;
            let end = memchr2(b'\n', b'\r', input);
            let (piece, rest) = input.split_at(end.unwrap_or(input.len()));
            *input = rest.get(1..).unwrap_or_default();
            self.is_after_return = rest.first() == Some(&b'\r');
            let is_complete = end.is_some();
            if self.line.is_empty() && is_complete && !self.skips_line {
                match split_field(piece) {
                    _ if piece.is_empty() => {
                        self.is_between_events = true;
                        if self.end_event(borrowed.is_some()) {
                            return Some(self.returned_event(borrowed));
                        }
                    }
                    (b"data", value) if borrowed.is_none() && self.accepts_first_data(value) => borrowed = Some(value),
                    (b"data", value) => {
                        self.copy(borrowed.take());
                        self.add_data(value);
                    }
                    (field, value) => self.set_field(field, value),
                }
            } else {
                self.copy(borrowed.take());
                self.add_to_line(piece);
                if is_complete {
                    self.end_line();
                }
            }
            if self.beginning.take().is_some() {
                return Some(Event::TooLarge { beginning: self.beginning.bytes() });
            }
        }
        self.copy(borrowed);
        None
    }

    /// Skips an LF that belongs to the CR before it.
    fn skip_line_feed(&mut self, input: &mut &[u8]) {
        if mem::take(&mut self.is_after_return) {
            *input = input.strip_prefix(b"\n").unwrap_or(input);
        }
    }

    /// Skips a byte order mark at the beginning of the stream. The mark may arrive in pieces.
    fn skip_byte_order_mark(&mut self, input: &mut &[u8]) {
        let Some(received) = self.mark_bytes else { return };
        let missing = BYTE_ORDER_MARK.get(received..).unwrap_or_default();
        if let Some(rest) = input.strip_prefix(missing) {
            *input = rest;
            self.mark_bytes = None;
        } else if missing.starts_with(input) {
            self.mark_bytes = Some(received + input.len());
            *input = &[];
        } else {
            self.line.extend_from_slice(BYTE_ORDER_MARK.get(..received).unwrap_or_default());
            self.mark_bytes = None;
        }
    }

    /// Returns whether this value is the first data of an event, and short enough.
    const fn accepts_first_data(&self, value: &[u8]) -> bool {
        self.data.start.is_none() && !self.skips_data && value.len() <= self.max_data_bytes
    }

    /// Copies the data that was borrowed from the input.
    fn copy(&mut self, borrowed: Option<&[u8]>) {
        if let Some(value) = borrowed {
            self.add_data(value);
        }
    }

    fn add_data(&mut self, value: &[u8]) {
        let separator: &[u8] = if self.data.start.is_some() { b"\n" } else { b"" };
        let length = self.data.bytes().len() + separator.len() + value.len();
        if length > self.max_data_bytes && !self.skips_data {
            self.skip_data();
        }
        let start = *self.data.start.get_or_insert(self.data.buffer.len());
        for part in [separator, value] {
            if self.skips_data {
                self.beginning.add(part);
            } else {
                grow(&mut self.data.buffer, part, start.saturating_add(self.max_data_bytes));
            }
        }
    }

    /// Drops the data of the incomplete event, because it is too large.
    fn skip_data(&mut self) {
        self.beginning.open(Unreadable::TooLarge);
        self.beginning.add(self.data.bytes());
        // The position records that the event has an earlier line of data.
        self.data = Data { buffer: Vec::new(), start: self.data.start.map(|_| 0) };
        self.skips_data = true;
    }

    /// Adds bytes to the incomplete line, or skips the rest of the line if the line has no effect.
    fn add_to_line(&mut self, piece: &[u8]) {
        if self.skips_line {
            if self.records_line {
                self.beginning.add(piece);
            }
            return;
        }
        // After these bytes, the name of the field is known.
        let room = LONGEST_PREFIX.saturating_sub(self.line.len());
        let (prefix, rest) = piece.split_at_checked(room).unwrap_or((piece, &[]));
        self.line.extend_from_slice(prefix);
        let (field, _) = split_field(&self.line);
        let length = self.line.len() + rest.len();
        let max = match field {
            b"" => 0,
            _ if self.line.len() < LONGEST_PREFIX => LONGEST_PREFIX,
            b"data" if self.skips_data => 0,
            b"data" => LONGEST_PREFIX.saturating_add(self.max_data_bytes.saturating_sub(self.data.bytes().len())),
            b"event" | b"id" | b"retry" => LONGEST_PREFIX.saturating_add(self.max_value_bytes),
            _ => 0,
        };
        if length <= max {
            grow(&mut self.line, rest, max);
            return;
        }
        self.skips_line = true;
        self.records_line = field == b"data";
        let line = mem::take(&mut self.line);
        if self.records_line {
            if !self.skips_data {
                self.skip_data();
            }
            self.add_data(split_field(&line).1);
            self.beginning.add(rest);
        }
    }

    /// Ends the line that is in `self.line`.
    fn end_line(&mut self) {
        if mem::take(&mut self.skips_line) {
            return;
        }
        let mut line = mem::take(&mut self.line);
        match split_field(&line) {
            (b"data", value) if self.accepts_first_data(value) => {
                self.data.start = Some(line.len() - value.len());
                mem::swap(&mut self.data.buffer, &mut line);
            }
            (field, value) => self.set_field(field, value),
        }
        release(&mut line);
        self.line = line;
    }

    fn set_field(&mut self, field: &[u8], value: &[u8]) {
        let max = self.max_value_bytes;
        let text = || str::from_utf8(value).ok().filter(|text| text.len() <= max);
        match field {
            b"data" => self.add_data(value),
            b"event" => {
                if let Some(text) = text() {
                    text.clone_into(&mut self.name);
                }
            }
            b"id" => {
                if let Some(text) = text().filter(|text| !text.contains('\0')) {
                    text.as_bytes().clone_into(&mut self.id);
                    self.has_new_id = true;
                }
            }
            b"retry" => {
                if let Some(text) = text().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())) {
                    self.retry_ms = text.parse().ok().or(self.retry_ms);
                }
            }
            _ => {}
        }
    }

    /// Ends the event at a blank line. Returns whether the event has data, which is borrowed or in `self.returned`.
    fn end_event(&mut self, is_borrowed: bool) -> bool {
        if mem::take(&mut self.has_new_id) {
            // The next field `id` overwrites the other text before the next exchange.
            mem::swap(&mut self.last_event_id, &mut self.id);
        }
        self.beginning.close();
        mem::swap(&mut self.name, &mut self.returned_name);
        self.name.clear();
        if mem::take(&mut self.skips_data) {
            self.data.clear();
            return false;
        }
        mem::swap(&mut self.data, &mut self.returned);
        is_borrowed || self.returned.start.is_some()
    }

    fn returned_event<'a>(&'a self, borrowed: Option<&'a [u8]>) -> Event<'a> {
        let name = if self.returned_name.is_empty() { DEFAULT_NAME } else { &self.returned_name };
        Event::Message { name, data: borrowed.unwrap_or_else(|| self.returned.bytes()) }
    }
}

/// An event of the common form: one line of data, and before it names and ids. Each line ends with LF or CRLF, and each
/// field has a space after its colon. Such an event is decoded without the state of the decoder.
struct WholeEvent<'i> {
    name: &'i str,
    /// The id, which is ASCII.
    id: Option<&'i [u8]>,
    data: &'i [u8],
    /// The input after the event.
    rest: &'i [u8],
}

impl<'i> WholeEvent<'i> {
    /// Reads the first event of `input`. Returns `None` if the event is incomplete or has another form.
    #[inline]
    fn read(input: &'i [u8], max_data_bytes: usize, max_value_bytes: usize) -> Option<Self> {
        let (mut name, mut id, mut rest) = (DEFAULT_NAME, None, input);
        let line = loop {
            if let Some(line) = rest.strip_prefix(b"data: ") {
                break line;
            }
            if let Some(line) = rest.strip_prefix(b"id: ") {
                let (value, after) = short_value(line, max_value_bytes)?;
                (id, rest) = (Some(value), after);
            } else if let Some(after) = rest.strip_prefix(b"event: message").and_then(after_line_end)
                && DEFAULT_NAME.len() <= max_value_bytes
            {
                (name, rest) = (DEFAULT_NAME, after);
            } else {
                let (value, after) = short_value(rest.strip_prefix(b"event: ")?, max_value_bytes)?;
                (name, rest) = (str::from_utf8(value).ok().filter(|name| !name.is_empty())?, after);
            }
        };
        let end = memchr2(b'\n', b'\r', line)?;
        let (data, after) = line.split_at_checked(end)?;
        let rest = after.strip_prefix(b"\n\n").or_else(|| after.strip_prefix(b"\r\n\r\n"))?;
        (data.len() <= max_data_bytes).then_some(Self { name, id, data, rest })
    }
}

/// Returns a value of printable ASCII, and the bytes after its line.
#[inline]
fn short_value(line: &[u8], max_bytes: usize) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|byte| !matches!(byte, b' '..=b'~'))?;
    let (value, after) = line.split_at_checked(end)?;
    let after = after_line_end(after)?;
    (value.len() <= max_bytes).then_some((value, after))
}

/// Returns the bytes after an LF or a CRLF.
#[inline]
fn after_line_end(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(b"\n").or_else(|| bytes.strip_prefix(b"\r\n"))
}

/// Splits a line into its field and value. A line without a colon is a field with an empty value. A comment has an
/// empty field.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some((field, value)) = memchr(b':', line).and_then(|end| line.split_at_checked(end)) else {
        return (line, b"");
    };
    let value = value.get(1..).unwrap_or_default();
    (field, value.strip_prefix(b" ").unwrap_or(value))
}
