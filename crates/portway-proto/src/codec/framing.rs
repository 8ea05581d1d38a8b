//! The framings of byte streams, selected at run time.

use alloc::vec::Vec;

use super::buffer::leading_whitespace;
use super::frame::{Event, FrameFault};
use super::limits::MAX_BEGINNING;
use super::wipc::FrameType;
use super::{content_length, json, newline, wipc};
use crate::Limits;
use crate::framing::Framing;

impl Framing {
    /// Detects the framing of a peer from the first bytes that the peer has sent. Returns `None` if these bytes do not
    /// show the framing yet. A line of JSON without the member `jsonrpc` does not count, since it may belong to a log.
    ///
    /// # Examples
    ///
    /// ```
    /// use portway_proto::Framing;
    ///
    /// assert_eq!(Framing::recognise(b"content-length: 2\r\n"), Some(Framing::ContentLength));
    /// assert_eq!(Framing::recognise(b"\n{\"jsonrpc\":"), Some(Framing::Newline));
    /// assert_eq!(Framing::recognise(b"{\"level\":30}\n"), None);
    /// assert_eq!(Framing::recognise(b"Content-"), None);
    /// ```
    #[must_use]
    pub fn recognise(first_bytes: &[u8]) -> Option<Self> {
        if json::find_response_ids(first_bytes, |_| {}).has_version {
            return Some(Self::Newline);
        }
        let message = first_bytes.get(leading_whitespace(first_bytes)..)?;
        let is_header =
            |name: &str| message.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()));
        match message {
            [b'W', b'I', b'P', b'C', 0..4, ..] => Some(Self::Wipc),
            _ if is_header("content-length") || is_header("content-type") => Some(Self::ContentLength),
            _ => None,
        }
    }

    /// Returns the maximum length of a message, in bytes, or `None` if the framing has no maximum.
    #[must_use]
    pub const fn longest_message(self) -> Option<usize> {
        match self {
            Self::ContentLength | Self::Newline => None,
            Self::Wipc => Some(u32::MAX as usize),
        }
    }

    /// Appends one message. `body` must be one line, as [`super::json::encode`] writes it. A message longer than
    /// [`Framing::longest_message`] is not appended.
    pub fn encode(self, body: &str, out: &mut Vec<u8>) {
        match self {
            Self::ContentLength => content_length::encode(body, out),
            Self::Newline => newline::encode(body, out),
            Self::Wipc => wipc::encode(FrameType::Call, body.as_bytes(), out).unwrap_or_default(),
        }
    }
}

/// Detects the framing of a stream that arrives in pieces. The recogniser examines each line separately.
///
/// # Examples
///
/// ```
/// use portway_proto::{Framing, codec::Recogniser};
///
/// let mut recogniser = Recogniser::default();
/// assert_eq!(recogniser.look(b"starting\n{\"json"), None);
/// assert_eq!(recogniser.look(b"rpc\":\"2.0\"}\n"), Some(Framing::Newline));
/// ```
#[derive(Debug, Default)]
pub struct Recogniser {
    /// The beginning of the incomplete line, at most [`MAX_BEGINNING`] bytes.
    line: Vec<u8>,
}

impl Recogniser {
    /// Examines the next bytes. Returns the framing of the first line that shows a framing, or `None` if no line shows
    /// one. The last line may be incomplete.
    pub fn look(&mut self, bytes: &[u8]) -> Option<Framing> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_BEGINNING - self.line.len();
            self.line.extend_from_slice(piece.get(..room).unwrap_or(piece));
            let framing = if room > 0 { Framing::recognise(&self.line) } else { None };
            if piece.ends_with(b"\n") {
                self.line.clear();
            }
            if framing.is_some() {
                return framing;
            }
        }
        None
    }
}

/// A decoder for any framing. This decoder has the methods of [`content_length::Decoder`].
#[derive(Debug)]
pub struct FrameDecoder(Inner);

#[derive(Debug)]
enum Inner {
    ContentLength(content_length::Decoder),
    Newline(newline::Decoder),
    Wipc { decoder: wipc::Decoder, adapter: WipcAdapter },
}

impl FrameDecoder {
    /// Creates a decoder for the beginning of a stream.
    #[must_use]
    pub const fn new(framing: Framing, limits: &Limits) -> Self {
        Self(match framing {
            Framing::ContentLength => Inner::ContentLength(content_length::Decoder::new(limits)),
            Framing::Newline => Inner::Newline(newline::Decoder::new(limits)),
            Framing::Wipc => {
                let adapter = WipcAdapter { message_bytes: limits.message_bytes, is_in_noise_run: false };
                Inner::Wipc { decoder: wipc::Decoder::new().with_max_call(limits.message_bytes), adapter }
            }
        })
    }

    /// Rejects WIPC frames whose payload exceeds `max_payload` bytes. The bytes of a rejected frame are noise, and are
    /// searched for other frames. [`Limits::message_bytes`] still applies to messages. Call this method before the
    /// first input. With other framings, this method has no effect.
    #[must_use]
    pub fn with_max_payload(self, max_payload: u32) -> Self {
        match self.0 {
            Inner::Wipc { adapter, .. } => {
                let decoder = wipc::Decoder::with_max_payload(max_payload).with_max_call(adapter.message_bytes);
                Self(Inner::Wipc { decoder, adapter })
            }
            other => Self(other),
        }
    }

    /// See [`content_length::Decoder::next`].
    #[must_use]
    pub fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Option<Event<'a>> {
        match &mut self.0 {
            Inner::ContentLength(decoder) => decoder.next(input),
            Inner::Newline(decoder) => decoder.next(input),
            Inner::Wipc { decoder, adapter } => Some(adapter.event(decoder.next(input)?)),
        }
    }

    /// See [`content_length::Decoder::finish`]. Call this method until it returns `None`.
    #[must_use]
    pub fn finish(&mut self) -> Option<Event<'_>> {
        match &mut self.0 {
            Inner::ContentLength(decoder) => decoder.finish(),
            Inner::Newline(decoder) => decoder.finish(),
            Inner::Wipc { decoder, adapter } => Some(adapter.event(decoder.finish()?)),
        }
    }

    /// See [`content_length::Decoder::unfinished`].
    #[must_use]
    pub const fn unfinished(&self) -> Option<u64> {
        match &self.0 {
            Inner::ContentLength(decoder) => decoder.unfinished(),
            Inner::Newline(decoder) => decoder.unfinished(),
            Inner::Wipc { decoder, .. } => decoder.unfinished(),
        }
    }

    /// See [`content_length::Decoder::time_out`]. The bytes of an abandoned WIPC frame are scanned again, so
    /// [`FrameDecoder::next`] may return an event without more input.
    pub fn time_out(&mut self) -> FrameFault {
        match &mut self.0 {
            Inner::ContentLength(decoder) => decoder.time_out(),
            Inner::Newline(decoder) => decoder.time_out(),
            Inner::Wipc { decoder, .. } => FrameFault::TimedOut { received_bytes: decoder.give_up() },
        }
    }

    /// See [`content_length::Decoder::reject_body`]. With other framings, this method has no effect and returns 0.
    pub fn reject_body(&mut self, input: &[u8]) -> usize {
        match &mut self.0 {
            Inner::ContentLength(decoder) => decoder.reject_body(input),
            Inner::Newline(_) | Inner::Wipc { .. } => 0,
        }
    }
}

/// Converts the events of the WIPC decoder to the events of all framings.
#[derive(Debug)]
struct WipcAdapter {
    /// The limit [`Limits::message_bytes`].
    message_bytes: usize,
    /// Whether the next passthrough continues a run of noise.
    is_in_noise_run: bool,
}

impl WipcAdapter {
    fn event<'a>(&mut self, event: wipc::Event<'a>) -> Event<'a> {
        match event {
            wipc::Event::Frame(frame) => {
                self.is_in_noise_run = false;
                match frame.frame_type {
                    FrameType::Call => Event::Body(frame.payload),
                    _ => Event::Frame(frame),
                }
            }
            wipc::Event::Oversize { length } => {
                self.is_in_noise_run = false;
                Event::Fault(FrameFault::Oversize { length: Some(length) })
            }
            wipc::Event::Passthrough(bytes) => {
                Event::Noise { bytes, starts: !core::mem::replace(&mut self.is_in_noise_run, true) }
            }
            wipc::Event::Dropped { beginning, why } => Event::Dropped { beginning, why },
            wipc::Event::Truncated { received_bytes } => Event::Fault(FrameFault::Truncated {
                received_bytes: usize::try_from(received_bytes).unwrap_or(usize::MAX),
            }),
        }
    }
}
