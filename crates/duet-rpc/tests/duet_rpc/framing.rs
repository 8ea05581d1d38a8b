//! Valid frames: headers in every permitted form, bodies in pieces, and many frames at once.

use crate::daemon::Daemon;
use crate::frames::{frame, frame_with_length, request, with_header};

#[test]
fn a_frame_that_arrives_byte_by_byte_is_one_message() {
    let mut daemon = Daemon::start(&[]);
    for byte in frame(request(r#""é€😀""#, "version")) {
        daemon.write([byte]);
    }
    let answer = daemon.answer();
    answer.result();
    assert_eq!(answer.id(), r#""é€😀""#);
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn a_frame_may_be_split_anywhere() {
    let mut daemon = Daemon::start(&[]);
    let bytes = frame(request(r#""é€😀""#, "version"));
    for middle in 1..bytes.len() {
        daemon.write(&bytes[..middle]);
        daemon.write(&bytes[middle..]);
        assert_eq!(daemon.answer().id(), r#""é€😀""#, "split at {middle}");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_short_frame_is_answered_without_further_input() {
    let mut daemon = Daemon::start(&[]);
    for id in 0..3 {
        assert_eq!(daemon.ask(request(id, "version")).id(), id.to_string());
    }
    daemon.close_and_expect_exit();
}

#[test]
fn consecutive_frames_are_read_one_by_one() {
    let mut daemon = Daemon::start(&[]);
    let frames: Vec<u8> = (0..5).flat_map(|id| frame(request(id, "version"))).collect();
    daemon.write(frames);
    for id in 0..5 {
        assert_eq!(daemon.answer().id(), id.to_string());
    }
    daemon.close_and_expect_exit();
}

#[test]
fn lengths_count_bytes_in_both_directions() {
    let mut daemon = Daemon::start(&[]);
    let id = r#""é€😀""#;
    let body = request(id, "version");
    assert_ne!(body.len(), body.chars().count());
    daemon.write(format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    // `answer` reads the number of bytes that the header declares, and fails unless these bytes are one JSON text.
    assert_eq!(daemon.answer().id(), id);
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn the_name_of_the_header_is_read_in_any_case_and_with_any_blanks() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    let length = body.len();
    for header in [
        format!("content-length: {length}\r\n"),
        format!("CONTENT-LENGTH: {length}\r\n"),
        format!("cOnTeNt-LeNgTh: {length}\r\n"),
        format!("Content-Length:{length}\r\n"),
        format!("Content-Length : {length}\r\n"),
        format!("Content-Length:   {length}\r\n"),
        format!("Content-Length:\t{length}\r\n"),
        format!("Content-Length: {length}  \t\r\n"),
        // The length may have leading zeros.
        format!("Content-Length: 000{length}\r\n"),
    ] {
        daemon.write(with_header(&header, &body));
        let answer = daemon.answer();
        assert_eq!(answer.id(), "1", "{header:?}: {}", answer.text);
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn unknown_headers_are_ignored() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    let length = body.len();
    for header in [
        format!("X-Trace: 7\r\nContent-Length: {length}\r\n"),
        format!("Content-Length: {length}\r\nX-Trace: a: b, c\r\n"),
        format!("X-Empty:\r\nContent-Length: {length}\r\nContent-Encoding: gzip\r\n"),
        format!("X-Content-Length: 3\r\nContent-Length: {length}\r\nContent-Length-Of-Another: 5\r\n"),
    ] {
        daemon.write(with_header(&header, &body));
        let answer = daemon.answer();
        assert_eq!(answer.id(), "1", "{header:?}: {}", answer.text);
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn a_header_may_contain_the_same_length_twice() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    let line = format!("Content-Length: {}\r\n", body.len());
    daemon.write(with_header(&line.repeat(2), &body));
    assert_eq!(daemon.answer().id(), "1");
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn blank_lines_between_frames_are_ignored() {
    let mut daemon = Daemon::start(&[]);
    for blank in ["\r\n", "\r\n\r\n", "\r\n\r\n\r\n", "\n", "\r\n \r\n"] {
        daemon.write(blank);
        daemon.assert_no_pending_answer();
    }
    daemon.write("\r\n");
    daemon.close_and_expect_exit();
}

#[test]
fn lines_of_a_header_may_end_in_a_bare_line_feed() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    let length = body.len();
    for header in [format!("Content-Length: {length}\n\n"), format!("Content-Length: {length}\r\nX-Trace: 7\n\n")] {
        daemon.write(header.clone() + &body);
        let answer = daemon.answer();
        assert_eq!(answer.id(), "1", "{header:?}: {}", answer.text);
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn an_empty_body_is_one_parse_error() {
    let mut daemon = Daemon::start(&[]);
    daemon.send_and_expect_one_answer(frame_with_length(0, "")).assert_parse_error();
    daemon.send_and_expect_one_answer(frame_with_length("00", "")).assert_parse_error();
    daemon.close_and_expect_exit();
}
