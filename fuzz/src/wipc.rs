//! Fuzzes the decoder of WIPC.
//!
//! The first three bytes select the limit, the length of the pieces of the stream, and the piece after which the
//! timeout passes. The other bytes are the stream.

use allocation_counter::measure;
use portway::codec::wipc::{Decoder, Event, Frame, FrameType, MAX_PAYLOAD, encode};

use super::wipc_any_input::{StreamContent, content_of, expected};

/// Checks any stream of WIPC.
pub fn wipc(bytes: &[u8]) {
    let Some((&[limit, cut, timeout_piece], stream)) = bytes.split_first_chunk() else { return };
    let max_payload = [MAX_PAYLOAD, 0, 20, 300][usize::from(limit % 4)];
    let length = usize::from(cut % 64) + 1;

    let expected = expected(max_payload, stream);
    assert_eq!(expected.rebuild(), stream);
    assert_eq!(content_of(max_payload, [stream]), expected, "whole");
    assert_eq!(content_of(max_payload, stream.chunks(1)), expected, "byte by byte");
    assert_eq!(content_of(max_payload, stream.chunks(length)), expected, "in pieces of {length}");

    check_abandoning(max_payload, stream, length, usize::from(timeout_piece));
    let memory = measure(|| {
        let mut decoder = Decoder::with_max_payload(max_payload);
        for mut piece in stream.chunks(length) {
            while decoder.next(&mut piece).is_some() {}
        }
        while decoder.finish().is_some() {}
    });
    // While a buffer grows, its old and its new memory exist. The new memory may be twice as large as its content.
    let max = 3 * stream.len() as u64 + 512;
    assert!(memory.bytes_max <= max, "the decoder must use at most {max} bytes of memory, used {}", memory.bytes_max);
}

/// Abandons an incomplete frame after the piece `timeout_piece`, and again at the end of the stream. The decoder must
/// return every byte, and must find a frame after the stream.
fn check_abandoning(max_payload: u32, stream: &[u8], length: usize, timeout_piece: usize) {
    let mut decoder = Decoder::with_max_payload(max_payload);
    let mut content = StreamContent::default();
    for (number, piece) in stream.chunks(length).enumerate() {
        feed(&mut decoder, piece, &mut content);
        if number == timeout_piece {
            decoder.give_up();
            feed(&mut decoder, &[], &mut content);
        }
    }
    abandon_all(&mut decoder, &mut content);
    // An incomplete header may take the first bytes of the next frame as its rest. So `abandon_all` is called again
    // after this frame.
    let mut last_frame = Vec::new();
    encode(FrameType::Close, &[], &mut last_frame).unwrap();
    feed(&mut decoder, &last_frame, &mut content);
    abandon_all(&mut decoder, &mut content);
    assert_eq!(
        content.frames.last().map(|(_, frame_type, _)| *frame_type),
        Some(FrameType::Close),
        "the frame is lost"
    );
    assert_eq!(decoder.finish(), None);
    assert_eq!(content.rebuild(), [stream, &last_frame].concat());
}

fn abandon_all(decoder: &mut Decoder, content: &mut StreamContent) {
    while decoder.give_up() > 0 {
        feed(decoder, &[], content);
    }
}

fn feed(decoder: &mut Decoder, mut piece: &[u8], content: &mut StreamContent) {
    while let Some(event) = decoder.next(&mut piece) {
        if let Event::Frame(Frame { payload, .. }) = event {
            assert!(payload.len() <= MAX_PAYLOAD as usize);
        }
        content.record(event);
    }
    assert!(piece.is_empty());
}
