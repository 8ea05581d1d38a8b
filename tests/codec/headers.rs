//! Content-Length: valid and invalid headers. A header is the block of header lines before a body.

use crate::events::{HEADER_TOO_LARGE, INVALID_HEADER, OwnedEvent, body, frame, more_noise, noise, read};

#[test]
fn header_names_ignore_case_and_blanks_are_allowed_around_the_colon_and_after_the_length() {
    for header in [
        "content-length:2",
        "CONTENT-LENGTH : 2",
        "Content-Length\t:\t2 \t",
        "cOnTeNt-LeNgTh:     2",
        "Content-Length: 0000000000000000000000000000002",
        "Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2",
    ] {
        assert_eq!(read(format!("{header}\r\n\r\n{{}}{}", frame("[]"))), [body("{}"), body("[]")], "{header}");
    }
}

#[test]
fn header_lines_may_end_with_only_a_line_feed() {
    assert_eq!(read("Content-Length: 2\n\n{}"), [body("{}")]);
    assert_eq!(read("Content-Length: 2\r\n\n{}"), [body("{}")]);
    assert_eq!(read("Content-Length: 2\nX-Other: 1\n\r\n{}"), [body("{}")]);
}

#[test]
fn unknown_header_lines_are_ignored() {
    for header in [
        "X-Other: 1\r\nContent-Length: 2",
        "Content-Length: 2\r\nX-Other: 1",
        "X-Content-Length: 7\r\nContent-Length: 2",
        "Content-Length: 2\r\nX-Content-Length: 7",
        "Content-Length: 2\r\nX-Content-Length: none",
        "A:\r\nB: \r\nC: ::\r\nContent-Length: 2",
    ] {
        assert_eq!(read(format!("{header}\r\n\r\n{{}}{}", frame("[]"))), [body("{}"), body("[]")], "{header}");
    }
}

#[test]
fn blank_lines_between_frames_are_ignored() {
    for between in ["\r\n", "\n", "\r\n\r\n\r\n", " \t\n"] {
        let stream = format!("{between}{}{between}{}{between}", frame("{}"), frame("[]"));
        assert_eq!(read(stream), [body("{}"), body("[]")], "{between:?}");
    }
}

#[test]
fn repeated_lengths_are_accepted_only_if_all_are_equal() {
    let twice = |first: &str, second: &str| {
        let stream = format!("Content-Length: {first}\r\nContent-Length: {second}\r\n\r\n{{}}{}", frame("[]"));
        read(stream)
    };
    assert_eq!(twice("2", "2"), [body("{}"), body("[]")]);
    assert_eq!(twice("2", "02"), [body("{}"), body("[]")]);
    let refused = [INVALID_HEADER, more_noise("{}"), body("[]")];
    assert_eq!(twice("2", "3"), refused);
    assert_eq!(twice("3", "2"), refused);
    assert_eq!(twice("3\r\nContent-Length: 2", "2"), refused);
    assert_eq!(twice("2\r\nContent-Length: 2", "3"), refused);
    assert_eq!(twice("2\r\nContent-Length: 3", "nothing"), refused);
}

#[test]
fn a_length_must_be_a_number() {
    for length in ["", "-2", "+2", "2.0", "0x2", "2 2", "2,2", "two", "2;", "٢", "1e1"] {
        let stream = format!("Content-Length: {length}\r\n\r\n{{}}{}", frame("[]"));
        assert_eq!(read(stream), [INVALID_HEADER, more_noise("\r\n{}"), body("[]")], "{length:?}");
    }
}

#[test]
fn one_or_two_header_blocks_without_a_length_cause_one_fault() {
    for lines in ["Content-Type: application/vscode-jsonrpc", "X-Other: 1", "Content-Type: a/b\r\nX-Other: 1"] {
        let block = format!("{lines}\r\n\r\n");
        let stream = format!("{block}{{}}{}", frame("[]"));
        assert_eq!(read(stream), [INVALID_HEADER, more_noise("{}"), body("[]")], "{lines}");
        let two_blocks = format!("{block}{block}{}", frame("[]"));
        assert_eq!(read(two_blocks), [INVALID_HEADER, body("[]")], "{lines}");
    }
}

#[test]
fn a_header_is_accepted_up_to_its_limit_in_bytes() {
    let stream = |padding: usize| {
        let header = format!("Content-Length: 2\r\nX-Padding: {}\r\n", "x".repeat(padding));
        (header.len(), format!("{header}\r\n{{}}{}", frame("[]")))
    };
    let (length, at_limit) = stream(8_192 - 19 - 13);
    assert_eq!(length, 8_192);
    assert_eq!(read(at_limit), [body("{}"), body("[]")]);
    let (_, over) = stream(8_192 - 19 - 12);
    assert_eq!(read(over), [HEADER_TOO_LARGE, body("[]")]);
}

#[test]
fn an_oversized_header_is_reported_once_and_dropped_with_its_body() {
    let many = "X-Other: 1\r\n".repeat(1_000);
    let long = format!("X-Long: {}\r\n", "x".repeat(100_000));
    let length = "Content-Length: 2\r\n";
    for header in [
        format!("{length}{many}"),
        format!("{many}{length}"),
        format!("{many}{length}{many}"),
        format!("{many}{length}{length}"),
        format!("{length}{long}"),
        format!("{long}{length}"),
        format!("{long}{long}{length}{long}"),
        format!("Content-Length: {}2\r\n", "0".repeat(9_000)) + length,
    ] {
        let events = read(format!("{header}\r\n{{}}{}", frame("[]")));
        assert_eq!(events.first(), Some(&HEADER_TOO_LARGE));
        assert_eq!(events.last(), Some(&body("[]")));
        // The rest of an oversized header must be noise of the same fault. It must not start a second fault.
        assert!(
            events[1..events.len() - 1].iter().all(|event| matches!(event, OwnedEvent::Noise { starts: false, .. }))
        );
    }
}

#[test]
fn no_body_is_dropped_after_an_oversized_header_if_the_length_is_missing_invalid_or_zero() {
    let many = "X-Other: 1\r\n".repeat(1_000);
    for length in ["", "Content-Length: two\r\n", "Content-Length: 2\r\nContent-Length: 3\r\n", "Content-Length: 0\r\n"]
    {
        let stream = format!("{many}{length}\r\n{{}}{}", frame("[]"));
        assert_eq!(read(stream), [HEADER_TOO_LARGE, more_noise("{}"), body("[]")], "{length}");
    }
}

#[test]
fn a_length_longer_than_the_header_limit_does_not_hide_the_next_frame() {
    let digits = "0".repeat(9_000);
    let events = read(format!("Content-Length: {digits}2\r\n\r\n{{}}{}", frame("[]")));
    assert_eq!(events.first(), Some(&HEADER_TOO_LARGE));
    assert_eq!(events.last(), Some(&body("[]")));
}

#[test]
fn the_frame_after_an_oversized_header_is_read_if_the_body_was_never_sent() {
    let many = "X-Other: 1\r\n".repeat(1_000);
    // The first length is less than the length of the next frame, and the second length is greater.
    for length in [5, 500] {
        let stream = format!("{many}Content-Length: {length}\r\n\r\n{}", frame("[]"));
        assert_eq!(read(stream), [HEADER_TOO_LARGE, body("[]")], "{length}");
    }
    let typed = format!("{many}Content-Length: 500\r\n\r\nContent-Type: application/vscode-jsonrpc\r\n{}", frame("[]"));
    assert_eq!(read(typed), [HEADER_TOO_LARGE, body("[]")]);
}

#[test]
fn the_end_of_the_input_within_an_oversized_header_or_its_body_is_not_a_second_fault() {
    let many = "X-Other: 1\r\n".repeat(1_000);
    assert_eq!(read(&many), [HEADER_TOO_LARGE]);
    for part_of_body in ["", "{", "cont", "c"] {
        let stream = format!("{many}Content-Length: 500\r\n\r\n{part_of_body}");
        assert_eq!(read(stream), [HEADER_TOO_LARGE], "{part_of_body}");
    }
}

#[test]
fn bytes_after_a_dropped_body_are_noise() {
    let many = "X-Other: 1\r\n".repeat(1_000);
    let stream = format!("{many}Content-Length: 2\r\n\r\ncont x{}", frame("[]"));
    assert_eq!(read(stream), [HEADER_TOO_LARGE, more_noise("nt x"), body("[]")]);
}

#[test]
fn a_long_line_that_looks_like_a_header_does_not_hide_the_next_frame() {
    let text = format!("INFO: {}", "x".repeat(10_000));
    for end in ["\n", "", " "] {
        let events = read(format!("{text}{end}{}", frame("{}")));
        assert_eq!(events.first(), Some(&HEADER_TOO_LARGE), "{end:?}");
        assert_eq!(events.last(), Some(&body("{}")), "{end:?}");
    }
}

#[test]
fn a_very_long_word_is_noise() {
    let events = read("x".repeat(20_000) + &frame("{}"));
    assert_eq!(events, [noise(&"x".repeat(20_000)), body("{}")]);
    // Near the limit of a header, the decoder splits a long word. In one of these rounds, the frame begins exactly
    // where the decoder splits the word.
    for length in 8_180..8_200 {
        let events = read("x".repeat(length) + &frame("{}"));
        assert_eq!(events, [noise(&"x".repeat(length)), body("{}")], "{length}");
    }
}
