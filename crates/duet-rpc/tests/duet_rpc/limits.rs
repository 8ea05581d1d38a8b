//! The fixed limits: 10 MiB for a message, 8 KiB for a header.

use crate::daemon::Daemon;
use crate::frames::{frame, frame_with_length, request, with_header};

/// Maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 10 * 1024 * 1024;

/// Returns a request of exactly `length` bytes.
fn request_of(length: usize) -> String {
    let body = request(1, "version");
    body.clone() + &" ".repeat(length - body.len())
}

/// Returns a frame with a header of exactly `length` bytes, not counting the blank line. `is_length_first` puts
/// Content-Length before the padding.
fn with_header_of(length: usize, body: &str, is_length_first: bool) -> Vec<u8> {
    let length_line = format!("Content-Length: {}\r\n", body.len());
    let padding = format!("X-Padding: {}\r\n", "p".repeat(length - length_line.len() - "X-Padding: \r\n".len()));
    let lines = if is_length_first { length_line + &padding } else { padding + &length_line };
    assert_eq!(lines.len(), length);
    with_header(&lines, body)
}

#[test]
fn a_message_of_ten_mebibytes_is_served() {
    let mut daemon = Daemon::start(&[]);
    daemon.ask(request_of(MAX_MESSAGE_BYTES)).result();
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn a_message_of_one_byte_more_is_refused_and_the_next_message_is_served() {
    let mut daemon = Daemon::start(&[]);
    let bytes = frame(request_of(MAX_MESSAGE_BYTES + 1));
    let (header, body) = bytes.split_at(bytes.len() - MAX_MESSAGE_BYTES - 1);
    // The daemon answers before it receives the body.
    daemon.write(header);
    daemon.answer().assert_refusal("null", "oversize");
    daemon.write(body);
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn the_body_of_a_refused_message_is_not_searched_for_frames() {
    let mut daemon = Daemon::start(&[]);
    let inner = [b"{\"text\":\"".to_vec(), frame(request(1, "shutdown"))].concat();
    let mut body = inner.repeat(MAX_MESSAGE_BYTES / inner.len() + 1);
    body.truncate(MAX_MESSAGE_BYTES + 1);
    daemon.send_and_expect_one_answer(frame(body)).assert_refusal("null", "oversize");
    daemon.close_and_expect_exit();
}

#[test]
fn the_message_after_a_refused_header_without_a_body_is_served() {
    let mut daemon = Daemon::start(&[]);
    for length in ["10485761", "1073741824", "99999999999", "18446744073709551616", &"9".repeat(40)] {
        daemon.send_and_expect_one_answer(frame_with_length(length, "")).assert_refusal("null", "oversize");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_refused_header_without_a_body_may_be_followed_by_a_header_in_another_form() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    daemon.write(frame_with_length("99999999999", ""));
    daemon.answer().assert_refusal("null", "oversize");
    daemon.write(with_header(&format!("content-length:{}\r\nX-Trace: 7\r\n", body.len()), &body));
    daemon.answer().result();
    daemon.close_and_expect_exit();
}

#[cfg(target_os = "linux")]
#[test]
fn a_message_of_two_hundred_megabytes_is_dropped_without_being_buffered() {
    let mut daemon = Daemon::start(&[]);
    let piece = vec![b'x'; 1_000_000];
    daemon.write(frame_with_length(200_000_000, ""));
    daemon.answer().assert_refusal("null", "oversize");
    for _ in 0..200 {
        daemon.write(&piece);
    }
    daemon.assert_no_pending_answer();
    let peak = peak_memory(daemon.pid);
    assert!(peak < 64_000, "{peak} KiB");
    daemon.close_and_expect_exit();
}

#[test]
fn a_header_of_eight_kibibytes_is_accepted() {
    let mut daemon = Daemon::start(&[]);
    for length in [8_000, 8_100] {
        for is_length_first in [true, false] {
            daemon.write(with_header_of(length, &request(1, "version"), is_length_first));
            daemon.answer().result();
        }
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn a_longer_header_is_refused_with_its_body() {
    let mut daemon = Daemon::start(&[]);
    for length in [8_300, 20_000, 1_000_000] {
        for is_length_first in [true, false] {
            let bytes = with_header_of(length, &request(1, "shutdown"), is_length_first);
            daemon.send_and_expect_one_answer(bytes).assert_refusal("null", "header-too-large");
        }
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_longer_header_in_many_lines_is_refused_once() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    let lines = "X-Line: 1\r\n".repeat(2_000) + &format!("Content-Length: {}\r\n", body.len());
    daemon.send_and_expect_one_answer(with_header(&lines, body)).assert_refusal("null", "header-too-large");
    daemon.close_and_expect_exit();
}

#[test]
fn the_message_after_a_longer_header_without_a_body_is_served() {
    let mut daemon = Daemon::start(&[]);
    let lines = format!("X-Padding: {}\r\nContent-Length: 5000\r\n", "p".repeat(10_000));
    daemon.send_and_expect_one_answer(with_header(&lines, "")).assert_refusal("null", "header-too-large");
    daemon.close_and_expect_exit();
}

#[test]
fn the_message_after_a_longer_header_without_a_length_is_served() {
    let mut daemon = Daemon::start(&[]);
    let lines = format!("X-Padding: {}\r\n", "p".repeat(10_000));
    daemon.send_and_expect_one_answer(with_header(&lines, "")).assert_refusal("null", "header-too-large");
    daemon.close_and_expect_exit();
}

#[test]
fn messages_over_the_limits_are_refused_repeatedly() {
    let mut daemon = Daemon::start(&[]);
    let header = with_header_of(10_000, &request(1, "version"), true);
    for _ in 0..20 {
        daemon.send_and_expect_one_answer(frame_with_length("99999999999", "")).assert_refusal("null", "oversize");
        daemon.send_and_expect_one_answer(&header).assert_refusal("null", "header-too-large");
    }
    daemon.close_and_expect_exit();
}

/// Returns the peak memory of the process so far, in KiB.
#[cfg(target_os = "linux")]
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
