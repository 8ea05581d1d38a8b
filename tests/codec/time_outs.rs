//! Messages that are incomplete at a timeout. The decoder abandons such a message, and decodes the next message.

use portway::Framing;
use portway::Limits;
use portway::codec::FrameDecoder;
use portway::codec::frame::FrameFault;

use crate::events::{HEADER_TOO_LARGE, OwnedEvent, body, end, feed, frame, limits, more_noise, oversize};

fn decoder(framing: Framing) -> FrameDecoder {
    FrameDecoder::new(framing, &Limits::DEFAULT)
}

fn feed_all(decoder: &mut FrameDecoder, bytes: &str) -> Vec<OwnedEvent> {
    let mut events = Vec::new();
    feed(decoder, bytes, &mut events);
    events
}

#[test]
fn a_message_is_unfinished_from_its_first_byte_until_its_last_byte() {
    let stream = "Content-Type: application/vscode-jsonrpc\r\n".to_owned() + &frame("{}");
    let mut decoder = decoder(Framing::ContentLength);
    assert_eq!(decoder.unfinished(), None);
    feed_all(&mut decoder, &stream[..1]);
    let first = decoder.unfinished();
    assert!(first.is_some());
    for byte in 1..stream.len() - 1 {
        feed_all(&mut decoder, &stream[byte..=byte]);
        assert_eq!(decoder.unfinished(), first, "byte {byte}");
    }
    feed_all(&mut decoder, "}");
    assert_eq!(decoder.unfinished(), None);
    // White space between messages does not belong to a message.
    feed_all(&mut decoder, "\r\n\r\n");
    assert_eq!(decoder.unfinished(), None);
    feed_all(&mut decoder, "C");
    assert!(decoder.unfinished() > first);
}

#[test]
fn noise_does_not_begin_a_message() {
    // At the start of a line, each word may be a header name. Later in a line, only a whole `Content-Length` may begin
    // a message.
    let mut decoder = decoder(Framing::ContentLength);
    for (bytes, has_begun) in
        [("[info] ", false), ("con", false), ("tent-length", true), (" of 3\n", false), ("W", true), ("ord\n", false)]
    {
        feed_all(&mut decoder, bytes);
        assert_eq!(decoder.unfinished().is_some(), has_begun, "{bytes:?}");
    }
}

#[test]
fn after_a_message_that_arrives_in_one_read_no_message_is_unfinished() {
    for framing in [Framing::ContentLength, Framing::Newline] {
        let mut out = Vec::new();
        framing.encode("{}", &mut out);
        let mut decoder = decoder(framing);
        assert_eq!(feed_all(&mut decoder, str::from_utf8(&out).unwrap()), [body("{}")]);
        assert_eq!(decoder.unfinished(), None);
    }
}

#[test]
fn the_message_after_an_abandoned_message_is_decoded_and_late_bytes_cause_no_error() {
    let stream = frame("{\"a\":[1,2,3]}");
    for length in 1..stream.len() {
        let (sent, late) = stream.split_at(length);
        let mut decoder = decoder(Framing::ContentLength);
        assert_eq!(feed_all(&mut decoder, sent), []);
        assert_eq!(decoder.time_out(), FrameFault::TimedOut { received_bytes: length });
        assert_eq!(decoder.unfinished(), None);
        assert_eq!(feed_all(&mut decoder, &frame("[1]")), [body("[1]")]);

        // The rest of the message arrives after the timeout.
        let mut decoder = self::decoder(Framing::ContentLength);
        feed_all(&mut decoder, sent);
        decoder.time_out();
        let events = feed_all(&mut decoder, &(late.to_owned() + &frame("[1]")));
        assert_eq!(events.last(), Some(&body("[1]")), "cut at {length}");
        let errors = events
            .iter()
            .filter(|event| !matches!(event, OwnedEvent::Noise { starts: false, .. } | OwnedEvent::Body(_)));
        assert_eq!(errors.count(), 0, "cut at {length}: {events:?}");
    }
}

#[test]
fn a_message_is_decoded_after_repeated_time_outs() {
    let mut decoder = decoder(Framing::ContentLength);
    for _ in 0..100 {
        feed_all(&mut decoder, "Content-Length: 100\r\n\r\n{");
        assert_eq!(decoder.time_out(), FrameFault::TimedOut { received_bytes: 24 });
    }
    assert_eq!(feed_all(&mut decoder, &frame("{}")), [body("{}")]);
    assert_eq!(decoder.time_out(), FrameFault::TimedOut { received_bytes: 0 });
    assert_eq!(feed_all(&mut decoder, &frame("{}")), [body("{}")]);
}

#[test]
fn late_bytes_that_look_like_headers_cause_no_error() {
    let mut decoder = decoder(Framing::ContentLength);
    feed_all(&mut decoder, "Content-Length: 100\r\n\r\n{");
    decoder.time_out();
    let events = feed_all(&mut decoder, "a: b\r\n\r\nc: d\r\n\r\nContent-Type: e\r\n\r\n}");
    assert_eq!(events, [more_noise("}")]);
}

#[test]
fn a_message_with_a_dropped_body_is_unfinished_until_it_times_out() {
    let mut decoder = FrameDecoder::new(Framing::ContentLength, &limits(10, 8_192));
    assert_eq!(feed_all(&mut decoder, "Content-Length: 100\r\n\r\n"), [oversize(100)]);
    let begun = decoder.unfinished();
    assert!(begun.is_some());
    feed_all(&mut decoder, "{\"a\":");
    assert_eq!(decoder.unfinished(), begun);
    decoder.time_out();
    assert_eq!(decoder.unfinished(), None);
    assert_eq!(feed_all(&mut decoder, &format!("1}}{}", frame("[]"))), [more_noise("1}"), body("[]")]);
}

#[test]
fn a_header_that_is_too_large_is_unfinished_until_it_times_out() {
    let mut decoder = FrameDecoder::new(Framing::ContentLength, &limits(10, 40));
    // This line is one byte longer than the limit of a header.
    let events = feed_all(&mut decoder, &format!("Content-Length: {}\r\n", "9".repeat(23)));
    assert_eq!(events.first(), Some(&HEADER_TOO_LARGE));
    assert!(decoder.unfinished().is_some());
    decoder.time_out();
    assert_eq!(decoder.unfinished(), None);
    assert_eq!(feed_all(&mut decoder, &frame("[]")), [body("[]")]);
}

#[test]
fn an_abandoned_line_is_dropped_up_to_its_end() {
    let mut decoder = decoder(Framing::Newline);
    feed_all(&mut decoder, "{\"a\"");
    let begun = decoder.unfinished();
    assert!(begun.is_some());
    assert_eq!(decoder.time_out(), FrameFault::TimedOut { received_bytes: 4 });
    assert_eq!(decoder.unfinished(), None);
    assert_eq!(feed_all(&mut decoder, ":1"), []);
    assert_eq!(decoder.unfinished(), None);
    assert_eq!(feed_all(&mut decoder, "}\n[1]\n"), [body("[1]")]);
    // A timeout between messages drops no bytes.
    assert_eq!(decoder.time_out(), FrameFault::TimedOut { received_bytes: 0 });
    assert_eq!(feed_all(&mut decoder, "[2]\n["), [body("[2]")]);
    assert!(decoder.unfinished() > begun);
    let mut events = Vec::new();
    end(&mut decoder, &mut events);
    assert_eq!(events, [body("[")]);
}

#[test]
fn a_line_that_is_too_long_is_unfinished_until_it_times_out() {
    let mut decoder = FrameDecoder::new(Framing::Newline, &limits(10, 8_192));
    assert_eq!(feed_all(&mut decoder, &"x".repeat(20)), [oversize(None)]);
    assert!(decoder.unfinished().is_some());
    assert_eq!(decoder.time_out(), FrameFault::TimedOut { received_bytes: 0 });
    assert_eq!(decoder.unfinished(), None);
    assert_eq!(feed_all(&mut decoder, "x\n[]\n"), [body("[]")]);
}
