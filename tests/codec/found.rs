//! The events of a decoder, in a form that tests can compare.

use portway::Framing;
use portway::Limits;
use portway::codec::FrameDecoder;
use portway::codec::frame::{Event, FrameFault};
use portway::message::Reason;

/// An event with its bytes. Consecutive pieces of noise are joined into one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Body(String),
    Refused(String, Reason),
    Fault(FrameFault),
    Noise { text: String, starts: bool },
}

pub(crate) const INVALID_HEADER: Found = Found::Fault(FrameFault::InvalidHeader);
pub(crate) const HEADER_TOO_LARGE: Found = Found::Fault(FrameFault::HeaderTooLarge);

pub(crate) fn body(text: &str) -> Found {
    Found::Body(latin_1(text.as_bytes()))
}

/// Returns noise that starts a run of noise.
pub(crate) fn noise(text: &str) -> Found {
    Found::Noise { text: latin_1(text.as_bytes()), starts: true }
}

/// Returns noise that continues an earlier fault or run of noise.
pub(crate) fn more_noise(text: &str) -> Found {
    Found::Noise { text: latin_1(text.as_bytes()), starts: false }
}

pub(crate) fn oversize(length: impl Into<Option<u64>>) -> Found {
    Found::Fault(FrameFault::Oversize { length: length.into() })
}

pub(crate) fn truncated(received_bytes: usize) -> Found {
    Found::Fault(FrameFault::Truncated { received_bytes })
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

pub(crate) fn record(found: &mut Vec<Found>, event: Event<'_>) {
    let event = match event {
        Event::Body(body) => Found::Body(latin_1(body)),
        Event::Refused { body, reason } => Found::Refused(latin_1(body), reason),
        Event::Fault(fault) => Found::Fault(fault),
        // The fault of the dropped message was recorded before.
        Event::Dropped { .. } => return,
        Event::Frame(frame) => panic!("these framings have no WIPC frames, got {frame:?}"),
        Event::Noise { bytes, starts } => {
            assert!(!bytes.is_empty());
            if let (Some(Found::Noise { text: before, .. }), false) = (found.last_mut(), starts) {
                before.push_str(&latin_1(bytes));
                return;
            }
            Found::Noise { text: latin_1(bytes), starts }
        }
    };
    found.push(event);
}

/// Returns each byte as a character, so that bytes that are not UTF-8 can be compared, too.
fn latin_1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// Passes all of `bytes` to a decoder.
pub(crate) fn feed(decoder: &mut FrameDecoder, bytes: impl AsRef<[u8]>, found: &mut Vec<Found>) {
    let mut bytes = bytes.as_ref();
    while let Some(event) = decoder.next(&mut bytes) {
        record(found, event);
    }
    assert!(bytes.is_empty());
}

/// Returns the events of the chunks and of the end of the input.
pub(crate) fn find_in<'c>(framing: Framing, limits: &Limits, chunks: impl IntoIterator<Item = &'c [u8]>) -> Vec<Found> {
    let mut decoder = FrameDecoder::new(framing, limits);
    let mut found = Vec::new();
    for chunk in chunks {
        feed(&mut decoder, chunk, &mut found);
    }
    end(&mut decoder, &mut found);
    found
}

/// Passes the end of the input to a decoder.
pub(crate) fn end(decoder: &mut FrameDecoder, found: &mut Vec<Found>) {
    if let Some(event) = decoder.finish() {
        record(found, event);
    }
    assert_eq!(decoder.finish(), None);
    assert_eq!(decoder.unfinished(), None);
}

/// Returns the events of a stream with Content-Length. Asserts that the events are the same for single bytes.
pub(crate) fn read(stream: impl AsRef<[u8]>) -> Vec<Found> {
    read_within(&Limits::DEFAULT, stream)
}

pub(crate) fn read_within(limits: &Limits, stream: impl AsRef<[u8]>) -> Vec<Found> {
    both_ways(Framing::ContentLength, limits, stream.as_ref())
}

/// Returns the events of a stream of lines. Asserts that the events are the same for single bytes.
pub(crate) fn read_lines(limits: &Limits, stream: impl AsRef<[u8]>) -> Vec<Found> {
    both_ways(Framing::Newline, limits, stream.as_ref())
}

fn both_ways(framing: Framing, limits: &Limits, stream: &[u8]) -> Vec<Found> {
    let whole = find_in(framing, limits, [stream]);
    assert_eq!(find_in(framing, limits, stream.chunks(1)), whole, "byte by byte");
    whole
}
