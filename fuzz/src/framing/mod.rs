//! Fuzzes the decoders of frames.
//!
//! The first three bytes select the limits, the lengths of the pieces of the stream, and the position of the timeout.
//! The other bytes are the stream.

mod reader;

use allocation_counter::measure;
use portway::Framing;
use portway::Limits;
use portway::codec::frame::FrameFault;

use reader::{Reader, RecordedEvent, skim};

/// Maximum length of a declared body, in bytes. [`check_flood`] skips a stream with a longer declared body, because the
/// decoder takes the valid frames of this check as a part of that body.
const MAX_WAIT_BYTES: u64 = 500;

/// Checks any stream of `Content-Length` frames.
pub fn content_length(bytes: &[u8]) {
    let Some((case, stream)) = Case::read(bytes) else { return };
    check(Framing::ContentLength, &case, stream);
    check_flood(&case, stream);
}

/// Checks any stream of lines.
pub fn newline(bytes: &[u8]) {
    let Some((case, stream)) = Case::read(bytes) else { return };
    check(Framing::Newline, &case, stream);
    if case.timeout_position.is_none() {
        let mut reader = Reader::new(Framing::Newline, &case.limits);
        reader.feed(stream);
        reader.finish();
        assert_eq!(reader.events, lines(stream, case.limits.message_bytes));
    }
}

struct Case {
    limits: Limits,
    /// The lengths of the pieces of the stream. The two lengths alternate.
    cuts: [usize; 2],
    /// The position of the timeout in the stream, as a multiple of 1/127 of the length of the stream.
    timeout_position: Option<u8>,
}

impl Case {
    fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&[sizes, cuts, timeout], stream) = bytes.split_first_chunk()?;
        let mut limits = Limits::DEFAULT;
        limits.message_bytes = [Limits::DEFAULT.message_bytes, 20, 100, 300][usize::from(sizes % 4)];
        limits.header_bytes = [Limits::DEFAULT.header_bytes, 40, 64, 200][usize::from(sizes / 4 % 4)];
        let cuts = [usize::from(cuts % 16) + 1, usize::from(cuts / 16) * 7 + 1];
        let timeout_position = Some(timeout).filter(|position| *position < 128);
        Some((Self { limits, cuts, timeout_position }, stream))
    }

    /// Returns the bytes of the stream before the timeout, and the bytes after the timeout. Without a timeout, returns
    /// the whole stream and `None`.
    fn split<'s>(&self, stream: &'s [u8]) -> (&'s [u8], Option<&'s [u8]>) {
        match self.timeout_position {
            None => (stream, None),
            Some(position) => {
                let (early, late) = stream.split_at(stream.len() * usize::from(position) / 127);
                (early, Some(late))
            }
        }
    }

    /// Returns a reader that has read the stream. `cut` splits the bytes before and after the timeout into pieces.
    fn read_in<'s, P: Iterator<Item = &'s [u8]>>(
        &self,
        framing: Framing,
        stream: &'s [u8],
        cut: impl Fn(&'s [u8]) -> P,
    ) -> Reader {
        let mut reader = Reader::new(framing, &self.limits);
        let (early, late) = self.split(stream);
        cut(early).for_each(|piece| reader.feed(piece));
        if let Some(late) = late {
            reader.time_out();
            cut(late).for_each(|piece| reader.feed(piece));
        }
        reader
    }
}

/// Checks that the events do not depend on the pieces of the stream, and that the decoder recovers after the stream.
fn check(framing: Framing, case: &Case, stream: &[u8]) {
    let mut whole = case.read_in(framing, stream, |part| [part].into_iter());
    let mut one_by_one = case.read_in(framing, stream, |part| part.chunks(1));
    let mut in_pieces = case.read_in(framing, stream, |part| pieces(part, case.cuts));
    for other in [&one_by_one, &in_pieces] {
        assert_eq!(other.events, whole.events, "the events depend on the cuts of the stream");
        assert_eq!(other.decoder.unfinished().is_some(), whole.decoder.unfinished().is_some());
    }
    // If `4 * stream.len()` or more bytes are decoded again, the decoder may drop the bytes of rejected bodies. In this
    // case, the check below is skipped.
    if case.timeout_position.is_none() && (1..4 * stream.len()).contains(&whole.reread) {
        let mut without_reject = Reader::new(framing, &case.limits);
        without_reject.feed_without_reject(stream);
        assert_eq!(without_reject.events, whole.events, "the bytes of rejected bodies are not decoded like new input");
    }
    check_next_frame(framing, case.read_in(framing, stream, |part| [part].into_iter()));
    for reader in [&mut whole, &mut one_by_one, &mut in_pieces] {
        reader.finish();
    }
    assert!(
        whole.events == one_by_one.events && whole.events == in_pieces.events,
        "the last event depends on the cuts"
    );
    assert!(bytes_in(&whole.events) <= stream.len() + whole.reread, "bytes are reported twice");
    check_memory(framing, case, stream);
    check_recognition(stream);
}

/// Drops an incomplete message by a timeout. Checks that the decoder finds the next frame.
fn check_next_frame(framing: Framing, mut reader: Reader) {
    reader.time_out();
    let before = reader.events.len();
    // The decoder of lines drops the rest of the current line. So the frame must begin on a new line.
    let separation: &[u8] = if framing == Framing::Newline { b"\n" } else { b"" };
    reader.feed(separation);
    reader.feed(&valid_frame(framing, 1));
    assert_eq!(reader.decoder.unfinished(), None, "a complete frame is reported as incomplete");
    let (last, others) = reader.events[before..].split_last().expect("the frame is lost");
    assert_eq!(*last, RecordedEvent::Body(valid_body(1)), "the frame is lost");
    assert!(others.iter().all(|event| matches!(event, RecordedEvent::Noise { .. })), "{others:?}");
}

/// Sends valid frames after a stream that ends with an incomplete message. No timeout drops this message, so the first
/// frames become its missing bytes. After the decoder has found one frame, it must find all further frames.
fn check_flood(case: &Case, stream: &[u8]) {
    // The check cannot distinguish a message in the stream from its own frames if they begin alike.
    if stream.windows(VALID_BEGINNING.len()).any(|part| part == VALID_BEGINNING) {
        return;
    }
    let Limits { message_bytes, header_bytes, .. } = case.limits;
    let mut reader = case.read_in(Framing::ContentLength, stream, |part| [part].into_iter());
    let max = message_bytes.saturating_add(header_bytes).saturating_add(MAX_WAIT_BYTES as usize);
    // If no message is incomplete, `check_next_frame` covers the case. With high limits, this check would need too many
    // frames.
    if reader.decoder.unfinished().is_none() || max > 2_000 {
        return;
    }
    let before = reader.events.len();
    let count = max / valid_frame(Framing::ContentLength, 0).len() + 2;
    let frames: Vec<u8> = (0..count).flat_map(|number| valid_frame(Framing::ContentLength, number)).collect();
    reader.feed(&frames);
    let has_long_body = |event: &RecordedEvent| match event {
        RecordedEvent::Fault(FrameFault::Oversize { length }) => length.is_none_or(|length| length > MAX_WAIT_BYTES),
        // The decoder drops the body after such a header, and does not report the length of the body.
        RecordedEvent::Fault(FrameFault::HeaderTooLarge) => true,
        _ => false,
    };
    if reader.events.iter().any(has_long_body) {
        return;
    }
    let after = &reader.events[before.saturating_sub(1)..];
    let number_of =
        |event: &RecordedEvent| (0..count).position(|number| *event == RecordedEvent::Body(valid_body(number)));
    let first = after.iter().position(|event| number_of(event).is_some()).expect("every frame is lost");
    let numbers: Vec<Option<usize>> = after[first..].iter().map(number_of).collect();
    let start = numbers[0].unwrap_or_default();
    assert_eq!(
        numbers,
        (start..count).map(Some).collect::<Vec<_>>(),
        "a frame is lost after the first frame that the decoder has found"
    );
}

/// Checks that the received bytes and the limits bound the memory. The length in a header must have no effect.
fn check_memory(framing: Framing, case: &Case, stream: &[u8]) {
    let Limits { message_bytes, header_bytes, .. } = case.limits;
    // A byte may be stored four times: in the buffer, in the event buffer, as a byte of a rejected body, and in the
    // copy of this body.
    let max = 4 * (message_bytes.min(stream.len()) + header_bytes.min(stream.len())) + 512;
    for pieces in [stream.chunks(1), stream.chunks(case.cuts[0])] {
        let max_memory = measure(|| skim(framing, &case.limits, pieces)).bytes_max;
        assert!(
            max_memory <= max as u64,
            "{max_memory} bytes of memory are in use for a stream of {} bytes",
            stream.len()
        );
    }
}

/// Checks that more bytes do not change the detected framing.
fn check_recognition(stream: &[u8]) {
    let mut known = None;
    for length in 0..=stream.len().min(64) {
        let detected = Framing::recognise(&stream[..length]);
        assert!(known.is_none() || known == detected, "more bytes change the framing from {known:?} to {detected:?}");
        known = detected;
    }
}

/// Splits bytes into pieces of these two lengths, alternately.
fn pieces(mut rest: &[u8], cuts: [usize; 2]) -> impl Iterator<Item = &[u8]> {
    let mut lengths = cuts.into_iter().cycle();
    std::iter::from_fn(move || {
        let length = lengths.next()?.min(rest.len());
        let (piece, others) = rest.split_at(length);
        rest = others;
        (length > 0).then_some(piece)
    })
}

/// Returns a frame with a valid body.
fn valid_frame(framing: Framing, number: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    framing.encode(&String::from_utf8_lossy(&valid_body(number)), &mut frame);
    frame
}

/// The beginning of the valid bodies that the checks send.
const VALID_BEGINNING: &[u8] = b"{\"good\":";

fn valid_body(number: usize) -> Vec<u8> {
    [VALID_BEGINNING, number.to_string().as_bytes(), b"}"].concat()
}

/// Returns the number of bytes in the events.
fn bytes_in(events: &[RecordedEvent]) -> usize {
    let bytes = events.iter().map(|event| match event {
        RecordedEvent::Body(bytes) | RecordedEvent::Refused(bytes, _) | RecordedEvent::Noise { bytes, .. } => {
            bytes.len()
        }
        RecordedEvent::Fault(_) => 0,
    });
    bytes.sum()
}

/// Returns the expected events of a stream of lines, computed without the decoder. `max` is the maximum length of a
/// message.
fn lines(stream: &[u8], max: usize) -> Vec<RecordedEvent> {
    let blanks = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let line = |line: &[u8]| {
        let start = line.iter().position(|byte| !blanks(byte))?;
        let line = &line[start..];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(match line.len() > max {
            true => RecordedEvent::Fault(FrameFault::Oversize { length: None }),
            false => RecordedEvent::Body(line.to_vec()),
        })
    };
    stream.split(|byte| *byte == b'\n').filter_map(line).collect()
}
