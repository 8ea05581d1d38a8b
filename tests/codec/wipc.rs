//! WIPC frames among other bytes.

use allocation_counter::measure;
use portway::codec::wipc::{Decoder, Event, Frame, FrameType, MAX_PAYLOAD, PayloadTooLong, encode, header};
use portway::message::Unreadable;

use crate::wipc_any_input::{Random, StreamContent, any_stream, check, content_of, cut};

fn frame(frame_type: FrameType, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    encode(frame_type, payload.as_ref(), &mut out).unwrap();
    out
}

fn call(payload: impl AsRef<[u8]>) -> Vec<u8> {
    frame(FrameType::Call, payload)
}

/// Returns the content of a stream. Asserts that the content is the same if the stream arrives in pieces of 1 to 39
/// bytes.
fn read_within(max_payload: u32, stream: &[u8]) -> StreamContent {
    let whole = content_of(max_payload, [stream]);
    for length in 1..stream.len().min(40) {
        assert_eq!(content_of(max_payload, stream.chunks(length)), whole, "pieces of {length}");
    }
    whole
}

fn read(stream: impl AsRef<[u8]>) -> StreamContent {
    read_within(MAX_PAYLOAD, stream.as_ref())
}

/// Returns the content of a stream with one frame. `before` and `after` are the passthrough around this frame.
fn one_frame(before: &[u8], frame_type: FrameType, payload: &[u8], after: &[u8]) -> StreamContent {
    StreamContent {
        frames: vec![(before.len(), frame_type, payload.to_vec())],
        passthrough: [before, after].concat(),
        truncated: None,
    }
}

#[test]
fn a_header_has_the_magic_the_type_and_the_length_with_the_lowest_byte_first() {
    assert_eq!(header(FrameType::Open, 0), Ok(*b"WIPC\x00\x00\x00\x00\x00"));
    assert_eq!(header(FrameType::Close, 1), Ok(*b"WIPC\x01\x01\x00\x00\x00"));
    assert_eq!(header(FrameType::Call, 0x0102), Ok(*b"WIPC\x02\x02\x01\x00\x00"));
    assert_eq!(header(FrameType::Data, 0x8123_4567), Ok(*b"WIPC\x03\x67\x45\x23\x81"));
    assert_eq!(header(FrameType::Data, 0xffff_ffff), Ok(*b"WIPC\x03\xff\xff\xff\xff"));
    assert_eq!(frame(FrameType::Open, "hi"), b"WIPC\x00\x02\x00\x00\x00hi");
}

#[test]
fn a_payload_whose_length_exceeds_32_bits_is_refused() {
    let length = 1 << 32;
    assert_eq!(header(FrameType::Data, length), Err(PayloadTooLong { length }));
    let text = PayloadTooLong { length }.to_string();
    assert_eq!(text, "payload must be at most 4294967295 bytes, got 4294967296");
}

#[test]
fn an_oversized_call_is_reported_after_its_header_and_dropped() {
    let stream = [b"text".to_vec(), call([7; 21]), call([8; 20]), frame(FrameType::Data, [9; 21])].concat();
    for length in [1, 7, 13, 14, stream.len()] {
        let mut decoder = Decoder::new().with_max_call(20);
        let mut events = Vec::new();
        for mut piece in stream.chunks(length) {
            while let Some(event) = decoder.next(&mut piece) {
                match event {
                    Event::Passthrough(_) => {}
                    other => events.push(format!("{other:?}")),
                }
            }
        }
        let frame =
            |frame_type, byte, count| format!("{:?}", Event::Frame(Frame { frame_type, payload: &vec![byte; count] }));
        let oversize = format!("{:?}", Event::Oversize { length: 21 });
        let dropped = format!("{:?}", Event::Dropped { beginning: &[7; 21], why: Unreadable::TooLarge });
        assert_eq!(
            events,
            [oversize, dropped, frame(FrameType::Call, 8, 20), frame(FrameType::Data, 9, 21)],
            "{length}"
        );
        assert_eq!(decoder.finish(), None);
    }
}

#[test]
fn a_call_over_the_limit_is_dropped_without_allocations_and_may_be_abandoned() {
    let mut decoder = Decoder::new().with_max_call(1_000);
    let header = header(FrameType::Call, 2_000_000_000).unwrap();
    assert_eq!(decoder.next(&mut &header[..]), Some(Event::Oversize { length: 2_000_000_000 }));
    assert_eq!(decoder.next(&mut &b""[..]), None);
    let piece = vec![0; 1_000_000];
    let dropped = Event::Dropped { beginning: &[0; 1_024], why: Unreadable::TooLarge };
    assert_eq!(decoder.next(&mut &piece[..1_024]), Some(dropped));
    let unfinished = decoder.unfinished();
    assert!(unfinished.is_some());
    let used = measure(|| {
        for _ in 0..100 {
            assert_eq!(decoder.next(&mut &piece[..]), None);
        }
    });
    assert_eq!(used.bytes_total, 0);
    assert_eq!(decoder.unfinished(), unfinished);
    // After `give_up`, later bytes do not belong to the call.
    assert_eq!(decoder.give_up(), 100_001_033);
    assert_eq!((decoder.unfinished(), decoder.give_up()), (None, 0));
    let next = call("next");
    assert_eq!(
        decoder.next(&mut &next[..]),
        Some(Event::Frame(Frame { frame_type: FrameType::Call, payload: b"next" }))
    );
}

#[test]
fn an_oversized_and_truncated_call_is_reported_and_not_passed_through() {
    let mut decoder = Decoder::new().with_max_call(1);
    let stream = call("0123456789");
    let mut rest = &stream[..15];
    assert_eq!(decoder.next(&mut rest), Some(Event::Oversize { length: 10 }));
    assert_eq!(decoder.next(&mut rest), None);
    assert_eq!(decoder.finish(), Some(Event::Truncated { received_bytes: 15 }));
    assert_eq!(decoder.finish(), None);
}

#[test]
fn each_type_has_its_byte_and_its_name() {
    let types = [FrameType::Open, FrameType::Close, FrameType::Call, FrameType::Data];
    for (code, frame_type) in types.into_iter().enumerate() {
        assert_eq!(FrameType::from_code(code as u8), Some(frame_type));
        assert_eq!(frame_type.code(), code as u8);
    }
    assert_eq!(types.map(FrameType::name), ["OPEN", "CLOSE", "CALL", "DATA"]);
    assert!((4..=255).all(|code| FrameType::from_code(code).is_none()));
}

#[test]
fn each_type_is_read_with_and_without_a_payload() {
    for frame_type in [FrameType::Open, FrameType::Close, FrameType::Call, FrameType::Data] {
        assert_eq!(read(frame(frame_type, "")), one_frame(b"", frame_type, b"", b""));
        assert_eq!(read(frame(frame_type, "{}")), one_frame(b"", frame_type, b"{}", b""));
    }
}

#[test]
fn a_payload_may_contain_the_magic_and_whole_frames() {
    for payload in [&[0, 255, 87, 73, 80, 67][..], b"WIPC", &call("inside"), &(0..=255).collect::<Vec<u8>>()] {
        assert_eq!(read(call(payload)), one_frame(b"", FrameType::Call, payload, b""));
    }
}

#[test]
fn text_between_frames_is_passed_through_in_order() {
    let stream = [b"loading\n", &call("1")[..], b"\x00\xff W WI WIP", &call("2"), b"done"].concat();
    let content = read(stream);
    let positions: Vec<usize> = content.frames.iter().map(|(position, ..)| *position).collect();
    assert_eq!((positions, content.truncated), (vec![8, 19], None));
    assert_eq!(content.passthrough, b"loading\n\x00\xff W WI WIPdone");
}

#[test]
fn a_frame_is_found_after_any_part_of_the_magic() {
    for before in ["W", "WI", "WIP", "WW", "WIW", "WIPWIP", "WWIWIP", "WIPC", "WIPCWIPC", "WIPCW", "wipc"] {
        let stream = [before.as_bytes(), &call("{}")].concat();
        assert_eq!(read(stream), one_frame(before.as_bytes(), FrameType::Call, b"{}", b""), "{before}");
    }
}

#[test]
fn text_that_contains_the_magic_is_passed_through() {
    for text in
        ["WIPC is a protocol\n", "see WIPC\n", "WIPC\x04....", "WIPC\x7f\0\0\0\0", "WIPC\x05".repeat(9).as_str()]
    {
        let stream = [text.as_bytes(), &call("{}"), text.as_bytes()].concat();
        assert_eq!(read(stream), one_frame(text.as_bytes(), FrameType::Call, b"{}", text.as_bytes()), "{text}");
    }
}

#[test]
fn a_header_with_a_reserved_type_is_text_and_its_length_is_ignored() {
    for code in 4..=255 {
        let mut reserved = header(FrameType::Open, 1_000).unwrap();
        reserved[4] = code;
        let stream = [&reserved[..], &call("{}")].concat();
        assert_eq!(content_of(MAX_PAYLOAD, [&stream[..]]), one_frame(&reserved, FrameType::Call, b"{}", b""), "{code}");
        assert_eq!(
            content_of(MAX_PAYLOAD, stream.chunks(1)),
            one_frame(&reserved, FrameType::Call, b"{}", b""),
            "{code}"
        );
    }
}

#[test]
fn a_header_with_a_length_over_the_limit_is_text() {
    for length in [11, 255, 256, 65_536, 1 << 31, u32::MAX as usize] {
        let long = header(FrameType::Data, length).unwrap();
        let stream = [&long[..], &call("0123456789")].concat();
        assert_eq!(read_within(10, &stream), one_frame(&long, FrameType::Call, b"0123456789", b""), "{length}");
    }
    assert_eq!(read_within(0, &call("")), one_frame(b"", FrameType::Call, b"", b""));
    assert_eq!(read_within(0, &call("x")).passthrough, call("x"));
}

#[test]
fn an_incomplete_frame_at_the_end_is_passed_through_and_reported() {
    let stream = call("0123456789");
    for length in 4..stream.len() {
        let content = read(&stream[..length]);
        let expected = (&stream[..length], Some(length as u64), true);
        assert_eq!((&content.passthrough[..], content.truncated, content.frames.is_empty()), expected, "{length}");
    }
    // An incomplete magic at the end of the input is text, not a truncated frame.
    for length in 0..4 {
        let content = read(&stream[..length]);
        assert_eq!((&content.passthrough[..], content.truncated), (&stream[..length], None));
    }
}

#[test]
fn a_frame_within_a_truncated_frame_is_not_decoded() {
    let stream = [&header(FrameType::Data, 1_000).unwrap()[..], &call("inside")].concat();
    let content = read(&stream);
    assert_eq!((content.passthrough.len(), content.frames.len(), content.truncated), (24, 0, Some(24)));
}

#[test]
fn an_abandoned_header_is_text_and_later_frames_are_found() {
    for length in [3, 17, 1_000] {
        let endless_header = header(FrameType::Data, 0x7fff_ffff).unwrap();
        let stream = [&endless_header[..], b"text", &call("1"), &endless_header, &call("2")].concat();
        let mut decoder = Decoder::new();
        let mut content = StreamContent::default();
        for mut piece in stream.chunks(length) {
            while let Some(event) = decoder.next(&mut piece) {
                content.record(event);
            }
        }
        assert_eq!(content, StreamContent::default(), "all bytes may belong to the payload of the first header");
        assert_eq!(decoder.give_up(), stream.len());
        while let Some(event) = decoder.next(&mut &b""[..]) {
            content.record(event);
        }
        assert!(decoder.unfinished().is_some(), "the second header may also begin a frame");
        assert_eq!(decoder.give_up(), 9 + call("2").len());
        let mut end = &b"end"[..];
        while let Some(event) = decoder.next(&mut end) {
            content.record(event);
        }
        assert_eq!(decoder.unfinished(), None);
        assert_eq!(decoder.give_up(), 0);
        let frames = vec![(13, FrameType::Call, b"1".to_vec()), (22, FrameType::Call, b"2".to_vec())];
        assert_eq!(
            content,
            StreamContent {
                frames,
                passthrough: [&endless_header[..], b"text", &endless_header, b"end"].concat(),
                truncated: None
            }
        );
    }
}

#[test]
fn unfinished_identifies_the_frame_whose_payload_is_incomplete() {
    let mut decoder = Decoder::new();
    let mut input = &call("{}")[..8];
    assert_eq!(decoder.next(&mut input), None);
    assert_eq!(decoder.unfinished(), None, "a part of a header must not begin a frame");
    assert_eq!(decoder.next(&mut &b"\0{"[..]), None);
    let first = decoder.unfinished();
    assert!(first.is_some());
    let more = [b"}", &call("12")[..10]].concat();
    let mut more = &more[..];
    assert!(matches!(decoder.next(&mut more), Some(Event::Frame(Frame { payload: b"{}", .. }))));
    assert_eq!(decoder.next(&mut more), None);
    assert!(decoder.unfinished().is_some() && decoder.unfinished() != first);
}

#[test]
fn any_bytes_in_any_pieces_are_decoded_as_specified() {
    (0..1_000_000).for_each(check);
}

#[test]
fn nothing_is_lost_when_headers_are_abandoned_repeatedly() {
    for seed in 0..100_000 {
        let mut dice = Random::new(seed);
        let mut stream = any_stream(&mut dice);
        let mut decoder = Decoder::new();
        let mut reencoded = Vec::new();
        let mut decode = |decoder: &mut Decoder, mut piece: &[u8]| {
            while let Some(event) = decoder.next(&mut piece) {
                match event {
                    Event::Passthrough(bytes) => reencoded.extend_from_slice(bytes),
                    Event::Frame(Frame { frame_type, payload }) => encode(frame_type, payload, &mut reencoded).unwrap(),
                    Event::Oversize { .. } | Event::Dropped { .. } | Event::Truncated { .. } => {
                        panic!("without a limit and before the end of the input, no frame is oversize or truncated")
                    }
                }
            }
        };
        for piece in cut(&mut dice, &stream) {
            decode(&mut decoder, piece);
            if dice.below(3) == 0 {
                decoder.give_up();
            }
        }
        // The payload of an incomplete frame may contain the last frame. So the test abandons all incomplete frames.
        let good = call("good");
        decode(&mut decoder, &good);
        while decoder.give_up() > 0 {
            decode(&mut decoder, b"");
        }
        stream.extend(&good);
        assert_eq!(reencoded, stream, "seed {seed}");
        assert_eq!(decoder.finish(), None);
    }
}

#[test]
fn a_header_without_its_payload_reserves_no_memory() {
    for length in [1_000_000, u32::MAX as usize] {
        let stream = [&header(FrameType::Data, length).unwrap()[..], b"{"].concat();
        let memory = measure(|| {
            let mut decoder = Decoder::new();
            for mut piece in stream.chunks(3) {
                assert_eq!(decoder.next(&mut piece), None);
            }
        });
        assert!(memory.bytes_max < 1_000, "{} bytes", memory.bytes_max);
    }
}

#[test]
fn the_memory_is_at_most_twice_the_payload_and_is_released() {
    let stream = call(vec![b'x'; 500_000]).repeat(3);
    for length in [1, 1_000, 400_000] {
        let read = measure(|| {
            let mut decoder = Decoder::new();
            for mut piece in stream.chunks(length) {
                while decoder.next(&mut piece).is_some() {}
            }
            // The decoder is not dropped, so that `bytes_current` includes its memory.
            std::mem::forget(decoder);
        });
        assert!(read.bytes_max <= 1_000_000, "{} bytes, {length} at a time", read.bytes_max);
        assert!(read.bytes_current <= 8_192, "{} bytes are still allocated, {length} at a time", read.bytes_current);
    }
}

#[test]
fn a_payload_that_arrives_in_one_read_is_read_without_an_allocation() {
    let payload = vec![b'x'; 10_000];
    let stream = [b"text", &call(&payload)[..], &call("")].concat();
    let header_before = call(&payload);
    let allocations = measure(|| {
        let mut decoder = Decoder::new();
        let mut input = &stream[..];
        while decoder.next(&mut input).is_some() {}
        // The header of the next frame arrives in one read, and the whole payload in the next read.
        let (mut header, mut payload) = header_before.split_at(9);
        assert_eq!(decoder.next(&mut header), None);
        assert!(matches!(decoder.next(&mut payload), Some(Event::Frame(_))));
    });
    assert_eq!(allocations.count_total, 0);
}
