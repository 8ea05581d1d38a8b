//! Random input, cut at random positions.

use portway::Framing;
use portway::Limits;
use portway::codec::FrameDecoder;
use portway::codec::frame::Event;
use proptest::prelude::*;

use crate::events::{OwnedEvent, body, end, events_of, feed, frame, limits, noise};

/// A part of a stream: a frame with this body, or any other bytes.
#[derive(Clone, Debug)]
enum Part {
    Good(String),
    Bad(Vec<u8>),
}

fn any_part() -> impl Strategy<Value = Part> {
    let good = "[{]\\PC{0,40}[}]".prop_map(Part::Good);
    prop_oneof![2 => good, 3 => any_garbage().prop_map(Part::Bad)]
}

/// Generates bytes that often look like a header, or like a part of a header.
fn any_garbage() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        "[ -~]{0,80}",
        "[ -~]{0,40}\r?\n",
        "(\r?\n){0,3}",
        "[A-Za-z-]{1,20}[ \t]{0,3}: ?[ -~]{0,40}\r?\n",
        "[A-Za-z-]{1,20}: [ -~]{0,300}\r?\n",
        "(?i)(content-length|content-type) {0,3}:? {0,3}[0-9a-z/-]{0,6}",
        "(?i)x?content-length {0,3}: {0,3}[0-9]{0,25}\r?\n",
        "(?i)x?content-length {0,3}: {0,3}[0-9]{0,25}\r\n\r\n",
        "(?i)content-type {0,3}: {0,3}application/(json|vscode-jsonrpc); charset=utf-?(8|16)\r\n(\r\n)?",
        "(?i)c?o?n?t?e?n?t?-?",
        "[a-z]{50,80}:?[ -~]{0,80}\n?",
        "(?i)content-length: 0{30,70}[0-9]?[0-9]?(\r\n)?",
    ];
    prop_oneof![
        8 => text.prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..60),
        1 => ".{0,20}".prop_map(|body| { let mut frame = frame(&body).into_bytes(); frame.pop(); frame }),
    ]
}

fn join(parts: &[Part]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        match part {
            Part::Good(body) => bytes.extend(frame(body).bytes()),
            Part::Bad(garbage) => bytes.extend(garbage),
        }
    }
    bytes
}

/// Cuts the input at these positions. Returns the pieces.
fn cut<'b>(bytes: &'b [u8], positions: &[prop::sample::Index]) -> Vec<&'b [u8]> {
    let mut positions: Vec<usize> = positions.iter().map(|position| position.index(bytes.len() + 1)).collect();
    positions.extend([0, bytes.len()]);
    positions.sort_unstable();
    positions.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect()
}

fn small_limits() -> Limits {
    limits(100, 64)
}

/// Generates text that looks neither like a header nor like the beginning of a header name.
fn any_text() -> impl Strategy<Value = String> {
    "[!-9;-~][ -9;-~é€\r\n]{0,100}[!-,.-9;-~\r\n]"
}

/// Returns the number of bytes in all events. An event contains each byte as one character.
fn count_bytes(events: &[OwnedEvent]) -> usize {
    events
        .iter()
        .map(|event| match event {
            OwnedEvent::Body(text) | OwnedEvent::Refused(text, _) | OwnedEvent::Noise { text, .. } => {
                text.chars().count()
            }
            OwnedEvent::Fault(_) => 0,
        })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_events_do_not_depend_on_the_pieces_of_the_input(
        parts in prop::collection::vec(any_part(), 0..6),
        positions in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let bytes = join(&parts);
        for framing in [Framing::ContentLength, Framing::Newline] {
            let whole = events_of(framing, &small_limits(), [&bytes[..]]);
            prop_assert_eq!(&events_of(framing, &small_limits(), cut(&bytes, &positions)), &whole);
            prop_assert_eq!(&events_of(framing, &small_limits(), bytes.chunks(1)), &whole);
        }
    }

    #[test]
    fn the_events_have_at_most_as_many_bytes_as_the_input(parts in prop::collection::vec(any_part(), 0..8)) {
        let bytes = join(&parts);
        for framing in [Framing::ContentLength, Framing::Newline] {
            let events = events_of(framing, &small_limits(), [&bytes[..]]);
            prop_assert!(count_bytes(&events) <= bytes.len());
        }
    }

    #[test]
    fn all_text_between_frames_is_noise_and_no_frame_is_lost(
        parts in prop::collection::vec((any_text(), "[{]\\PC{0,40}[}]"), 1..6),
        positions in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for (text, content) in &parts {
            bytes.extend(text.bytes().chain(frame(content).bytes()));
            expected.extend([noise(text), body(content)]);
        }
        prop_assert_eq!(events_of(Framing::ContentLength, &limits(200, 64), cut(&bytes, &positions)), expected);
    }

    #[test]
    fn each_frame_is_decoded_after_noise_that_does_not_name_a_known_header(
        parts in prop::collection::vec((any_garbage(), "[{]\\PC{0,40}[}]"), 1..6),
        positions in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut bytes = Vec::new();
        let mut bodies = Vec::new();
        for (garbage, content) in &parts {
            let text = String::from_utf8_lossy(garbage).to_lowercase();
            if !text.contains("content-length") && !text.contains("content-type") {
                bytes.extend(garbage);
            }
            bytes.extend(frame(content).bytes());
            bodies.push(body(content));
        }
        let events = events_of(Framing::ContentLength, &limits(200, 8_192), cut(&bytes, &positions));
        let events: Vec<_> = events.into_iter().filter(|event| matches!(event, OwnedEvent::Body(_))).collect();
        prop_assert_eq!(events, bodies);
    }

    #[test]
    fn a_line_is_decoded_after_any_garbage_with_a_line_end(garbage in any_garbage(), content in "[{][ -~]{0,40}[}]") {
        let bytes = [&garbage[..], b"\n", content.as_bytes(), b"\n"].concat();
        let events = events_of(Framing::Newline, &small_limits(), [&bytes[..]]);
        prop_assert_eq!(events.last(), Some(&body(&content)));
    }

    #[test]
    fn a_frame_is_decoded_after_any_input_with_a_time_out_and_a_line_end(
        parts in prop::collection::vec((any_garbage(), any::<bool>()), 0..6),
        content in "[{][ -~]{0,40}[}]",
    ) {
        for framing in [Framing::ContentLength, Framing::Newline] {
            let mut decoder = FrameDecoder::new(framing, &small_limits());
            let mut events = Vec::new();
            for (garbage, times_out) in &parts {
                feed(&mut decoder, garbage, &mut events);
                if *times_out {
                    let _ = decoder.time_out();
                    prop_assert_eq!(decoder.unfinished(), None);
                }
            }
            let _ = decoder.time_out();
            // After a timeout, the decoder of lines drops all bytes up to the next line end.
            let mut out = vec![b'\n'];
            framing.encode(&content, &mut out);
            events.clear();
            feed(&mut decoder, &out, &mut events);
            prop_assert_eq!(events.last(), Some(&body(&content)));
            end(&mut decoder, &mut events);
        }
    }

    #[test]
    fn the_bytes_of_a_rejected_body_are_decoded_before_later_input(
        length in 0..60_usize,
        rest in any_garbage(),
        after in any_garbage(),
        is_cut in any::<bool>(),
    ) {
        // The rejected body contains a header. The decoder must go back to this header, and decode the rest of the body
        // again, before it decodes later input.
        let mut bytes_from_header = format!("Content-Length: {length}\r\n\r\n").into_bytes();
        bytes_from_header.extend(rest.iter().take(60));
        let body = [b"(", &bytes_from_header[..]].concat();
        let stream = [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
        let mut decoder = FrameDecoder::new(Framing::ContentLength, &small_limits());
        let mut input = &stream[..];
        if is_cut {
            let (first, last) = stream.split_at(stream.len() - 1);
            prop_assert_eq!(decoder.next(&mut &first[..]), None);
            input = last;
        }
        let before = input;
        prop_assert_eq!(decoder.next(&mut input), Some(Event::Body(&body)));
        prop_assert_eq!(decoder.reject_body(before), bytes_from_header.len());
        let mut events = Vec::new();
        feed(&mut decoder, &after, &mut events);
        end(&mut decoder, &mut events);

        // The reference receives the same bytes as new input, after a body that is not rejected.
        let mut reference = FrameDecoder::new(Framing::ContentLength, &small_limits());
        let mut expected = Vec::new();
        feed(&mut reference, "Content-Length: 1\r\n\r\n(", &mut expected);
        expected.clear();
        feed(&mut reference, [bytes_from_header, after].concat(), &mut expected);
        end(&mut reference, &mut expected);
        prop_assert_eq!(events, expected);
    }
}
