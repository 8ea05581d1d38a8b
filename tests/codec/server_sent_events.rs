//! Server-sent events (HTML Living Standard, section 9.2).

use portway::Limits;
use portway::codec::sse::{Decoder, Event, encode};
use proptest::prelude::*;

use crate::sse_events::{Owned, read_pieces, read_simply};

fn message(data: &str) -> Owned {
    Owned::Message("message".to_owned(), data.to_owned())
}

fn limits(message_bytes: usize, header_bytes: usize) -> Limits {
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = message_bytes;
    limits.header_bytes = header_bytes;
    limits
}

/// Reads the stream whole and in pieces of each small length. Returns the events, which must not depend on the pieces.
fn read_with(limits: &Limits, stream: &[u8]) -> (Vec<Owned>, Decoder) {
    let mut decoder = Decoder::new(limits);
    let events = read_pieces(&mut decoder, [stream]);
    for length in 1..8 {
        let mut other = Decoder::new(limits);
        assert_eq!(read_pieces(&mut other, stream.chunks(length)), events, "in pieces of {length} bytes");
        assert_eq!(other.last_event_id(), decoder.last_event_id());
        assert_eq!(other.retry_ms(), decoder.retry_ms());
    }
    (events, decoder)
}

fn read(stream: &str) -> Vec<Owned> {
    read_with(&Limits::DEFAULT, stream.as_bytes()).0
}

#[test]
fn lf_crlf_and_cr_end_a_line_and_a_blank_line_ends_an_event() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = format!("data: 1{end}{end}data: 2{end}{end}{end}{end}data:3{end}{end}");
        assert_eq!(read(&stream), [message("1"), message("2"), message("3")], "{end:?}");
    }
    assert_eq!(read("data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\n"), [message("1"), message("2"), message("3")]);
}

#[test]
fn an_event_is_returned_at_its_last_byte_even_if_that_is_a_carriage_return() {
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    assert_eq!(read_pieces(&mut decoder, [&b"data: 1\r\n\r"[..]]), [message("1")]);
    assert_eq!(read_pieces(&mut decoder, [&b"\ndata: 2\r"[..]]), []);
    assert_eq!(read_pieces(&mut decoder, [&b"\n"[..]]), []);
    assert_eq!(read_pieces(&mut decoder, [&b"\n"[..]]), [message("2")]);
}

#[test]
fn several_lines_of_data_are_joined_with_a_line_feed() {
    assert_eq!(read("data: {\ndata: \"a\": 1\ndata: }\n\n"), [message("{\n\"a\": 1\n}")]);
    assert_eq!(read("data\n\ndata\ndata\n\ndata:"), [message(""), message("\n")]);
    assert_eq!(read("data:  two spaces\n\n"), [message(" two spaces")]);
    assert_eq!(read("data: a:b: c\n\n"), [message("a:b: c")]);
}

#[test]
fn an_event_without_data_is_not_returned_but_its_id_counts() {
    let (events, decoder) = read_with(&Limits::DEFAULT, b"id: 5\nretry: 250\n\nevent: x\n\ndata: 1\n\n");
    assert_eq!(events, [message("1")]);
    assert_eq!(decoder.last_event_id(), "5");
    assert_eq!(decoder.retry_ms(), Some(250));
}

#[test]
fn an_event_with_an_id_and_empty_data_is_returned() {
    let (events, decoder) = read_with(&Limits::DEFAULT, b"id: first\ndata:\n\n");
    assert_eq!(events, [message("")]);
    assert_eq!(decoder.last_event_id(), "first");
}

#[test]
fn the_id_of_an_incomplete_event_does_not_count() {
    let (events, decoder) = read_with(&Limits::DEFAULT, b"id: 1\ndata: a\n\nid: 2\ndata: b\n");
    assert_eq!(events, [message("a")]);
    assert_eq!(decoder.last_event_id(), "1");
}

#[test]
fn invalid_ids_and_retries_are_ignored() {
    let stream =
        b"id: 1\nretry: 10\ndata: a\n\nid: 2\0\nretry: -1\nretry: 1.5\nretry:\nretry: 99999999999999999999\ndata\n\n";
    let (_, decoder) = read_with(&Limits::DEFAULT, stream);
    assert_eq!((decoder.last_event_id(), decoder.retry_ms()), ("1", Some(10)));
    let (_, decoder) = read_with(&Limits::DEFAULT, b"id: 1\n\nid: \xFF\n\n");
    assert_eq!(decoder.last_event_id(), "1");
    let (_, decoder) = read_with(&Limits::DEFAULT, b"id: 1\n\nid\n\n");
    assert_eq!(decoder.last_event_id(), "", "an empty id must reset the id");
}

#[test]
fn comments_unknown_fields_and_a_byte_order_mark_are_skipped() {
    assert_eq!(read("\u{feff}data: 1\n\n: ping\n\nx: y\ndatax: 2\ndat: 3\n Data: 4\nDATA: 5\n\n"), [message("1")]);
    assert_eq!(read("\u{feff}\u{feff}data: 1\n\ndata: 2\n\n"), [message("2")], "only one mark must be skipped");
    assert_eq!(read_with(&Limits::DEFAULT, b"\xEF\xBBdata: 1\n\ndata: 2\n\n").0, [message("2")]);
    assert_eq!(read_with(&Limits::DEFAULT, b"\xEF\xBB").0, []);
}

#[test]
fn the_name_of_an_event_applies_to_that_event_only() {
    let named = |name: &str, data: &str| Owned::Message(name.to_owned(), data.to_owned());
    assert_eq!(
        read("event: a\nevent: b\ndata: 1\n\ndata: 2\n\nevent: c\n\ndata: 3\n\nevent\ndata: 4\n\n"),
        [named("b", "1"), message("2"), message("3"), message("4")]
    );
}

#[test]
fn data_is_bytes() {
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    let mut input = &b"data: \xFF\0\n\n"[..];
    assert_eq!(decoder.next(&mut input), Some(Event::Message { name: "message", data: b"\xFF\0" }));
}

#[test]
fn one_line_of_data_is_borrowed_from_the_input() {
    let stream = b"event: message\nid: 1\ndata: [1]\n\ndata: [2]\r\nid: 2\r\n\r\n";
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    let mut input = &stream[..];
    let mut count = 0;
    while let Some(event) = decoder.next(&mut input) {
        let Event::Message { data, .. } = event else { panic!("{event:?}") };
        assert!(stream.as_ptr_range().contains(&data.as_ptr()));
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn data_is_accepted_up_to_its_limit() {
    let limits = limits(5, 100);
    for stream in ["data: 12345\n\n", "data:12345\n\n", "data: 12\ndata: 45\n\n", "data: 12345\ndatax\n\n"] {
        let (events, _) = read_with(&limits, stream.as_bytes());
        assert!(matches!(events.as_slice(), [Owned::Message(..)]), "{stream:?}: {events:?}");
    }
    for stream in ["data: 123456\n\n", "data:123456\n\n", "data: 12\ndata: 456\n\n", "data: 12345\ndata\n\n"] {
        let (events, _) = read_with(&limits, format!("{stream}data: 1\n\n").as_bytes());
        let [Owned::TooLarge(beginning), next] = events.as_slice() else { panic!("{stream:?}: {events:?}") };
        assert!(beginning.starts_with("12"), "{beginning:?}");
        assert_eq!(*next, message("1"));
    }
}

#[test]
fn an_event_that_is_too_large_keeps_its_id_and_is_reported_once() {
    let limits = limits(100, 20);
    let long = "x".repeat(10_000);
    let stream = format!("event: a\ndata: {{\"id\":7{long}\ndata: {long}\nid: 9\nretry: 3\n\ndata: 1\n\n");
    let (events, decoder) = read_with(&limits, stream.as_bytes());
    let [Owned::TooLarge(beginning), next] = events.as_slice() else { panic!("{events:?}") };
    assert!(beginning.starts_with("{\"id\":7x"), "{beginning:?}");
    assert_eq!(beginning.len(), 1_024);
    assert_eq!(*next, message("1"));
    assert_eq!((decoder.last_event_id(), decoder.retry_ms()), ("9", Some(3)));
}

#[test]
fn the_beginning_of_a_dropped_event_contains_all_its_lines() {
    let (events, _) = read_with(&limits(5, 10), b"data: 12345\ndata: 6\ndata: 7\ndata\ndata:8\ndata: 123456789\n\n");
    assert_eq!(events, [Owned::TooLarge("12345\n6\n7\n\n8\n123456789".to_owned())]);
}

#[test]
fn the_event_after_a_dropped_event_is_complete() {
    let stream = format!("data: {}\n\n\n\ndata: 1\n\n", "x".repeat(2_000));
    let (events, _) = read_with(&limits(100, 20), stream.as_bytes());
    let [Owned::TooLarge(_), next] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(*next, message("1"));
}

#[test]
fn a_limit_can_be_the_largest_number() {
    assert_eq!(read_with(&limits(usize::MAX, usize::MAX), b"id: 1\ndata: 12345\n\n").0, [message("12345")]);
}

#[test]
fn long_values_of_other_fields_are_ignored() {
    let limits = limits(100, 20);
    let long = "x".repeat(50_000);
    let stream = format!(
        "id: {}\ndata: 1\n\nid: {long}\nevent: {long}\nretry: 1{}\n: {long}\n{long}\n{long}: 1\ndata: 2\n\n",
        "i".repeat(20),
        "0".repeat(50_000)
    );
    let (events, decoder) = read_with(&limits, stream.as_bytes());
    assert_eq!(events, [message("1"), message("2")]);
    assert_eq!((decoder.last_event_id(), decoder.retry_ms()), ("i".repeat(20).as_str(), None));
}

#[test]
fn memory_is_bounded_by_the_limits() {
    let limits = limits(10_000, 1_000);
    let endless: [&[u8]; 7] =
        [b"data: x", b"data: x\n", b"id: x", b": x", b"data: x\nid: 1\nevent: 2\n", b"x", b"data\n"];
    for unit in endless {
        let mut decoder = Decoder::new(&limits);
        let start = &unit[..unit.len().min(6)];
        let info = allocation_counter::measure(|| {
            read_pieces(&mut decoder, [start]);
            for _ in 0..100_000 {
                let unit = if unit.contains(&b'\n') { unit } else { b"xxxxxxxxxxxxx" };
                read_pieces(&mut decoder, [unit]);
            }
        });
        assert!(info.bytes_max < 40_000, "{} bytes for {:?}", info.bytes_max, String::from_utf8_lossy(unit));
    }
}

#[test]
fn encoded_events_are_decoded() {
    let mut stream = Vec::new();
    encode(Some("message"), Some("1"), "{}", &mut stream);
    encode(None, Some("2"), "", &mut stream);
    encode(None, None, "a\r\nb\rc\nd\n", &mut stream);
    encode(Some("x\ndata: 1"), Some("3\r"), "e", &mut stream);
    assert_eq!(
        String::from_utf8_lossy(&stream),
        "event: message\nid: 1\ndata: {}\n\nid: 2\ndata: \n\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \n\ndata: e\n\n"
    );
    let (events, decoder) = read_with(&Limits::DEFAULT, &stream);
    assert_eq!(events, [message("{}"), message(""), message("a\nb\nc\nd\n"), message("e")]);
    assert_eq!(decoder.last_event_id(), "2");
}

fn streams() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("data"),
        Just("id"),
        Just("event"),
        Just("retry"),
        Just(":"),
        Just(": "),
        Just("\n"),
        Just("\r"),
        Just("\r\n"),
        Just("\n\n"),
        Just("event: message\n"),
        Just("event: y\n"),
        Just("id: 2\n"),
        Just("data: z\n\n"),
        Just("data: z\r\n\r\n"),
        Just("x"),
        Just("\0"),
        Just("\u{feff}"),
        Just("é"),
        Just("1"),
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

/// Streams of whole lines. Many of their events have the common form, which has its own code in the decoder. Others
/// differ from it in one place.
fn lines() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        3 => Just("data: "),
        2 => Just("id: "),
        2 => Just("event: "),
        1 => Just("retry: "),
        1 => prop::sample::select(&["data:", "data", "id:", "id", "event:", "event", ": ", "x: ", "\u{feff}data: "][..]),
    ];
    let value = prop_oneof![
        2 => prop::sample::select(&["1", "22", "message", "12345678"][..]),
        1 => prop::sample::select(&["", " ", "messages", "a:b", "é", "1\0", "\0", "\t", "\u{7f}", "99999999999999999999"][..]),
    ];
    let end = || prop_oneof![4 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
    let line = (field, value, end(), end(), 0..3_u8).prop_map(|(field, value, end, blank, blanks)| {
        // A blank line with the same end is the most common one.
        let blank = ["", end, blank][usize::from(blanks)];
        format!("{field}{value}{end}{blank}")
    });
    let start = prop_oneof![4 => Just(""), 1 => Just("\u{feff}"), 2 => Just("\n")];
    (start, proptest::collection::vec(line, 0..12)).prop_map(|(start, lines)| start.to_owned() + &lines.concat())
}

/// Limits of the data and of the other values: low ones, which need not be equal, or the default.
fn any_limits() -> impl Strategy<Value = Limits> {
    prop_oneof![(0..10_usize, 0..10_usize).prop_map(|(data, value)| limits(data, value)), Just(Limits::DEFAULT)]
}

/// Reads the pieces of a stream. Returns the events, each with the last id and the retry time at this event, and then
/// the last id and the retry time at the end.
fn steps<'p>(limits: &Limits, pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<(Option<Owned>, String, Option<u64>)> {
    let mut decoder = Decoder::new(limits);
    let mut steps = Vec::new();
    for mut piece in pieces {
        loop {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let event = match decoder.next(&mut piece) {
                Some(Event::Message { name, data }) => Owned::Message(name.to_owned(), text(data)),
                Some(Event::TooLarge { beginning }) => Owned::TooLarge(text(beginning)),
                None => break,
            };
            steps.push((Some(event), decoder.last_event_id().to_owned(), decoder.retry_ms()));
        }
    }
    steps.push((None, decoder.last_event_id().to_owned(), decoder.retry_ms()));
    steps
}

/// Compares the two paths of the decoder: an event that is whole in a piece can be decoded without the state of the
/// decoder, but an event in pieces of one byte cannot.
fn compare_paths(limits: &Limits, stream: &[u8]) {
    let expected = steps(limits, stream.chunks(1));
    for cut in 0..=stream.len() {
        let (first, second) = stream.split_at(cut);
        let found = steps(limits, [first, second]);
        assert_eq!(found, expected, "{:?}, cut at {cut}", String::from_utf8_lossy(stream));
    }
}

#[test]
fn both_paths_of_the_decoder_agree() {
    let lines = [
        "id: 1\0",
        "id: ",
        "id: 12345",
        "id: \u{7f}",
        "id: é",
        "id:2",
        "id",
        "event: ",
        "event: message",
        "event: messages",
        "event: y\0",
        "event: é",
        "event",
        "retry: 5",
        "retry: -",
        ": ",
        "\u{feff}id: 3",
        "data: ",
        "data: 1234567",
        "data:1",
    ];
    for (index, line) in lines.iter().enumerate() {
        for other in lines.iter().skip(index) {
            for end in ["\n", "\r\n", "\r"] {
                // The first event of a stream is never decoded by the short path.
                let event = format!("{line}{end}{other}{end}data: 1{end}{end}");
                let stream = format!("\u{feff}data: 0{end}id: 0{end}{end}{event}data: 2\n\n");
                for limits in [limits(0, 0), limits(1, 7), limits(7, 1), Limits::DEFAULT] {
                    compare_paths(&limits, stream.as_bytes());
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn the_events_do_not_depend_on_the_pieces_if_limits_are_low(stream in streams(), max in 0..6_usize) {
        read_with(&limits(max, max), stream.as_bytes());
    }

    #[test]
    fn both_paths_of_the_decoder_agree_for_any_stream(
        stream in prop_oneof![lines(), streams()],
        limits in any_limits(),
    ) {
        compare_paths(&limits, stream.as_bytes());
    }

    #[test]
    fn any_stream_is_read_as_the_standard_says(stream in prop_oneof![lines(), streams()]) {
        let (events, decoder) = read_with(&Limits::DEFAULT, stream.as_bytes());
        let (expected, id) = read_simply(stream.as_bytes());
        prop_assert_eq!(events, expected);
        prop_assert_eq!(decoder.last_event_id(), id);
    }
}
