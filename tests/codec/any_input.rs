//! Random input, cut at random positions.

use portway::Framing;
use portway::Limits;
use portway::codec::FrameDecoder;
use portway::codec::frame::Event;
use proptest::prelude::*;

use crate::found::{Found, body, end, feed, find_in, frame, limits, noise};

#[derive(Clone, Debug)]
enum Part {
    Good(String),
    Bad(Vec<u8>),
}

fn any_part() -> impl Strategy<Value = Part> {
    let good = "[{]\\PC{0,40}[}]".prop_map(Part::Good);
    prop_oneof![2 => good, 3 => any_garbage().prop_map(Part::Bad)]
}

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

/// Returns the pieces of the input between these positions.
fn cut<'b>(bytes: &'b [u8], places: &[prop::sample::Index]) -> Vec<&'b [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect()
}

fn small() -> Limits {
    limits(100, 64)
}

/// Generates text that looks neither like a header nor like the beginning of the name of a header.
fn any_text() -> impl Strategy<Value = String> {
    "[!-9;-~][ -9;-~é€\r\n]{0,100}[!-,.-9;-~\r\n]"
}

/// Returns the number of bytes in all events. Each byte is one character of [`Found`].
fn count(found: &[Found]) -> usize {
    found
        .iter()
        .map(|found| match found {
            Found::Body(text) | Found::Refused(text, _) | Found::Noise { text, .. } => text.chars().count(),
            Found::Fault(_) => 0,
        })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_events_do_not_depend_on_the_pieces_of_the_input(
        parts in prop::collection::vec(any_part(), 0..6),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let bytes = join(&parts);
        for framing in [Framing::ContentLength, Framing::Newline] {
            let whole = find_in(framing, &small(), [&bytes[..]]);
            prop_assert_eq!(&find_in(framing, &small(), cut(&bytes, &places)), &whole);
            prop_assert_eq!(&find_in(framing, &small(), bytes.chunks(1)), &whole);
        }
    }

    #[test]
    fn no_byte_is_found_twice(parts in prop::collection::vec(any_part(), 0..8)) {
        let bytes = join(&parts);
        for framing in [Framing::ContentLength, Framing::Newline] {
            let found = find_in(framing, &small(), [&bytes[..]]);
            prop_assert!(count(&found) <= bytes.len());
        }
    }

    #[test]
    fn all_text_between_frames_is_noise_and_no_frame_is_lost(
        parts in prop::collection::vec((any_text(), "[{]\\PC{0,40}[}]"), 1..6),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for (text, content) in &parts {
            bytes.extend(text.bytes().chain(frame(content).bytes()));
            expected.extend([noise(text), body(content)]);
        }
        prop_assert_eq!(find_in(Framing::ContentLength, &limits(200, 64), cut(&bytes, &places)), expected);
    }

    #[test]
    fn a_frame_is_found_after_noise_without_header_names(
        parts in prop::collection::vec((any_garbage(), "[{]\\PC{0,40}[}]"), 1..6),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
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
        let found = find_in(Framing::ContentLength, &limits(200, 8_192), cut(&bytes, &places));
        let found: Vec<_> = found.into_iter().filter(|found| matches!(found, Found::Body(_))).collect();
        prop_assert_eq!(found, bodies);
    }

    #[test]
    fn a_line_is_found_after_noise_with_a_line_end(garbage in any_garbage(), content in "[{][ -~]{0,40}[}]") {
        let bytes = [&garbage[..], b"\n", content.as_bytes(), b"\n"].concat();
        let found = find_in(Framing::Newline, &small(), [&bytes[..]]);
        prop_assert_eq!(found.last(), Some(&body(&content)));
    }

    #[test]
    fn a_frame_is_found_after_a_time_out_of_any_input(
        parts in prop::collection::vec((any_garbage(), any::<bool>()), 0..6),
        content in "[{][ -~]{0,40}[}]",
    ) {
        for framing in [Framing::ContentLength, Framing::Newline] {
            let mut decoder = FrameDecoder::new(framing, &small());
            let mut found = Vec::new();
            for (garbage, times_out) in &parts {
                feed(&mut decoder, garbage, &mut found);
                if *times_out {
                    let _ = decoder.time_out();
                    prop_assert_eq!(decoder.unfinished(), None);
                }
            }
            let _ = decoder.time_out();
            let mut out = vec![b'\n'];
            framing.encode(&content, &mut out);
            found.clear();
            feed(&mut decoder, &out, &mut found);
            prop_assert_eq!(found.last(), Some(&body(&content)));
            end(&mut decoder, &mut found);
        }
    }

    #[test]
    fn the_bytes_of_a_rejected_body_are_decoded_before_later_input(
        length in 0..60_usize,
        rest in any_garbage(),
        after in any_garbage(),
        is_cut in any::<bool>(),
    ) {
        // The rejected body contains a header. The decoder must read the bytes from this header on before all later
        // input.
        let mut swallowed = format!("Content-Length: {length}\r\n\r\n").into_bytes();
        swallowed.extend(rest.iter().take(60));
        let body = [b"(", &swallowed[..]].concat();
        let stream = [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
        let mut decoder = FrameDecoder::new(Framing::ContentLength, &small());
        let mut input = &stream[..];
        if is_cut {
            let (first, last) = stream.split_at(stream.len() - 1);
            prop_assert_eq!(decoder.next(&mut &first[..]), None);
            input = last;
        }
        let before = input;
        prop_assert_eq!(decoder.next(&mut input), Some(Event::Body(&body)));
        prop_assert_eq!(decoder.reject_body(before), swallowed.len());
        let mut found = Vec::new();
        feed(&mut decoder, &after, &mut found);
        end(&mut decoder, &mut found);

        let mut other = FrameDecoder::new(Framing::ContentLength, &small());
        let mut expected = Vec::new();
        feed(&mut other, "Content-Length: 1\r\n\r\n(", &mut expected);
        expected.clear();
        feed(&mut other, [swallowed, after].concat(), &mut expected);
        end(&mut other, &mut expected);
        prop_assert_eq!(found, expected);
    }
}
