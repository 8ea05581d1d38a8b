//! Content-Length: bytes outside of frames, and the next frame after them.

use std::time::{Duration, Instant};

use portway::Limits;
use portway::codec::content_length::{Decoder, header_within};
use portway::codec::frame::Event;

use crate::events::{INVALID_HEADER, OwnedEvent, body, frame, noise, read, record, truncated};

#[test]
fn printed_text_is_noise_and_the_next_frame_is_read() {
    for text in [
        "Starting up...\n",
        "[info] listening\r\n",
        "no line end",
        "one word\n",
        "word",
        "\u{1b}[32mgreen\u{1b}[0m\n",
        "INFO: ready\n",
        "several\nlines\n\nand a blank one\n",
        "(node:1) Warning: Content-Length is odd\n",
        "content-length\n",
        "Content-Length 5\n",
        "the Content-Length: is missing\n",
        "{\"jsonrpc\":\"2.0\"}\n",
        "\u{0}\u{1}\u{2}",
        "é€😀\n",
    ] {
        let stream = [frame("[1]"), text.to_owned(), frame("[2]"), text.to_owned(), frame("[3]")].concat();
        let expected = [body("[1]"), noise(text), body("[2]"), noise(text), body("[3]")];
        assert_eq!(read(stream), expected, "{text:?}");
        assert_eq!(read(text.to_owned() + &frame("[1]")), [noise(text), body("[1]")], "{text:?}");
    }
}

#[test]
fn lines_that_look_like_headers_and_end_with_crlf_are_read_as_headers() {
    assert_eq!(read("INFO: ready\r\n".to_owned() + &frame("{}")), [body("{}")]);
}

#[test]
fn a_run_of_noise_starts_once() {
    let text = "one\n\ntwo: 2\nthree: 3\r\n\r\nContent-Type: x\r\n\r\nfour\n";
    let events = read(text.to_owned() + &frame("{}"));
    let starts = events.iter().filter(|event| matches!(event, OwnedEvent::Noise { starts: true, .. })).count();
    assert_eq!(starts, 1, "{events:?}");
    assert!(events.iter().all(|event| matches!(event, OwnedEvent::Noise { .. } | OwnedEvent::Body(_))), "{events:?}");
    assert_eq!(events.last(), Some(&body("{}")));
}

#[test]
fn noise_between_the_lines_of_a_header_does_not_end_the_header() {
    let stream = "Content-Length: 2\r\n[info] in between\nContent-Type: application/vscode-jsonrpc\r\n\r\n{}";
    assert_eq!(read(stream), [noise("[info] in between\n"), body("{}")]);
}

#[test]
fn noise_after_an_incomplete_header_does_not_hide_the_next_frame() {
    for half in ["Content-Length: 5\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Type: a/b\r\n"] {
        let events = read(format!("{half}*** crash\n{}", frame("{}")));
        assert_eq!(events.last(), Some(&body("{}")), "{half}");
    }
    // The body of the first header was never sent. The decoder must not take the next frame for this body.
    assert_eq!(
        read(format!("Content-Length: 50\r\n*** crash\n\r\n{}", frame("{}"))),
        [noise("*** crash\n"), body(""), body("{}")]
    );
}

#[test]
fn a_header_is_read_at_any_position_of_a_line() {
    for before in [
        "}",
        "\"}]",
        "e",
        "done.",
        "Loading ",
        "INFO: x ",
        "INFO: ",
        "[x] Content-Length: ",
        "C",
        "Content-Length:",
        "Content-Length: x ",
        "X-Content-Length: 1 ",
    ] {
        let events = read(format!("{before}{}", frame("{}")));
        assert_eq!(events.last(), Some(&body("{}")), "{before}: {events:?}");
        assert_eq!(events.len(), 2, "{before}: {events:?}");
    }
    // For example, `done-Content-Length` could be the name of an unknown header. Since no other line with a length
    // follows, the decoder reads the line as `Content-Length`.
    for before in ["done-", "content-", "X-Content-"] {
        assert_eq!(read(format!("{before}{}", frame("{}"))), [body("{}")], "{before}");
    }
}

#[test]
fn an_incomplete_header_does_not_hide_the_next_frame() {
    let header = "Content-Type: application/vscode-jsonrpc\r\nContent-Length: 5";
    for length in 1..header.len() {
        let broken = &header[..length];
        let events = read(format!("{broken}{}", frame("{}")));
        assert_eq!(events.last(), Some(&body("{}")), "{broken:?}");
        assert!(events.len() <= 2, "{broken:?}: {events:?}");
    }
    // The beginning of a header name is noise. If the beginning ends with a hyphen, it forms one name with the next
    // header name, so this loop leaves it out.
    for length in 1.."Content-Length".len() {
        let broken = &"Content-Length"[..length];
        if !broken.ends_with('-') {
            assert_eq!(read(format!("{broken}{}", frame("{}"))), [noise(broken), body("{}")], "{broken:?}");
        }
    }
}

#[test]
fn a_length_in_text_is_not_the_length_of_a_frame() {
    // The line from `Content-Length: 42` on is dropped. It is neither noise nor a header of the frame.
    let text = "[trace] Content-Length: 42\n";
    assert_eq!(read(format!("{text}{}", frame("{}"))), [noise("[trace] "), body("{}")]);
    let text = "[trace] Content-Length: 42 bytes, Content-Length: 43.\n";
    assert_eq!(read(format!("{text}{}", frame("{}"))), [noise(text), body("{}")]);
}

#[test]
fn a_garbled_length_does_not_hide_the_next_frame() {
    for garbled in ["Content-Length: 12x\r\n", "Content-Length: \r\n", "Content-Length: 5"] {
        let events = read(format!("{garbled}{}", frame("{}")));
        assert_eq!(events, [INVALID_HEADER, body("{}")], "{garbled}");
    }
}

#[test]
fn if_a_length_is_too_short_the_rest_of_the_body_is_noise() {
    let text = r#"{"id":1}"#;
    for missing in 1..text.len() {
        let length = text.len() - missing;
        let events = read(format!("Content-Length: {length}\r\n\r\n{text}{}", frame("[]")));
        let (start, rest) = text.split_at(length);
        assert_eq!(events, [body(start), noise(rest), body("[]")], "{missing} bytes too short");
    }
}

/// Returns the events of a stream. Rejects each body that is not JSON.
fn read_and_reject(chunks: &[&[u8]]) -> Vec<OwnedEvent> {
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    let mut events = Vec::new();
    for chunk in chunks {
        let mut input = *chunk;
        loop {
            let before = input;
            let Some(event) = decoder.next(&mut input) else { break };
            let is_json = match event {
                Event::Body(body) => serde_json::from_slice::<serde_json::Value>(body).is_ok(),
                _ => true,
            };
            record(&mut events, event);
            if !is_json {
                decoder.reject_body(before);
            }
        }
        assert!(input.is_empty());
    }
    if let Some(event) = decoder.finish() {
        record(&mut events, event);
    }
    events
}

#[test]
fn a_header_within_a_rejected_body_is_decoded() {
    for excess in 1..60 {
        let text = r#"{"id":1}"#;
        let stream = format!(
            "Content-Length: {}\r\n\r\n{text}{}{}",
            text.len() + excess,
            frame("[1]"),
            frame("[2,\"xxxxxxxxxxxxxxxxxxxx\"]")
        );
        // The length of the first header is too large, so its body contains bytes of the next frames.
        let after_header = stream.split_once("\r\n\r\n").unwrap().1;
        let first = body(&after_header[..text.len() + excess]);
        let expected = [first, body("[1]"), body("[2,\"xxxxxxxxxxxxxxxxxxxx\"]")];
        assert_eq!(read_and_reject(&[stream.as_bytes()]), expected, "{excess} bytes too long");
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(read_and_reject(&bytes), expected, "{excess} bytes too long, byte by byte");
    }
}

#[test]
fn a_rejected_body_within_a_rejected_body_is_also_decoded_again() {
    let inner = format!("[1,Content-Length: 30\r\n\r\n[2,{}", frame("[3]"));
    let stream = frame(&inner) + &frame("[4]");
    let events = read_and_reject(&[stream.as_bytes()]);
    assert_eq!(events.len(), 4, "{events:?}");
    assert_eq!(events[2..], [body("[3]"), body("[4]")]);
}

#[test]
fn header_within_returns_the_position_of_a_whole_header_line_or_of_an_incomplete_line_at_the_end() {
    for (body, at) in [
        ("{}Content-Length: 5\r\n", Some(2)),
        ("{}content-length:5\n{}", Some(2)),
        ("{}Conte", Some(2)),
        ("{}Content-Length: 5\r", Some(2)),
        ("c", Some(0)),
        ("{\"c", Some(2)),
        ("{\"Content-Length: 5\",", None),
        ("{\"Content-Length: 5\\r\\n", None),
        ("{}", None),
        ("", None),
        ("Content-Content-Length: 1\n", Some(8)),
    ] {
        assert_eq!(header_within(body.as_bytes()), at, "{body}");
    }
}

#[test]
fn repeated_decoding_of_rejected_bytes_is_bounded() {
    // The body of each header is the whole rest of the stream. So after each rejection, the decoder decodes this rest
    // again, until the limit: on average, a decoder decodes a byte again at most eight times.
    let mut rest = " ".repeat(40_000);
    for _ in 0..1_000 {
        rest = format!("(Content-Length: {}\r\n\r\n{rest}", rest.len());
    }
    let stream = frame(&rest);
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    let mut input = stream.as_bytes();
    let mut decoded_bytes = 0;
    loop {
        let before = input;
        let Some(event) = decoder.next(&mut input) else { break };
        if let Event::Body(body) = event {
            decoded_bytes += body.len();
            decoder.reject_body(before);
        }
    }
    assert!(
        (8 * stream.len()..10 * stream.len()).contains(&decoded_bytes),
        "{decoded_bytes} bytes of bodies in {} bytes",
        stream.len()
    );
}

/// Returns the time to decode a body that is not JSON, and to decode it again after its rejection. The body contains
/// many small frames. The body of each small frame is also rejected, and contains a header.
fn time_to_decode_again(frames: usize) -> Duration {
    let inner = frame("(Content-Length: 2\r\n\r\n").repeat(frames);
    let stream = frame(&format!("(\n{inner}"));
    let start = Instant::now();
    let events = read_and_reject(&[stream.as_bytes()]);
    assert!(events.len() > frames, "{} events", events.len());
    start.elapsed()
}

#[test]
fn the_time_to_decode_rejected_bytes_again_is_linear() {
    // A message of 16 times the length must take about 16 times as long. If the decoder copied the rest of the message
    // for each frame, the ratio would be 256. The bound of 64 leaves room for the delays of a busy machine.
    let ratio = || time_to_decode_again(48_000).as_secs_f64() / time_to_decode_again(3_000).as_secs_f64();
    let ratios: Vec<f64> = (0..3).map(|_| ratio()).collect();
    assert!(ratios.iter().any(|ratio| *ratio < 64.0), "{ratios:?}");
}

/// Returns a body that is not JSON, and contains a frame for each of `bodies`.
fn body_with_frames(bodies: &[&str]) -> String {
    format!("({}", bodies.iter().map(|body| frame(body)).collect::<String>())
}

#[test]
fn an_inner_rejected_body_is_decoded_before_the_rest_of_the_outer_body() {
    let inner = body_with_frames(&["[2]", "[3]"]);
    let outer = body_with_frames(&["[1]", &inner, "[4]"]);
    let stream = frame(&outer) + &frame("[5]");
    let expected = [body(&outer), body("[1]"), body(&inner), body("[2]"), body("[3]"), body("[4]"), body("[5]")];
    assert_eq!(read_and_reject(&[stream.as_bytes()]), expected);
    for size in 1..20 {
        let chunks: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
        assert_eq!(read_and_reject(&chunks), expected, "in chunks of {size} bytes");
    }
}

#[test]
fn a_body_that_begins_in_a_rejected_body_and_ends_in_new_input_may_be_rejected() {
    let outer = "(Content-Length: 28\r\n\r\n(".to_owned();
    let stream = frame(&outer) + "Content-Length: 3\r\n\r\n[2][3]" + &frame("[4]");
    let inner = body("(Content-Length: 3\r\n\r\n[2][3]");
    let expected = [body(&outer), inner, body("[2]"), noise("[3]"), body("[4]")];
    assert_eq!(read_and_reject(&[stream.as_bytes()]), expected);
    let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
    assert_eq!(read_and_reject(&bytes), expected, "byte by byte");
}

#[test]
fn only_the_body_of_the_last_event_is_rejected() {
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    assert_eq!(decoder.reject_body(b""), 0, "before the first event");
    let stream = frame(&body_with_frames(&["[1]"])) + "!noise\n";
    let mut input = stream.as_bytes();
    let before = input;
    assert!(matches!(decoder.next(&mut input), Some(Event::Body(_))));
    assert_eq!(decoder.reject_body(before), frame("[1]").len());
    assert_eq!(decoder.reject_body(before), 0, "a second time");
    assert_eq!(decoder.next(&mut input), Some(Event::Body(b"[1]")));
    assert_eq!(decoder.reject_body(input), 0, "a body without a header");
    let before = input;
    assert!(matches!(decoder.next(&mut input), Some(Event::Noise { .. })));
    assert_eq!(decoder.reject_body(before), 0, "noise");
    let refused = frame(&body_with_frames(&["[1]"])).replacen("\r\n", "\r\nContent-Type: text/plain\r\n", 1);
    let mut input = refused.as_bytes();
    let before = input;
    assert!(matches!(decoder.next(&mut input), Some(Event::Refused { .. })));
    assert_eq!(decoder.reject_body(before), 0, "a refused body");
}

#[test]
fn buffered_bytes_at_the_end_of_the_input_are_reported() {
    assert_eq!(read("[info] Conte"), [noise("[info] Conte")]);
    assert_eq!(read("word"), [noise("word")]);
    assert_eq!(read("INFO: x"), [noise("INFO: x")]);
    assert_eq!(read("Content-Length: 5\r\n[info]"), [noise("[info]")]);
    assert_eq!(read("Content-Length: 5\r\n\r"), [truncated(20)]);
}
