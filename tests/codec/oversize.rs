//! Content-Length: bodies that are longer than the limit.

use crate::events::{OwnedEvent, body, frame, limits, more_noise, oversize, read, read_within};

#[test]
fn a_body_is_accepted_up_to_its_limit_in_bytes() {
    let limits = limits(10, 8_192);
    assert_eq!(read_within(&limits, frame("[3456789]]") + &frame("[]")), [body("[3456789]]"), body("[]")]);
    assert_eq!(read_within(&limits, frame("[34567890]]") + &frame("[]")), [oversize(11), body("[]")]);
}

#[test]
fn the_default_limit_is_10_485_760_bytes() {
    let header = |length: u32| format!("Content-Length: {length}\r\n\r\n");
    assert_eq!(read(header(10_485_760)), [crate::events::truncated(28)]);
    assert_eq!(read(header(10_485_761)), [oversize(10_485_761)]);
}

#[test]
fn an_oversized_body_is_reported_after_its_header_and_dropped() {
    for (length, reported) in [
        ("1073741824", Some(1 << 30)),
        ("99999999999", Some(99_999_999_999)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        (&"9".repeat(1_000), None),
    ] {
        let header = format!("Content-Length: {length}\r\nContent-Type: a/b\r\n\r\n");
        assert_eq!(read(&header), [oversize(reported)], "{length}");
        // The end of the input within the dropped body is not a second fault.
        assert_eq!(read(format!("{header}{{\"a\":")), [oversize(reported)], "{length}");
        // If the body was never sent, the next header follows directly.
        let typed = format!("Content-Type: application/vscode-jsonrpc\r\n{}", frame("{}"));
        for next in [frame("{}"), typed, format!("X-Other: 1\r\n{}", frame("{}"))] {
            assert_eq!(read(format!("{header}{next}")), [oversize(reported), body("{}")], "{length}, {next}");
        }
    }
}

#[test]
fn the_frame_after_a_dropped_body_is_read() {
    let text = "x".repeat(50);
    for text in [&text, "Content-", &format!("content-length {text}"), &" ".repeat(40)] {
        let limits = limits(7, 8_192);
        let stream = format!("Content-Length: {}\r\n\r\n{text}\r\n{}", text.len(), frame("{}"));
        let events = read_within(&limits, stream);
        assert_eq!(events.first(), Some(&oversize(text.len() as u64)), "{text}");
        assert_eq!(events.last(), Some(&body("{}")), "{text}");
        assert!(events.iter().all(|event| !matches!(event, OwnedEvent::Noise { starts: true, .. })), "{events:?}");
    }
}

#[test]
fn the_rest_of_an_oversized_body_is_not_a_second_error() {
    let stream = format!("Content-Length: 11\r\n\r\n{}{}", "{}".repeat(7), frame("{}"));
    assert_eq!(read_within(&limits(10, 8_192), stream), [oversize(11), more_noise("}{}"), body("{}")]);
}
