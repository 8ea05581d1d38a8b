//! The decoder. Its state is a header that is not complete (`head`), or one that was accepted and what has come of its
//! payload (`frame`, `held`); all other bytes leave as they come.

use alloc::vec::Vec;
use core::mem;

use memchr::memchr;

use super::{Event, Frame, FrameType, HEADER_BYTES, MAGIC, MAX_PAYLOAD, header};
use crate::codec::beginning::Beginning;
use crate::codec::buffer::{grow, release};
use crate::codec::lent::{Lent, Span};
use crate::message::Unreadable;

/// Finds the frames in a stream.
///
/// # Examples
///
/// ```
/// use portway::codec::wipc::{Decoder, Event, Frame, FrameType};
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
    /// What was given up, and is searched again from `read` on.
    rescan: Vec<u8>,
    rescan_pos: usize,
}

#[derive(Debug)]
struct Machine {
    max_payload: u32,
    /// The longest payload of a `CALL` that is kept, in bytes.
    max_call: usize,
    /// A payload that is longer than that: its length, and how much of it is still to come.
    dropped: Option<(usize, usize)>,
    /// The beginning of the payload of a `CALL` that is dropped.
    beginning: Beginning,
    /// What may be the beginning of a header.
    partial_header: HeaderBuffer,
    /// The frame whose header was accepted, and the length of its payload.
    frame: Option<(FrameType, usize)>,
    /// What has come of its payload.
    held: Vec<u8>,
    lent: Lent,
    /// How many bytes the end of the input has left of a frame, until that is told.
    truncated_len: Option<u64>,
    count: u64,
}

/// Up to a whole header.
#[derive(Debug)]
struct HeaderBuffer {
    bytes: [u8; HEADER_BYTES],
    length: usize,
}

/// A find, as [`Event`].
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
    /// A decoder at the beginning of its stream, which takes payloads of any length.
    ///
    /// No memory is reserved for what a header says: it grows as bytes come. Who has to bound it takes
    /// [`Decoder::with_max_payload`].
    #[must_use]
    pub const fn new() -> Self {
        Self::with_max_payload(MAX_PAYLOAD)
    }

    /// A decoder to which a header is invalid if it tells of a payload longer than this, in bytes.
    #[must_use]
    pub const fn with_max_payload(max_payload: u32) -> Self {
        let machine = Machine {
            max_payload: if max_payload < MAX_PAYLOAD { max_payload } else { MAX_PAYLOAD },
            max_call: usize::MAX,
            dropped: None,
            beginning: Beginning::new(),
            partial_header: HeaderBuffer { bytes: [0; HEADER_BYTES], length: 0 },
            frame: None,
            held: Vec::new(),
            lent: Lent::new(),
            truncated_len: None,
            count: 0,
        };
        Self { machine, rescan: Vec::new(), rescan_pos: 0 }
    }

    /// The same decoder, which keeps no payload of a `CALL` that is longer than this, in bytes: it is item as
    /// [`Event::Oversize`], and dropped as it comes.
    #[must_use]
    pub const fn with_max_call(mut self, max_call: usize) -> Self {
        self.machine.max_call = max_call;
        self
    }

    /// The next find. Takes from the front of `input` what it used; `None` when all of it is used up, and what is incomplete
    /// is kept inside. A payload that is whole in `input` is borrowed from there.
    #[must_use]
    pub fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Option<Event<'a>> {
        self.machine.lent.recycle(&mut self.machine.held);
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

    fn next_rescanned(&mut self) -> Option<Item> {
        if self.rescan_pos == 0 {
            self.rescan_pos = 1;
            return Some(Item::Passthrough(Span::Source(0..1)));
        }
        self.machine.next(&self.rescan, &mut self.rescan_pos)
    }

    /// The input has ended: what was held is passed through, and then it is told if it was a part of a frame. To be called
    /// until it gives `None`, after [`Self::next`] gave `None`.
    #[must_use]
    pub fn finish(&mut self) -> Option<Event<'_>> {
        self.machine.lent.recycle(&mut self.machine.held);
        let item = self.machine.finish()?;
        Some(event(item, &[], &self.machine))
    }

    /// A number that stays the same while a header was accepted and its payload is not complete; `None` in between.
    #[must_use]
    pub const fn unfinished(&self) -> Option<u64> {
        if self.machine.frame.is_some() || self.machine.dropped.is_some() { Some(self.machine.count) } else { None }
    }

    /// Takes the header whose payload does not come for no header: [`Self::next`] then passes its first byte through, and
    /// searches what has come behind that, so it is to be called even if there is no more input. Gives how many bytes had
    /// come, header included; 0 if no payload is waited for.
    ///
    /// Of a payload that is dropped nothing is searched: what still comes of it is searched, as if it were no part of one.
    pub fn give_up(&mut self) -> usize {
        if let Some((length, rest)) = self.machine.dropped.take() {
            self.machine.beginning.close();
            return HEADER_BYTES + length - rest;
        }
        if self.machine.max_call < usize::MAX
            && let Some((FrameType::Call, _)) = self.machine.frame
        {
            self.machine.beginning.drop_all([self.machine.held.as_slice()], Unreadable::Stalled);
        }
        let Some(header) = self.machine.abandon_frame() else { return 0 };
        let mut bytes = mem::take(&mut self.machine.held);
        bytes.splice(0..0, header);
        let count = bytes.len();
        bytes.extend_from_slice(self.rescan.get(self.rescan_pos..).unwrap_or_default());
        self.rescan = bytes;
        self.rescan_pos = 0;
        count
    }
}

impl Machine {
    /// The next find in `source` from `at` on. `None` when all of it is used up.
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
        if self.held.is_empty() {
            release(&mut self.held);
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
            let span = self.lent.copy(self.partial_header.get().get(..start)?);
            self.partial_header.drop_first(start);
            return Some(Item::Passthrough(span));
        }
        if self.partial_header.length < HEADER_BYTES {
            return None;
        }
        self.partial_header.length = 0;
        self.accept(self.partial_header.bytes)
    }

    /// Where the first of these bytes is that may begin a header, as far as they tell; their end if none may.
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

    /// Whether a header may begin with these bytes. A whole one is valid then.
    fn may_begin(&self, bytes: &[u8]) -> bool {
        match bytes {
            [b'W', b'I', b'P', b'C', code, length @ ..] => {
                let length = length.first_chunk().map(|length| u32::from_le_bytes(*length));
                FrameType::from_code(*code).is_some() && length.is_none_or(|length| length <= self.max_payload)
            }
            _ => MAGIC.starts_with(bytes),
        }
    }

    /// Goes over to the payload of a valid header. A frame without one is complete.
    fn accept(&mut self, header: [u8; HEADER_BYTES]) -> Option<Item> {
        let [_, _, _, _, code, length @ ..] = header;
        let frame_type = FrameType::from_code(code)?;
        let length = u32::from_le_bytes(length) as usize;
        if length == 0 {
            return Some(Item::Frame(frame_type, Span::Source(0..0)));
        }
        self.count += 1;
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
        let part = rest.get(..length - self.held.len()).unwrap_or(rest);
        let span = Span::Source(*at..*at + part.len());
        *at += part.len();
        if part.len() == length {
            self.frame = None;
            return Some(Item::Frame(frame_type, span));
        }
        grow(&mut self.held, part, length);
        if self.held.len() < length {
            return None;
        }
        self.frame = None;
        Some(Item::Frame(frame_type, self.lent.lend(&mut self.held)))
    }

    /// The header of the frame that is waited for, which is waited for no more.
    fn abandon_frame(&mut self) -> Option<[u8; HEADER_BYTES]> {
        let (frame_type, length) = self.frame.take()?;
        // Its length was read from such a header.
        header(frame_type, length).ok()
    }

    fn finish(&mut self) -> Option<Item> {
        if let Some((length, rest)) = self.dropped.take() {
            return Some(Item::Truncated((HEADER_BYTES + length - rest) as u64));
        }
        if let Some(header) = self.abandon_frame() {
            self.truncated_len = Some((header.len() + self.held.len()) as u64);
            return Some(Item::Passthrough(self.lent.copy(&header)));
        }
        if self.partial_header.length > 0 {
            // Less than the magic is text that happens to end so.
            self.truncated_len =
                (self.partial_header.length >= MAGIC.len()).then_some(self.partial_header.length as u64);
            let span = self.lent.copy(self.partial_header.get());
            self.partial_header.length = 0;
            return Some(Item::Passthrough(span));
        }
        if !self.held.is_empty() {
            return Some(Item::Passthrough(self.lent.lend(&mut self.held)));
        }
        self.truncated_len.take().map(Item::Truncated)
    }
}

impl HeaderBuffer {
    fn get(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// `more` has to fit.
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
    let bytes = |span| machine.lent.bytes(span, source);
    match item {
        Item::Frame(frame_type, span) => Event::Frame(Frame { frame_type, payload: bytes(span) }),
        Item::Passthrough(span) => Event::Passthrough(bytes(span)),
        Item::Oversize(length) => Event::Oversize { length },
        Item::Truncated(held) => Event::Truncated { held },
        Item::Dropped(why) => Event::Dropped { beginning: machine.beginning.bytes(), why },
    }
}
