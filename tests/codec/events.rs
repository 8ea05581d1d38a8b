//! The events of a decoder, in a form that tests can compare.

use portway::Framing;
use portway::Limits;
use portway::codec::FrameDecoder;
use portway::codec::frame::{Event, FrameFault};
use portway::message::Reason;

/// An event with its bytes. Consecutive pieces of noise are joined into one event. `starts` is false for noise that
/// continues other noise or follows a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnedEvent {
    Body(String),
    Refused(String, Reason),
    Fault(FrameFault),
    Noise { text: String, starts: bool },
}

pub(crate) const INVALID_HEADER: OwnedEvent = OwnedEvent::Fault(FrameFault::InvalidHeader);
pub(crate) const HEADER_TOO_LARGE: OwnedEvent = OwnedEvent::Fault(FrameFault::HeaderTooLarge);

pub(crate) fn body(text: &str) -> OwnedEvent {
    OwnedEvent::Body(latin_1(text.as_bytes()))
}

/// Returns noise that starts a run of noise.
pub(crate) fn noise(text: &str) -> OwnedEvent {
    OwnedEvent::Noise { text: latin_1(text.as_bytes()), starts: true }
}

/// Returns noise that continues the run of noise before it, or follows a fault. It is not a further error.
pub(crate) fn more_noise(text: &str) -> OwnedEvent {
    OwnedEvent::Noise { text: latin_1(text.as_bytes()), starts: false }
}

pub(crate) fn oversize(length: impl Into<Option<u64>>) -> OwnedEvent {
    OwnedEvent::Fault(FrameFault::Oversize { length: length.into() })
}

pub(crate) fn truncated(received_bytes: usize) -> OwnedEvent {
    OwnedEvent::Fault(FrameFault::Truncated { received_bytes })
}

pub(crate) fn frame(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

pub(crate) fn limits(message_bytes: usize, header_bytes: usize) -> Limits {
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = message_bytes;
    limits.header_bytes = header_bytes;
    limits
}

/// Adds an event to `events`.
pub(crate) fn record(events: &mut Vec<OwnedEvent>, event: Event<'_>) {
    let event = match event {
        Event::Body(body) => OwnedEvent::Body(latin_1(body)),
        Event::Refused { body, reason } => OwnedEvent::Refused(latin_1(body), reason),
        Event::Fault(fault) => OwnedEvent::Fault(fault),
        // The fault of the dropped message has already been recorded.
        Event::Dropped { .. } => return,
        Event::Frame(frame) => panic!("these framings have no WIPC frames, got {frame:?}"),
        Event::Noise { bytes, starts } => {
            assert!(!bytes.is_empty());
            if let (Some(OwnedEvent::Noise { text: before, .. }), false) = (events.last_mut(), starts) {
                before.push_str(&latin_1(bytes));
                return;
            }
            OwnedEvent::Noise { text: latin_1(bytes), starts }
        }
    };
    events.push(event);
}

/// Returns each byte as a character, so that bytes that are not UTF-8 can also be compared.
fn latin_1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// Passes all of `bytes` to a decoder.
pub(crate) fn feed(decoder: &mut FrameDecoder, bytes: impl AsRef<[u8]>, events: &mut Vec<OwnedEvent>) {
    let mut bytes = bytes.as_ref();
    while let Some(event) = decoder.next(&mut bytes) {
        record(events, event);
    }
    assert!(bytes.is_empty());
}

/// Decodes an input that arrives in these chunks and then ends. Returns its events.
pub(crate) fn events_of<'c>(
    framing: Framing,
    limits: &Limits,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> Vec<OwnedEvent> {
    let mut decoder = FrameDecoder::new(framing, limits);
    let mut events = Vec::new();
    for chunk in chunks {
        feed(&mut decoder, chunk, &mut events);
    }
    end(&mut decoder, &mut events);
    events
}

/// Passes the end of the input to a decoder.
pub(crate) fn end(decoder: &mut FrameDecoder, events: &mut Vec<OwnedEvent>) {
    if let Some(event) = decoder.finish() {
        record(events, event);
    }
    assert_eq!(decoder.finish(), None);
    assert_eq!(decoder.unfinished(), None);
}

/// Returns the events of a stream with Content-Length. Asserts that the events are the same if its bytes arrive one by
/// one.
pub(crate) fn read(stream: impl AsRef<[u8]>) -> Vec<OwnedEvent> {
    read_within(&Limits::DEFAULT, stream)
}

pub(crate) fn read_within(limits: &Limits, stream: impl AsRef<[u8]>) -> Vec<OwnedEvent> {
    events_of_one_or_many_reads(Framing::ContentLength, limits, stream.as_ref())
}

/// Returns the events of a stream of lines. Asserts that the events are the same if its bytes arrive one by one.
pub(crate) fn read_lines(limits: &Limits, stream: impl AsRef<[u8]>) -> Vec<OwnedEvent> {
    events_of_one_or_many_reads(Framing::Newline, limits, stream.as_ref())
}

fn events_of_one_or_many_reads(framing: Framing, limits: &Limits, stream: &[u8]) -> Vec<OwnedEvent> {
    let whole = events_of(framing, limits, [stream]);
    assert_eq!(events_of(framing, limits, stream.chunks(1)), whole, "byte by byte");
    whole
}
