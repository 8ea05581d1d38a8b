//! The memory of a decoder.

use allocation_counter::measure;
use portway::Framing;
use portway::codec::FrameDecoder;

use crate::events::{frame, limits};

/// The maximum length of a message, in bytes.
const MESSAGE: usize = 50_000;
/// The maximum length of a header, in bytes.
const HEADER: usize = 1_000;
/// Maximum memory of a decoder. While a buffer grows, its old and its new allocation exist at the same time. The 8,192
/// bytes are for small allocations.
const MAX_DECODER_BYTES: u64 = 2 * MESSAGE as u64 + 2 * HEADER as u64 + 8_192;

/// Returns the peak memory, in bytes, of a decoder that reads a stream in pieces of `piece` bytes.
fn peak_memory(framing: Framing, stream: &[u8], piece: usize) -> u64 {
    measure(|| {
        let mut decoder = FrameDecoder::new(framing, &limits(MESSAGE, HEADER));
        for mut input in stream.chunks(piece) {
            while decoder.next(&mut input).is_some() {}
        }
        let _ = decoder.finish();
    })
    .bytes_max
}

#[test]
fn the_memory_of_a_decoder_is_bounded() {
    let long = 250_000;
    let streams = [
        format!("Content-Length: {long}\r\n\r\n{}", "x".repeat(long)),
        format!("Content-Length: {}\r\n\r\n{}", "9".repeat(50), "x".repeat(long)),
        format!("Content-Length: {MESSAGE}\r\n\r\n{}", "x".repeat(MESSAGE)).repeat(10),
        "X: y\r\n".repeat(long / 6),
        format!("X: {}", "y".repeat(long)),
        "x".repeat(long),
        "x y\n".repeat(long / 4),
        format!("[] Content-Length: {}", "0".repeat(long)),
        format!("[] Content-Length{}", " ".repeat(long)),
        "[] Content-Length: ".repeat(long / 19),
        "Content-Length: 5\r\n".repeat(long / 19),
        "Content-Length: 5\r\n\r\nContent-Length: 5\r\n\r\n".repeat(long / 38),
        " ".repeat(long),
        "\n".repeat(long),
    ];
    for stream in &streams {
        for framing in [Framing::ContentLength, Framing::Newline] {
            for piece in [1, 4_096, long] {
                let peak = peak_memory(framing, stream.as_bytes(), piece);
                let start = stream.get(..30).unwrap_or(stream);
                assert!(peak <= MAX_DECODER_BYTES, "{peak} bytes for {start:?}…, {framing:?}, {piece} at a time");
            }
        }
    }
}

#[test]
fn a_header_without_its_payload_reserves_no_memory() {
    let header = format!("Content-Length: {MESSAGE}\r\n\r\n{{");
    assert!(peak_memory(Framing::ContentLength, header.as_bytes(), 7) < 1_000);
}

#[test]
fn whole_frames_are_read_without_an_allocation() {
    let stream = frame(&"x".repeat(10_000)).repeat(3) + "\n";
    let lines = format!("{}\n", "x".repeat(10_000)).repeat(3);
    assert_eq!(peak_memory(Framing::ContentLength, stream.as_bytes(), stream.len()), 0);
    assert_eq!(peak_memory(Framing::Newline, lines.as_bytes(), lines.len()), 0);
}

#[test]
fn an_idle_decoder_releases_its_buffer() {
    for framing in [Framing::ContentLength, Framing::Newline] {
        let mut stream = Vec::new();
        framing.encode(&"x".repeat(MESSAGE), &mut stream);
        let memory = measure(|| {
            let mut decoder = FrameDecoder::new(framing, &limits(MESSAGE, HEADER));
            for mut input in stream.chunks(1_000) {
                while decoder.next(&mut input).is_some() {}
            }
            // The decoder is not dropped, so that `bytes_current` includes its memory.
            std::mem::forget(decoder);
        });
        assert!(memory.bytes_current <= 8_192, "{framing:?}: {} bytes", memory.bytes_current);
    }
}

#[test]
fn bytes_that_arrive_one_by_one_allocate_little_memory_in_total() {
    // The sum of all allocations must be a small multiple of the message, although the buffer grows at many reads.
    for framing in [Framing::ContentLength, Framing::Newline] {
        let mut stream = Vec::new();
        framing.encode(&"x".repeat(MESSAGE), &mut stream);
        let total = measure(|| {
            let mut decoder = FrameDecoder::new(framing, &limits(MESSAGE, HEADER));
            for mut input in stream.chunks(1) {
                while decoder.next(&mut input).is_some() {}
            }
        })
        .bytes_total;
        assert!(total <= 4 * MESSAGE as u64, "{framing:?}: {total} bytes");
    }
}
