//! Fuzzes the decoder of server-sent events.
//!
//! The first two bytes select the limits and the lengths of the pieces. The other bytes are the stream.

use allocation_counter::measure;
use portway::Limits;
use portway::codec::sse::Decoder;

use super::sse_events::{Owned, read_pieces, read_simply};

/// Bytes that the decoder may allocate beyond its limits: the beginning of a dropped event, and small buffers.
const SPARE_BYTES: usize = 2_048;

/// Checks any stream of events.
pub fn sse(bytes: &[u8]) {
    let Some((&[sizes, cut], stream)) = bytes.split_first_chunk() else { return };
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = [Limits::DEFAULT.message_bytes, 0, 20, 300][usize::from(sizes % 4)];
    limits.header_bytes = [Limits::DEFAULT.header_bytes, 0, 5, 100][usize::from(sizes / 4 % 4)];
    let mut whole = Decoder::new(&limits);
    let events = read_pieces(&mut whole, [stream]);
    for length in [1, usize::from(cut) + 1] {
        let mut other = Decoder::new(&limits);
        assert_eq!(read_pieces(&mut other, stream.chunks(length)), events, "the events depend on the pieces");
        assert_eq!(other.last_event_id(), whole.last_event_id());
        assert_eq!(other.retry_ms(), whole.retry_ms());
    }
    // With the default limits, the events are those of the standard, except for the ids in a stream that is not UTF-8.
    if sizes % 16 == 0 && str::from_utf8(stream).is_ok() {
        assert_eq!((events, whole.last_event_id().to_owned()), read_simply(stream));
    }
    // A blank line ends any event, so the next event is found.
    let next = read_pieces(&mut whole, [&b"\n\n"[..], b"event\ndata\n\n"]);
    assert_eq!(next.last(), Some(&Owned::Message("message".to_owned(), String::new())), "the next event is lost");
    let mut decoder = Decoder::new(&limits);
    let memory = measure(|| {
        for mut piece in stream.chunks(usize::from(cut) + 1) {
            while decoder.next(&mut piece).is_some() {}
        }
    });
    // The data, its copy while the buffer grows, and the values of `event`, `id` and the line, each with its copy.
    let most = (3 * limits.message_bytes).saturating_add(8 * limits.header_bytes).saturating_add(SPARE_BYTES);
    assert!(memory.bytes_max <= most as u64, "{} bytes of {most}", memory.bytes_max);
}
