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
    pub(super) found: Vec<RecordedEvent>,
    /// The number of bytes that were received.
    fed: usize,
    /// The number of bytes of rejected bodies that belong to later frames.
    pub(super) reread: usize,
    framing: Framing,
    limits: Limits,
}

impl Reader {
    pub(super) fn new(framing: Framing, limits: &Limits) -> Self {
        let decoder = FrameDecoder::new(framing, limits);
        Self { decoder, found: Vec::new(), fed: 0, reread: 0, framing, limits: *limits }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.fed += bytes.len();
        let mut input = bytes;
        loop {
            let before = input;
            let Some(event) = self.decoder.next(&mut input) else { break };
            let (is_rejected, swallowed) = (is_rejected(&event), swallowed(self.framing, &event));
            let found = found(event);
            found.into_iter().for_each(|found| self.record(found));
            if is_rejected {
                let max = swallowed.map_or(0, |bytes| bytes.len());
                self.reread += max;
                let count = self.decoder.reject_body(before);
                assert!(count == max || count == 0, "{count} of {max} bytes are decoded again");
            }
        }
        assert!(input.is_empty(), "the decoder has not read all input");
    }

    /// Decodes the stream without `reject_body`. Instead, the reader decodes again the bytes that [`swallowed`]
    /// returns, and then the rest of the stream.
    pub(super) fn feed_without_reject(&mut self, stream: &[u8]) {
        self.fed += stream.len();
        let mut rest = stream.to_vec();
        loop {
            let mut input = rest.as_slice();
            let Some(event) = self.decoder.next(&mut input) else { break };
            let bytes_of_next_frame = swallowed(self.framing, &event).unwrap_or_default();
            let found = found(event);
            rest = [&bytes_of_next_frame[..], input].concat();
            self.reread += bytes_of_next_frame.len();
            found.into_iter().for_each(|found| self.record(found));
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
        if let Some(last) = self.decoder.finish().and_then(found) {
            self.record(last);
        }
        assert_eq!(self.decoder.finish(), None);
        assert_eq!(self.decoder.unfinished(), None);
    }

    fn record(&mut self, found: RecordedEvent) {
        self.check(&found);
        if let RecordedEvent::Noise { bytes, starts } = &found {
            let continues = matches!(self.found.last(), Some(RecordedEvent::Noise { .. } | RecordedEvent::Fault(_)));
            assert_eq!(
                *starts, !continues,
                "`starts` must be true exactly after a frame or at the start of the stream"
            );
            if let Some(RecordedEvent::Noise { bytes: run, .. }) = self.found.last_mut() {
                return run.extend_from_slice(bytes);
            }
        }
        self.found.push(found);
    }

    fn check(&self, found: &RecordedEvent) {
        let message_bytes = self.limits.message_bytes;
        match found {
            RecordedEvent::Body(body) | RecordedEvent::Refused(body, _) => {
                assert!(body.len() <= message_bytes, "a body exceeds the limit");
                assert!(self.framing != Framing::Newline || !body.contains(&b'\n'), "a line contains a line end");
            }
            RecordedEvent::Noise { bytes, .. } => {
                assert!(self.framing == Framing::ContentLength && !bytes.is_empty(), "an event has empty noise");
            }
            RecordedEvent::Fault(FrameFault::Oversize { length: Some(length) }) => {
                assert!(usize::try_from(*length).is_ok_and(|length| length > message_bytes) || *length > 1 << 32);
            }
            RecordedEvent::Fault(
                FrameFault::Truncated { received_bytes } | FrameFault::TimedOut { received_bytes },
            ) => {
                assert!(*received_bytes <= self.fed + self.reread, "more bytes are dropped than were received");
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

/// Returns the beginning of the next frame, if a body contains it because the declared length of the body is too large.
fn swallowed(framing: Framing, event: &Event<'_>) -> Option<Vec<u8>> {
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

fn found(event: Event<'_>) -> Option<RecordedEvent> {
    Some(match event {
        // A fault of the same message was recorded before.
        Event::Dropped { .. } => return None,
        Event::Body(body) => RecordedEvent::Body(body.to_vec()),
        Event::Refused { body, reason } => RecordedEvent::Refused(body.to_vec(), reason),
        Event::Fault(fault) => RecordedEvent::Fault(fault),
        Event::Frame(frame) => panic!("only WIPC has such frames: {frame:?}"),
        Event::Noise { bytes, starts } => RecordedEvent::Noise { bytes: bytes.to_vec(), starts },
    })
}
