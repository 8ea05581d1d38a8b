//! Bytes outside of frames cause one error, and the next valid frame is served.

use crate::daemon::Daemon;
use crate::frames::{frame, frame_with_length, request, with_header};

#[test]
fn a_length_that_is_not_a_number_is_one_parse_error() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    for length in
        ["abc", "-57", "+57", "57.0", "5e1", "0x39", "5 7", "57,57", "57abc", "abc57", "", " ", "\"57\"", "٥٧", "NaN"]
    {
        daemon.send_and_expect_one_answer(frame_with_length(length, &body)).assert_parse_error();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_header_without_a_length_is_one_parse_error() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    for lines in [
        "X-Trace: 7\r\n",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n",
        "Content-Length 57\r\n",
        "Content_Length: 57\r\n",
        "Length: 57\r\n",
    ] {
        daemon.send_and_expect_one_answer(with_header(lines, &body)).assert_parse_error();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn two_lengths_that_differ_are_one_parse_error() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    for (first, second) in [(body.len(), 3), (3, body.len()), (0, body.len()), (body.len(), 99_999_999_999)] {
        let lines = format!("Content-Length: {first}\r\nContent-Length: {second}\r\n");
        daemon.send_and_expect_one_answer(with_header(&lines, &body)).assert_parse_error();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn lines_that_are_not_a_frame_are_one_parse_error() {
    let mut daemon = Daemon::start(&[]);
    for noise in [
        "starting up\n",
        "starting up\r\n",
        "one\ntwo\nthree\n",
        "no line break",
        "\u{1b}[1mbold\u{1b}[0m\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"version\"}\n",
        "}",
    ] {
        daemon.send_and_expect_one_answer(noise).assert_parse_error();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn an_incomplete_header_is_one_parse_error() {
    let mut daemon = Daemon::start(&[]);
    for part in ["C", "Content-Leng", "Content-Length", "Content-Length:", "Content-Length: "] {
        daemon.write(part);
        // Only the beginning of the next message shows that the header is incomplete.
        let id = daemon.probe();
        daemon.answer().assert_parse_error();
        assert_eq!(daemon.answer().id(), id, "{part:?}");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn bytes_that_are_not_text_are_one_parse_error() {
    let mut daemon = Daemon::start(&[]);
    for noise in [&[0_u8; 9][..], &[0xff; 300], b"\x00\x01\x02\xff\n\n\r\x00", "é€😀".as_bytes()] {
        daemon.send_and_expect_one_answer(noise).assert_parse_error();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn each_run_of_noise_is_answered_once() {
    let mut daemon = Daemon::start(&[]);
    for _ in 0..3 {
        daemon.send_and_expect_one_answer("a line\nand another\n").assert_parse_error();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn noise_in_several_pieces_is_one_parse_error() {
    let mut daemon = Daemon::start(&[]);
    for piece in ["a li", "ne\n", "and\r", "\nanother", "\n"] {
        daemon.write(piece);
    }
    daemon.send_and_expect_one_answer("the last\n").assert_parse_error();
    daemon.close_and_expect_exit();
}

#[test]
fn a_frame_after_a_megabyte_of_noise_is_served() {
    let mut daemon = Daemon::start(&[]);
    for noise in ["x".repeat(1_000_000), "x\n".repeat(500_000), "\r\n".repeat(500_000) + "x"] {
        daemon.write(noise);
        let id = daemon.probe();
        // The noise causes one error. A second error is permitted, because the noise is longer than a header may be.
        let answers: Vec<String> =
            std::iter::from_fn(|| Some(daemon.answer().id())).take_while(|answer_id| *answer_id != id).collect();
        assert!((1..=2).contains(&answers.len()) && answers.iter().all(|id| id == "null"), "{answers:?}");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_frame_after_text_that_resembles_a_header_is_served() {
    let mut daemon = Daemon::start(&[]);
    for noise in
        ["the header Content-Length: is missing\n", "Content-Length: what?\r\n", "Content-Length:\nContent-Length:\n"]
    {
        daemon.write(noise);
        let id = daemon.probe();
        // The text causes one error. A second error is permitted, because the text resembles a header.
        let answers: Vec<String> =
            std::iter::from_fn(|| Some(daemon.answer().id())).take_while(|answer_id| *answer_id != id).collect();
        assert!((1..=2).contains(&answers.len()) && answers.iter().all(|id| id == "null"), "{noise:?}: {answers:?}");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_length_that_is_too_short_is_one_parse_error() {
    let mut daemon = Daemon::start(&[]);
    let body = request(r#""é€😀""#, "version");
    for missing in [1, 3, 20, body.len() - 1] {
        daemon.send_and_expect_one_answer(frame_with_length(body.len() - missing, &body)).assert_parse_error();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_length_that_is_too_short_is_one_parse_error_if_the_rest_arrives_later() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    let bytes = frame_with_length(body.len() - 3, &body);
    let (most, rest) = bytes.split_at(bytes.len() - 3);
    daemon.write(most);
    daemon.answer().assert_parse_error();
    for byte in rest {
        daemon.write([*byte]);
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn a_length_that_is_too_long_is_one_parse_error_and_the_next_frame_is_served() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    let next = frame(request(2, "version"));
    for excess in [1, 3, 16, 25, next.len() - 1, next.len()] {
        daemon.write([frame_with_length(body.len() + excess, &body), next.clone()].concat());
        daemon.answer().assert_parse_error();
        assert_eq!(daemon.answer().id(), "2", "{excess} bytes too long");
        daemon.assert_no_pending_answer();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_length_that_includes_later_frames_loses_none_of_them() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    let others: Vec<u8> = (2..6).flat_map(|id| frame(request(id, "version"))).collect();
    daemon.write([frame_with_length(body.len() + others.len() - 10, &body), others].concat());
    daemon.answer().assert_parse_error();
    for id in 2..6 {
        assert_eq!(daemon.answer().id(), id.to_string());
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn each_of_several_consecutive_faults_is_answered_once() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    let faults = [
        frame_with_length("abc", &body),
        frame_with_length(body.len() - 3, &body),
        frame_with_length(0, ""),
        b"noise\n".to_vec(),
        frame("hello"),
        with_header("X-Trace: 7\r\n", &body),
    ];
    for first in &faults {
        for second in &faults {
            for fault in [first, second] {
                daemon.send_and_expect_one_answer(fault).assert_parse_error();
            }
        }
    }
    daemon.close_and_expect_exit();
}
