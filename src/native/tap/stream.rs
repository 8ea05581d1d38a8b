//! Decodes a copy of the bytes of one direction, and records its messages.

use std::borrow::Cow;
use std::format;
use std::mem;
use std::sync::Arc;
use std::vec::Vec;

use super::batch::Batch;
use super::link::TapLink;
use super::now;
use super::record::Direction;
use crate::codec::FrameDecoder;
use crate::codec::frame::{Event, FrameFault};
use crate::codec::json::is_json;
use crate::native::limits::MAX_TAP_NOISE_BYTES;
use crate::{Framing, Limits};

/// Maximum length of a text that is recorded together with other texts, in bytes.
const MAX_BATCHED_BYTES: usize = 16 * 1024;

/// One direction of a byte stream. [`TapStream::push`] decodes a copy of the bytes, and records each message in a
/// [`TapLink`].
#[derive(Debug)]
pub struct TapStream {
    decoder: FrameDecoder,
    recorder: Recorder,
}

impl TapStream {
    /// Creates a decoder for the beginning of a stream. A message longer than [`Limits::message_bytes`] is not decoded.
    #[must_use]
    pub const fn new(link: Arc<TapLink>, direction: Direction, framing: Framing, limits: &Limits) -> Self {
        let recorder = Recorder { link, direction, at: 0, batch: None, undecoded_bytes: 0, noise: Vec::new() };
        Self { decoder: FrameDecoder::new(framing, limits), recorder }
    }

    /// Sets the maximum payload of a WIPC frame, as
    /// [`Transport::with_max_payload`](crate::Transport::with_max_payload) does.
    pub(super) fn with_max_payload(self, max_payload: u32) -> Self {
        Self { decoder: self.decoder.with_max_payload(max_payload), ..self }
    }

    /// Decodes bytes that have crossed the link, and records their messages. `bytes` may end within a message.
    pub fn push(&mut self, mut bytes: &[u8]) {
        self.recorder.at = now();
        loop {
            let before = bytes;
            self.recorder.undecoded_bytes = before.len();
            let Some(event) = self.decoder.next(&mut bytes) else { break };
            if self.recorder.record(&event) == Outcome::NotJson {
                self.decoder.reject_body(before);
            }
        }
        self.recorder.flush_noise();
        self.recorder.flush();
    }

    /// Records the bytes that are not decoded yet. Call this method at the end of the stream.
    pub fn finish(&mut self) {
        self.recorder.at = now();
        while let Some(event) = self.decoder.finish() {
            self.recorder.record(&event);
        }
        self.recorder.flush_noise();
        self.recorder.flush();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Recorded,
    /// The body is not JSON, and may contain the next frames.
    NotJson,
}

/// Records the events of a decoder.
#[derive(Debug)]
struct Recorder {
    link: Arc<TapLink>,
    direction: Direction,
    /// The time of the current bytes.
    at: u64,
    /// The messages of the current bytes. They are appended to the queue together.
    batch: Option<Batch>,
    /// The number of the current bytes that the decoder has not read.
    undecoded_bytes: usize,
    /// Unrecorded bytes that are outside of messages.
    noise: Vec<u8>,
}

impl Recorder {
    fn record(&mut self, event: &Event<'_>) -> Outcome {
        if let Event::Noise { bytes, .. } = event {
            for piece in bytes.chunks(MAX_TAP_NOISE_BYTES) {
                if self.noise.len() + piece.len() > MAX_TAP_NOISE_BYTES {
                    self.flush_noise();
                }
                self.noise.extend_from_slice(piece);
            }
            return Outcome::Recorded;
        }
        self.flush_noise();
        match event {
            Event::Body(body) => return self.body(body),
            Event::Refused { body, .. } => self.invalid(body, "the header declares another content type or charset"),
            Event::Frame(frame) => {
                let reason = format!("the frame {} is not a JSON-RPC message", frame.frame_type.name());
                self.invalid(frame.payload, reason);
            }
            Event::Dropped { beginning, why } => {
                self.invalid(beginning, format!("the beginning of a message that was dropped: {why}"));
            }
            Event::Fault(fault) => self.fault(*fault),
            Event::Noise { .. } => {}
        }
        Outcome::Recorded
    }

    fn body(&mut self, body: &[u8]) -> Outcome {
        match str::from_utf8(body) {
            Err(_) => self.invalid(body, "the message is not UTF-8"),
            Ok(text) if !is_json(text) => {
                self.invalid(body, "the message is not JSON");
            }
            Ok(text) => {
                if text.len() <= MAX_BATCHED_BYTES {
                    let (at, direction, room) = (self.at, self.direction, self.undecoded_bytes.max(text.len()));
                    self.batch.get_or_insert_with(|| self.link.batch(at, direction, room)).push(text);
                } else {
                    // The link copies a long text only if the queue has room for it.
                    self.flush();
                    self.link.message_at(self.at, self.direction, text);
                }
                return Outcome::Recorded;
            }
        }
        Outcome::NotJson
    }

    /// Records a fault. The record has no text, because the decoder reports at most the size of the message.
    fn fault(&mut self, fault: FrameFault) {
        let (size, reason) = match fault {
            FrameFault::Oversize { length: Some(length) } => {
                (length, Cow::from(format!("the message has {length} bytes, which is more than the maximum")))
            }
            FrameFault::Oversize { length: None } => (0, "the message is longer than the maximum".into()),
            FrameFault::HeaderTooLarge => (0, "the header is longer than the maximum".into()),
            FrameFault::Truncated { received_bytes } => {
                (received_bytes as u64, "the stream ended within the message".into())
            }
            FrameFault::TimedOut { received_bytes } => {
                (received_bytes as u64, "the message was not complete in time".into())
            }
            _ => (0, "the header has no valid Content-Length".into()),
        };
        self.flush();
        self.link.invalid_at(self.at, self.direction, &[], size, reason);
    }

    fn invalid(&mut self, bytes: &[u8], reason: impl Into<Cow<'static, str>>) {
        self.flush();
        self.link.invalid_at(self.at, self.direction, bytes, bytes.len() as u64, reason.into());
    }

    fn flush_noise(&mut self) {
        if !self.noise.is_empty() {
            let mut noise = mem::take(&mut self.noise);
            self.invalid(&noise, "the bytes are outside of messages");
            noise.clear();
            self.noise = noise;
        }
    }

    /// Appends the messages of the current bytes to the queue.
    fn flush(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.link.push_batch(batch);
        }
    }
}
