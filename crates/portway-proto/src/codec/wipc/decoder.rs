//! The decoder of WIPC. It buffers either an incomplete header (`partial_header`), or an accepted header (`frame`) with
//! the received part of its payload (`buffered`). The bytes between frames become passthrough.

use alloc::vec::Vec;
use core::mem;

use memchr::memchr;

use super::{Event, Frame, FrameType, HEADER_BYTES, MAGIC, MAX_PAYLOAD, header};
use crate::codec::beginning::Beginning;
use crate::codec::buffer::{grow, release};
use crate::codec::event_bytes::{EventBuffer, Span};
use crate::message::Unreadable;

/// Decodes the frames of a byte stream.
///
/// # Examples
///
/// ```
/// use portway_proto::codec::wipc::{Decoder, Event, Frame, FrameType};
///
/// let mut decoder = Decoder::new();
/// let mut input = &b"loading\nWIPC\x03\x02\0\0\0hi"[..];
/// assert_eq!(decoder.next(&mut input), Some(Event::Passthrough(b"loading\n")));
/// assert_eq!(decoder.next(&mut input), Some(Event::Frame(Frame { frame_type: FrameType::Data, payload: b"hi" })));
/// assert_eq!(decoder.next(&mut input), None);
/// ```
#[derive(Debug)]
pub struct Decoder {
    machine: Machine,
    /// The bytes of an abandoned frame that are scanned again. The next byte to scan is at `rescan_pos`.
    rescan: Vec<u8>,
    rescan_pos: usize,
}

#[derive(Debug)]
struct Machine {
    /// Maximum payload of any frame, in bytes.
    max_payload: u32,
    /// Maximum payload of a `CALL`, in bytes.
    max_call: usize,
    /// The payload of a dropped `CALL`: its length, and the number of bytes that have not arrived.
    dropped: Option<(usize, usize)>,
    /// The beginning of the payload of a dropped `CALL`.
    beginning: Beginning,
    /// A possible beginning of a header.
    partial_header: HeaderBuffer,
    /// The type and the payload length of the accepted header.
    frame: Option<(FrameType, usize)>,
    /// The received part of the payload.
    buffered: Vec<u8>,
    event_buffer: EventBuffer,
    /// The received length of a frame that is incomplete at the end of the input. `None` after an event has reported
    /// this length.
    truncated_len: Option<u64>,
    /// A number that identifies the incomplete payload. The number increases when a payload begins.
    message_number: u64,
}

/// The received bytes of a header.
#[derive(Debug)]
struct HeaderBuffer {
    bytes: [u8; HEADER_BYTES],
    length: usize,
}

/// An event like [`Event`], with spans in place of bytes.
#[derive(Debug)]
enum Item {
    Frame(FrameType, Span),
    Oversize(u64),
    Passthrough(Span),
    Truncated(u64),
    Dropped(Unreadable),
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Creates a decoder for the beginning of a stream. The decoder accepts payloads of any length.
    ///
    /// The length in a header does not reserve memory. The buffer grows as bytes arrive. Use
    /// [`Decoder::with_max_payload`] to limit the buffer.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_max_payload(MAX_PAYLOAD)
    }

    /// Creates a decoder that rejects headers whose payload exceeds `max_payload` bytes.
    #[must_use]
    pub const fn with_max_payload(max_payload: u32) -> Self {
        let machine = Machine {
            max_payload: if max_payload < MAX_PAYLOAD { max_payload } else { MAX_PAYLOAD },
            max_call: usize::MAX,
            dropped: None,
            beginning: Beginning::new(),
            partial_header: HeaderBuffer { bytes: [0; HEADER_BYTES], length: 0 },
            frame: None,
            buffered: Vec::new(),
            event_buffer: EventBuffer::new(),
            truncated_len: None,
            message_number: 0,
        };
        Self { machine, rescan: Vec::new(), rescan_pos: 0 }
    }

    /// Sets the maximum payload of a `CALL`, in bytes. A longer payload is reported as [`Event::Oversize`], and dropped
    /// as it arrives. Default: no limit.
    #[must_use]
    pub const fn with_max_call(mut self, max_call: usize) -> Self {
        self.machine.max_call = max_call;
        self
    }

    /// Returns the next event, and removes its bytes from the front of `input`. Returns `None` if `input` contains no
    /// further event. In this case, the decoder has buffered the incomplete frame, and `input` is empty. If a frame is
    /// complete in `input`, its event borrows the payload from `input`, without a copy.
    #[must_use]
    pub fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Option<Event<'a>> {
        self.machine.event_buffer.recycle(&mut self.machine.buffered);
        if let Some(why) = self.machine.beginning.take() {
            return Some(event(Item::Dropped(why), &[], &self.machine));
        }
        if !self.rescan.is_empty() {
            if let Some(item) = self.next_rescanned() {
                return Some(event(item, &self.rescan, &self.machine));
            }
            self.rescan = Vec::new();
        }
        let source = *input;
        let mut used = 0;
        let item = self.machine.next(source, &mut used);
        *input = source.get(used..).unwrap_or_default();
        Some(event(item?, source, &self.machine))
    }

    /// Returns the next event in the bytes of an abandoned frame. The first byte is passthrough, so that the header of
    /// the frame is not accepted again.
    fn next_rescanned(&mut self) -> Option<Item> {
        if self.rescan_pos == 0 {
            self.rescan_pos = 1;
            return Some(Item::Passthrough(Span::Source(0..1)));
        }
        self.machine.next(&self.rescan, &mut self.rescan_pos)
    }

    /// Ends the input. Returns buffered bytes as passthrough, and then reports a truncated frame. After [`Self::next`]
    /// has returned `None`, call this method until it returns `None`.
    #[must_use]
    pub fn finish(&mut self) -> Option<Event<'_>> {
        self.machine.event_buffer.recycle(&mut self.machine.buffered);
        let item = self.machine.finish()?;
        Some(event(item, &[], &self.machine))
    }

    /// Returns a number that identifies the incomplete payload, or `None` if no payload is incomplete.
    #[must_use]
    pub const fn unfinished(&self) -> Option<u64> {
        if self.machine.frame.is_some() || self.machine.dropped.is_some() {
            Some(self.machine.message_number)
        } else {
            None
        }
    }

    /// Abandons the incomplete frame. The first byte of the frame becomes passthrough, and the decoder searches the
    /// other received bytes for headers. Call [`Self::next`] afterwards, even without more input. Returns the number of
    /// received bytes of the frame, header included, or 0 if no frame is incomplete.
    ///
    /// If the decoder was dropping the payload of a `CALL` that is too long, it does not search the received part of
    /// this payload. It searches the rest of the payload as the bytes arrive.
    pub fn give_up(&mut self) -> usize {
        if let Some((length, rest)) = self.machine.dropped.take() {
            self.machine.beginning.close();
            return HEADER_BYTES + length - rest;
        }
        if self.machine.max_call < usize::MAX
            && let Some((FrameType::Call, _)) = self.machine.frame
        {
            self.machine.beginning.record_whole([self.machine.buffered.as_slice()], Unreadable::Stalled);
        }
        let Some(header) = self.machine.abandon_frame() else { return 0 };
        let mut bytes = mem::take(&mut self.machine.buffered);
        bytes.splice(0..0, header);
        let count = bytes.len();
        bytes.extend_from_slice(self.rescan.get(self.rescan_pos..).unwrap_or_default());
        self.rescan = bytes;
        self.rescan_pos = 0;
        count
    }
}

impl Machine {
    /// Reads `source` from the position `at` on, and advances `at`. Returns the next event, or `None` at the end of
    /// `source`.
    fn next(&mut self, source: &[u8], at: &mut usize) -> Option<Item> {
        while *at < source.len() {
            if let Some((length, rest)) = self.dropped {
                let count = rest.min(source.len() - *at);
                self.beginning.add(source.get(*at..*at + count)?);
                *at += count;
                self.dropped = (count < rest).then_some((length, rest - count));
                if self.dropped.is_none() {
                    self.beginning.close();
                }
                if let Some(why) = self.beginning.take() {
                    return Some(Item::Dropped(why));
                }
                continue;
            }
            let item = match self.frame {
                Some((frame_type, length)) => self.in_payload(frame_type, length, source, at),
                None if self.partial_header.length > 0 => self.in_header(source, at),
                None => self.between_frames(source, at),
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

    fn between_frames(&mut self, source: &[u8], at: &mut usize) -> Option<Item> {
        let rest = source.get(*at..)?;
        let start = self.search(rest);
        if start > 0 {
            let span = Span::Source(*at..*at + start);
            *at += start;
            return Some(Item::Passthrough(span));
        }
        if let Some(header) = rest.first_chunk() {
            *at += HEADER_BYTES;
            return self.accept(*header);
        }
        self.partial_header.push(rest);
        *at += rest.len();
        None
    }

    fn in_header(&mut self, source: &[u8], at: &mut usize) -> Option<Item> {
        let rest = source.get(*at..)?;
        let more = rest.get(..HEADER_BYTES - self.partial_header.length).unwrap_or(rest);
        self.partial_header.push(more);
        *at += more.len();
        let start = self.search(self.partial_header.get());
        if start > 0 {
            let span = self.event_buffer.copy_from(self.partial_header.get().get(..start)?);
            self.partial_header.drop_first(start);
            return Some(Item::Passthrough(span));
        }
        if self.partial_header.length < HEADER_BYTES {
            return None;
        }
        self.partial_header.length = 0;
        self.accept(self.partial_header.bytes)
    }

    /// Returns the position of the first byte that may begin a header, or the length of `bytes` if no byte may begin a
    /// header.
    fn search(&self, bytes: &[u8]) -> usize {
        let mut from = 0;
        while let Some(next) = bytes.get(from..).and_then(|rest| memchr(MAGIC[0], rest)) {
            let start = from + next;
            if bytes.get(start..).is_some_and(|rest| self.may_begin(rest)) {
                return start;
            }
            from = start + 1;
        }
        bytes.len()
    }

    /// Returns whether a valid header may begin with these bytes. The bytes may be a complete header.
    fn may_begin(&self, bytes: &[u8]) -> bool {
        match bytes {
            [b'W', b'I', b'P', b'C', code, length @ ..] => {
                let length = length.first_chunk().map(|length| u32::from_le_bytes(*length));
                FrameType::from_code(*code).is_some() && length.is_none_or(|length| length <= self.max_payload)
            }
            _ => MAGIC.starts_with(bytes),
        }
    }

    /// Begins the payload of a valid header. A frame without a payload is complete, and is returned.
    fn accept(&mut self, header: [u8; HEADER_BYTES]) -> Option<Item> {
        let [_, _, _, _, code, length @ ..] = header;
        let frame_type = FrameType::from_code(code)?;
        let length = u32::from_le_bytes(length) as usize;
        if length == 0 {
            return Some(Item::Frame(frame_type, Span::Source(0..0)));
        }
        self.message_number += 1;
        if frame_type == FrameType::Call && length > self.max_call {
            self.dropped = Some((length, length));
            self.beginning.open(Unreadable::TooLarge);
            return Some(Item::Oversize(length as u64));
        }
        self.frame = Some((frame_type, length));
        None
    }

    fn in_payload(&mut self, frame_type: FrameType, length: usize, source: &[u8], at: &mut usize) -> Option<Item> {
        let rest = source.get(*at..)?;
        let part = rest.get(..length - self.buffered.len()).unwrap_or(rest);
        let span = Span::Source(*at..*at + part.len());
        *at += part.len();
        if part.len() == length {
            self.frame = None;
            return Some(Item::Frame(frame_type, span));
        }
        grow(&mut self.buffered, part, length);
        if self.buffered.len() < length {
            return None;
        }
        self.frame = None;
        Some(Item::Frame(frame_type, self.event_buffer.move_from(&mut self.buffered)))
    }

    /// Removes the incomplete frame, and returns its header.
    fn abandon_frame(&mut self) -> Option<[u8; HEADER_BYTES]> {
        let (frame_type, length) = self.frame.take()?;
        // The length was read from a header, so it fits in a header.
        header(frame_type, length).ok()
    }

    fn finish(&mut self) -> Option<Item> {
        if let Some((length, rest)) = self.dropped.take() {
            return Some(Item::Truncated((HEADER_BYTES + length - rest) as u64));
        }
        if let Some(header) = self.abandon_frame() {
            self.truncated_len = Some((header.len() + self.buffered.len()) as u64);
            return Some(Item::Passthrough(self.event_buffer.copy_from(&header)));
        }
        if self.partial_header.length > 0 {
            // At the end of the input, a part of the magic `WIPC` counts as text. The whole magic counts as a truncated
            // frame.
            self.truncated_len =
                (self.partial_header.length >= MAGIC.len()).then_some(self.partial_header.length as u64);
            let span = self.event_buffer.copy_from(self.partial_header.get());
            self.partial_header.length = 0;
            return Some(Item::Passthrough(span));
        }
        if !self.buffered.is_empty() {
            return Some(Item::Passthrough(self.event_buffer.move_from(&mut self.buffered)));
        }
        self.truncated_len.take().map(Item::Truncated)
    }
}

impl HeaderBuffer {
    fn get(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Appends `more`, which must fit in the rest of the buffer.
    fn push(&mut self, more: &[u8]) {
        let end = self.length + more.len();
        if let Some(slot) = self.bytes.get_mut(self.length..end) {
            slot.copy_from_slice(more);
            self.length = end;
        }
    }

    fn drop_first(&mut self, count: usize) {
        self.bytes.copy_within(count..self.length, 0);
        self.length -= count;
    }
}

fn event<'a>(item: Item, source: &'a [u8], machine: &'a Machine) -> Event<'a> {
    let bytes = |span| machine.event_buffer.bytes(span, source);
    match item {
        Item::Frame(frame_type, span) => Event::Frame(Frame { frame_type, payload: bytes(span) }),
        Item::Passthrough(span) => Event::Passthrough(bytes(span)),
        Item::Oversize(length) => Event::Oversize { length },
        Item::Truncated(received_bytes) => Event::Truncated { received_bytes },
        Item::Dropped(why) => Event::Dropped { beginning: machine.beginning.bytes(), why },
    }
}
