//! Content-Length: bodies that arrive in one read, in several reads, or not at all.

use portway::Framing;
use portway::Limits;
use portway::codec::content_length::{Decoder, encode};
use portway::codec::frame::Event;
use portway::message::Reason;

use crate::events::{OwnedEvent, body, events_of, frame, read, truncated};

#[test]
fn a_frame_is_written_with_one_header_and_a_length_in_bytes() {
    for text in ["", "{}", "[\"é€😀\"]", &"x".repeat(12_345)] {
        let mut out = b"before".to_vec();
        encode(text, &mut out);
        assert_eq!(out, format!("before{}", frame(text)).into_bytes());
    }
}

#[test]
fn a_length_counts_bytes_of_utf_8() {
    assert_eq!(read("Content-Length: 13\r\n\r\n[\"é€😀\"]"), [body("[\"é€😀\"]")]);
}

#[test]
fn characters_split_between_two_reads_are_decoded() {
    let stream = frame("[\"é€😀\"]") + &frame("{}");
    for at in 0..stream.len() {
        let (first, second) = stream.as_bytes().split_at(at);
        let events = events_of(Framing::ContentLength, &Limits::DEFAULT, [first, second]);
        assert_eq!(events, [body("[\"é€😀\"]"), body("{}")], "cut at {at}");
    }
}

#[test]
fn consecutive_frames_are_separate_events_in_order() {
    let bodies: Vec<String> = (0..100).map(|number| format!("[{number}]")).collect();
    let stream: String = bodies.iter().map(|text| frame(text)).collect();
    assert_eq!(read(stream), bodies.iter().map(|text| body(text)).collect::<Vec<_>>());
}

#[test]
fn the_body_of_a_whole_frame_is_borrowed_from_the_input() {
    let stream = frame("[1]") + &frame("[2]");
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    let mut input = stream.as_bytes();
    while let Some(event) = decoder.next(&mut input) {
        let Event::Body(body) = event else { panic!("{event:?}") };
        assert!(stream.as_bytes().as_ptr_range().contains(&body.as_ptr()));
    }
}

#[test]
fn a_frame_is_returned_when_its_last_byte_arrives() {
    let stream = frame("[1]");
    let (start, last) = stream.as_bytes().split_at(stream.len() - 1);
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    assert_eq!(decoder.next(&mut &*start), None);
    assert_eq!(decoder.next(&mut &*last), Some(Event::Body(b"[1]")));
}

#[test]
fn a_frame_with_the_length_zero_is_decoded_as_an_empty_body() {
    assert_eq!(read("Content-Length: 0\r\n\r\n".to_owned() + &frame("{}")), [body(""), body("{}")]);
}

#[test]
fn if_a_body_was_never_sent_the_decoder_returns_an_empty_body_and_the_next_frame() {
    let next = frame("{}");
    let typed = format!("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n{next}");
    let other = format!("X-Other : 1\r\n{next}");
    for next in [next, typed, other] {
        for length in [15, 20, 500] {
            let stream = format!("Content-Length: {length}\r\n\r\n{next}");
            assert_eq!(read(&stream), [body(""), body("{}")], "{length}, {next}");
        }
    }
}

#[test]
fn a_body_may_begin_like_a_header_does() {
    for text in
        ["c", "content", "content-length", "Content-Length ", "content-length 5: x", "contenx", "word", "-12345", "42"]
    {
        assert_eq!(read(frame(text) + &frame("{}")), [body(text), body("{}")], "{text}");
    }
    // This body begins with a name and a colon, as a header does. The decoder may take the body for a header, but must
    // read the next frame.
    assert_eq!(read(frame("cContent-Length: x") + &frame("{}")).last(), Some(&body("{}")));
}

#[test]
fn the_end_of_the_input_inside_a_message_is_reported() {
    let stream = frame("[1,2]");
    for length in 1..stream.len() {
        assert_eq!(read(&stream.as_bytes()[..length]), [truncated(length)], "{length} bytes");
    }
    assert_eq!(read(&stream), [body("[1,2]")]);
    assert_eq!(read("Content-Type: application/vscode-jsonrpc\r\nContent-Le"), [truncated(52)]);
    assert_eq!(read("X-Other: 1\r\n"), [truncated(12)]);
    assert_eq!(read("Content-Length: 20\r\n\r\ncontent-"), [truncated(30)]);
    // Between messages, the end of the input is not a fault.
    assert_eq!(read(""), []);
    assert_eq!(read("\r\n \r\n"), []);
}

#[test]
fn a_decoder_can_be_reused_after_the_end_of_its_input() {
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    assert_eq!(decoder.next(&mut &b"Content-Length: 5\r\nX"[..]), None);
    assert!(decoder.finish().is_some());
    assert_eq!(decoder.next(&mut frame("{}").as_bytes()), Some(Event::Body(b"{}")));
}

#[test]
fn a_body_with_an_unsupported_type_or_charset_is_refused_and_returned() {
    for (header, reason) in [
        ("Content-Type: application/json", Reason::UnsupportedContentType),
        ("content-type:", Reason::UnsupportedContentType),
        ("Content-Type: application/vscode-jsonrpc2; charset=utf-8", Reason::UnsupportedContentType),
        ("Content-Type: text/plain; charset=utf-16", Reason::UnsupportedContentType),
        ("Content-Type: application/vscode-jsonrpc; charset=utf-16", Reason::BadCharset),
        ("Content-Type: application/vscode-jsonrpc;charset=latin1", Reason::BadCharset),
        ("Content-Type: application/vscode-jsonrpc; charset", Reason::BadCharset),
        ("Content-Type: application/vscode-jsonrpc; a=b; CharSet=\"UTF-16\"", Reason::BadCharset),
    ] {
        for stream in [
            format!("{header}\r\nContent-Length: 2\r\n\r\n{{}}"),
            format!("Content-Length: 2\r\n{header}\r\n\r\n{{}}"),
            format!("Content-Length: 2\r\n{header}\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n{{}}"),
        ] {
            assert_eq!(
                read(stream + &frame("[]")),
                [OwnedEvent::Refused("{}".to_owned(), reason), body("[]")],
                "{header}"
            );
        }
    }
    let empty = "Content-Length: 0\r\nContent-Type: a/b\r\n\r\n";
    assert_eq!(read(empty), [OwnedEvent::Refused(String::new(), Reason::UnsupportedContentType)]);
}

#[test]
fn a_body_of_the_type_vscode_jsonrpc_in_utf_8_is_read() {
    for value in [
        "application/vscode-jsonrpc",
        "application/vscode-jsonrpc; charset=utf-8",
        "application/vscode-jsonrpc; charset=utf8",
        "APPLICATION/VSCode-JsonRPC;CHARSET=UTF-8",
        "application/vscode-jsonrpc ; charset = \"Utf-8\" ",
        "application/vscode-jsonrpc; version=1; charset=utf-8",
        "application/vscode-jsonrpc; charset=utf-8; version=1",
        "application/vscode-jsonrpc;",
    ] {
        assert_eq!(read(format!("Content-Type: {value}\r\nContent-Length: 2\r\n\r\n{{}}")), [body("{}")], "{value}");
    }
}
