//! Decodes a stream like a driver, and records the events.

use portway::Framing;
use portway::Limits;
use portway::codec::FrameDecoder;
use portway::codec::content_length::header_within;
use portway::codec::frame::{Event, FrameFault};
use portway::message::Reason;
use serde_json::value::RawValue;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum RecordedEvent {
    Body(Vec<u8>),
    Refused(Vec<u8>, Reason),
    Fault(FrameFault),
    /// Adjacent noise events are joined, because the decoder may split noise at any byte.
    Noise {
        bytes: Vec<u8>,
        starts: bool,
    },
}

pub(super) struct Reader {
    pub(super) decoder: FrameDecoder,
    pub(super) events: Vec<RecordedEvent>,
    /// The number of bytes that were received.
    total_bytes: usize,
    /// The maximum number of bytes that are decoded again, because rejected bodies contained them.
    pub(super) reread: usize,
    framing: Framing,
    limits: Limits,
}

impl Reader {
    pub(super) fn new(framing: Framing, limits: &Limits) -> Self {
        let decoder = FrameDecoder::new(framing, limits);
        Self { decoder, events: Vec::new(), total_bytes: 0, reread: 0, framing, limits: *limits }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len();
        let mut input = bytes;
        loop {
            let before = input;
            let Some(event) = self.decoder.next(&mut input) else { break };
            let (is_rejected, next_frame) = (is_rejected(&event), next_frame_in(self.framing, &event));
            let event = recorded(event);
            event.into_iter().for_each(|event| self.record(event));
            if is_rejected {
                let expected = next_frame.map_or(0, |bytes| bytes.len());
                self.reread += expected;
                let count = self.decoder.reject_body(before);
                // The decoder drops the bytes if too many bytes were decoded again.
                assert!(count == expected || count == 0, "{count} of {expected} bytes are decoded again");
            }
        }
        assert!(input.is_empty(), "the decoder has not read all input");
    }

    /// Decodes the stream without `reject_body`. Instead, the reader inserts the bytes of [`next_frame_in`] at the
    /// front of the rest of the stream.
    pub(super) fn feed_without_reject(&mut self, stream: &[u8]) {
        self.total_bytes += stream.len();
        let mut rest = stream.to_vec();
        loop {
            let mut input = rest.as_slice();
            let Some(event) = self.decoder.next(&mut input) else { break };
            let next_frame = next_frame_in(self.framing, &event).unwrap_or_default();
            let event = recorded(event);
            rest = [&next_frame[..], input].concat();
            self.reread += next_frame.len();
            event.into_iter().for_each(|event| self.record(event));
        }
    }

    /// Drops the incomplete message like a timeout, if a message is incomplete.
    pub(super) fn time_out(&mut self) {
        if self.decoder.unfinished().is_some() {
            let fault = self.decoder.time_out();
            self.record(RecordedEvent::Fault(fault));
        }
        assert_eq!(self.decoder.unfinished(), None, "a dropped message is reported as incomplete");
    }

    pub(super) fn finish(&mut self) {
        // `finish` returns at most one event.
        if let Some(last) = self.decoder.finish().and_then(recorded) {
            self.record(last);
        }
        assert_eq!(self.decoder.finish(), None);
        assert_eq!(self.decoder.unfinished(), None);
    }

    fn record(&mut self, event: RecordedEvent) {
        self.check(&event);
        if let RecordedEvent::Noise { bytes, starts } = &event {
            let continues = matches!(self.events.last(), Some(RecordedEvent::Noise { .. } | RecordedEvent::Fault(_)));
            assert_eq!(*starts, !continues, "`starts` must be false after noise or a fault, and true otherwise");
            if let Some(RecordedEvent::Noise { bytes: run, .. }) = self.events.last_mut() {
                return run.extend_from_slice(bytes);
            }
        }
        self.events.push(event);
    }

    fn check(&self, event: &RecordedEvent) {
        let message_bytes = self.limits.message_bytes;
        match event {
            RecordedEvent::Body(body) | RecordedEvent::Refused(body, _) => {
                assert!(body.len() <= message_bytes, "a body exceeds the limit");
                assert!(self.framing != Framing::Newline || !body.contains(&b'\n'), "a line contains a line end");
            }
            RecordedEvent::Noise { bytes, .. } => {
                assert_eq!(self.framing, Framing::ContentLength, "the decoder of lines has reported noise");
                assert!(!bytes.is_empty(), "an event has empty noise");
            }
            RecordedEvent::Fault(FrameFault::Oversize { length: Some(length) }) => {
                assert!(usize::try_from(*length).is_ok_and(|length| length > message_bytes) || *length > 1 << 32);
            }
            RecordedEvent::Fault(
                FrameFault::Truncated { received_bytes } | FrameFault::TimedOut { received_bytes },
            ) => {
                assert!(*received_bytes <= self.total_bytes + self.reread, "more bytes are dropped than were received");
            }
            RecordedEvent::Fault(_) => {}
        }
    }
}

/// Decodes the stream without recording the events.
pub(super) fn skim<'s>(framing: Framing, limits: &Limits, pieces: impl Iterator<Item = &'s [u8]>) {
    let mut decoder = FrameDecoder::new(framing, limits);
    for mut input in pieces {
        loop {
            let before = input;
            let Some(event) = decoder.next(&mut input) else { break };
            if is_rejected(&event) {
                decoder.reject_body(before);
            }
        }
    }
    let _ = decoder.finish();
}

/// If the declared length of a body is too large, the body contains the beginning of the next frame. Returns this
/// beginning, or `None` if the body contains none.
fn next_frame_in(framing: Framing, event: &Event<'_>) -> Option<Vec<u8>> {
    let Event::Body(body) = event else { return None };
    if !is_rejected(event) || framing == Framing::Newline {
        return None;
    }
    let start = header_within(body)?;
    Some(body[start..].to_vec())
}

/// Returns whether the event is a body that is not JSON.
fn is_rejected(event: &Event<'_>) -> bool {
    let Event::Body(body) = event else { return false };
    !str::from_utf8(body).is_ok_and(|text| serde_json::from_str::<&RawValue>(text).is_ok())
}

/// Returns a copy of an event, or `None` if the event is not recorded.
fn recorded(event: Event<'_>) -> Option<RecordedEvent> {
    Some(match event {
        // The fault of this message has already been recorded.
        Event::Dropped { .. } => return None,
        Event::Body(body) => RecordedEvent::Body(body.to_vec()),
        Event::Refused { body, reason } => RecordedEvent::Refused(body.to_vec(), reason),
        Event::Fault(fault) => RecordedEvent::Fault(fault),
        Event::Frame(frame) => panic!("only WIPC has such frames: {frame:?}"),
        Event::Noise { bytes, starts } => RecordedEvent::Noise { bytes: bytes.to_vec(), starts },
    })
}
