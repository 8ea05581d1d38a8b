//! The framing with one message on each line.

use portway::Limits;
use portway::codec::frame::Event;
use portway::codec::json;
use portway::codec::newline::{Decoder, encode};
use portway::message::{Message, Notification, Outgoing};
use serde_json::value::RawValue;

use crate::events::{body, limits, oversize, read_lines};

#[test]
fn lines_end_with_lf_or_crlf_and_blanks_before_a_message_are_ignored() {
    for stream in ["{}\n[]\n", "{}\r\n[]\r\n", "\n\n{}\n\r\n \t\r\n[]\n\n", "  {}\n\t[]\n", "\r\r\n{}\n[]", "{}\n[]\r"]
    {
        assert_eq!(read_lines(&Limits::DEFAULT, stream), [body("{}"), body("[]")], "{stream:?}");
    }
    for stream in ["", "\n", "\r\n\r\n", "  \t"] {
        assert_eq!(read_lines(&Limits::DEFAULT, stream), [], "{stream:?}");
    }
}

#[test]
fn only_line_feeds_end_a_line() {
    let text = "[\"\u{2028}\u{2029}\u{85}\u{b}\u{c}\r\"]";
    assert_eq!(read_lines(&Limits::DEFAULT, format!("{text}\n")), [body(text)]);
}

#[test]
fn a_last_line_without_a_line_end_is_a_message() {
    assert_eq!(read_lines(&Limits::DEFAULT, "{}\n[1]"), [body("{}"), body("[1]")]);
    assert_eq!(read_lines(&limits(3, 0), "[1]\r"), [body("[1]")]);
}

#[test]
fn long_lines_are_one_event() {
    for length in [65_536, 1 << 20] {
        let line = "x".repeat(length);
        assert_eq!(read_lines(&Limits::DEFAULT, format!("{line}\n{{}}\n")), [body(&line), body("{}")]);
    }
}

#[test]
fn a_line_is_accepted_up_to_its_limit_in_bytes() {
    let limits = limits(5, 0);
    for (line, end) in [("12345", "\n"), ("12345", "\r\n"), ("12345", ""), ("  12345", "\n"), ("1234\r", "\r\n")] {
        assert_eq!(read_lines(&limits, format!("{line}{end}")), [body(line.trim_start())], "{line:?}{end:?}");
    }
    for line in ["123456", "1234567", "123456\r", "12345\r6", "12345\r\r", "123456  "] {
        assert_eq!(read_lines(&limits, format!("{line}\n[]\n")), [oversize(None), body("[]")], "{line:?}");
        assert_eq!(read_lines(&limits, format!("{line}{line}")), [oversize(None)], "{line:?}");
    }
}

#[test]
fn a_whole_line_is_borrowed_from_the_input() {
    let stream = b"[1]\n[2]\r\n";
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    let mut input = &stream[..];
    let mut bodies = 0;
    while let Some(event) = decoder.next(&mut input) {
        let Event::Body(body) = event else { panic!("{event:?}") };
        assert!(stream.as_ptr_range().contains(&body.as_ptr()));
        bodies += 1;
    }
    assert_eq!(bodies, 2);
}

#[test]
fn any_message_is_written_on_one_line() {
    let params = "[\n  \"a\\nb\u{2028}\u{2029}\",\r\n  1\r\n]";
    let message = Message::Notification(Notification {
        method: "line\r\nbreaks\u{2028}".into(),
        params: RawValue::from_string(params.to_owned()).ok(),
    });
    let mut out = Vec::new();
    encode(&json::encode(&Outgoing::Single(message)), &mut out);
    assert_eq!(out.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count(), 1);
    assert_eq!(out.last(), Some(&b'\n'));
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    let mut input = &out[..];
    let Some(Event::Body(body)) = decoder.next(&mut input) else { panic!("the event must be a body") };
    let value: serde_json::Value = serde_json::from_slice(body).unwrap();
    assert_eq!(value["method"], "line\r\nbreaks\u{2028}");
    assert_eq!(value["params"], serde_json::json!(["a\nb\u{2028}\u{2029}", 1]));
}
