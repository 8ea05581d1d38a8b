//! The detection of a framing, and the decoder for a framing that is chosen at run time.

use portway::ErrorCode;
use portway::Framing;
use portway::Limits;
use portway::codec::FrameDecoder;
use portway::codec::frame::FrameFault;
use portway::message::{Fault, Reason};

use crate::events::{body, events_of, feed};

#[test]
fn a_framing_is_detected_from_the_first_bytes() {
    for (first_bytes, framing) in [
        ("Content-Length: 5\r\n", Some(Framing::ContentLength)),
        ("\r\nCONTENT-TYPE", Some(Framing::ContentLength)),
        ("content-length", Some(Framing::ContentLength)),
        ("{\"jsonrpc\":\"2.0\"", Some(Framing::Newline)),
        (" \t\r\n[ {\"id\":1,\"result\":NaN,\"jsonrpc\":", Some(Framing::Newline)),
        ("\u{feff}{\"jsonrpc\":\"2.0\"}\n", Some(Framing::Newline)),
        ("{", None),
        ("{\"level\":30,\"msg\":\"jsonrpc\"}\n", None),
        ("[INFO] starting\n", None),
        ("content-", None),
        ("Content-Encoding: x", None),
        ("WIPC", None),
        ("\"text\"", None),
        ("", None),
        ("  ", None),
    ] {
        assert_eq!(Framing::recognise(first_bytes.as_bytes()), framing, "{first_bytes:?}");
    }
}

#[test]
fn written_messages_are_read_back() {
    for framing in [Framing::ContentLength, Framing::Newline] {
        let mut out = Vec::new();
        let message = "{\"jsonrpc\":\"2.0\"}";
        for text in [message, "[\"é€😀\"]"] {
            framing.encode(text, &mut out);
        }
        assert_eq!(Framing::recognise(&out), Some(framing));
        let events = events_of(framing, &Limits::DEFAULT, [&out[..]]);
        assert_eq!(events, [body(message), body("[\"é€😀\"]")]);
    }
}

#[test]
fn rejected_bytes_are_decoded_again_only_with_content_length() {
    for (framing, expected) in [(Framing::ContentLength, vec![body("{}")]), (Framing::Newline, vec![])] {
        let mut decoder = FrameDecoder::new(framing, &Limits::DEFAULT);
        let mut input = &b"Content-Length: 25\r\n\r\n[]Content-Length: 2\r\n\r\n{}\n"[..];
        // The loop ends after the event to reject. With `Content-Length`, this event is the body. With lines, it is the
        // last line.
        let mut before = input;
        while decoder.next(&mut input).is_some() && !input.is_empty() && input != b"\n" {
            before = input;
        }
        decoder.reject_body(before);
        let mut events = Vec::new();
        feed(&mut decoder, "", &mut events);
        assert_eq!(events, expected, "{framing:?}");
    }
}

#[test]
fn each_fault_has_its_error_code_and_reason() {
    for (fault, code, reason) in [
        (FrameFault::Oversize { length: Some(1) }, ErrorCode::INVALID_REQUEST, Some("oversize")),
        (FrameFault::HeaderTooLarge, ErrorCode::INVALID_REQUEST, Some("header-too-large")),
        (FrameFault::InvalidHeader, ErrorCode::PARSE_ERROR, None),
        (FrameFault::Truncated { received_bytes: 1 }, ErrorCode::PARSE_ERROR, None),
    ] {
        let answer = fault.fault().unwrap();
        assert_eq!((answer.code(), answer.reason().map(Reason::as_str)), (code, reason), "{fault:?}");
    }
    assert_eq!(FrameFault::TimedOut { received_bytes: 1 }.fault(), None);
    assert_eq!(Reason::UnsupportedContentType.as_str(), "unsupported-content-type");
    assert_eq!(Reason::BadCharset.as_str(), "bad-charset");
    assert_eq!(Fault::Refused(Reason::BadCharset).code(), ErrorCode::INVALID_REQUEST);
}
