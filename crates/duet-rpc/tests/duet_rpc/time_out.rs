//! The maximum time of thirty seconds for the rest of an incomplete message.
//!
//! The limit cannot be changed, so each scenario waits for the whole limit. One test runs all scenarios at the same
//! time.

use std::thread;
use std::time::{Duration, Instant};

use crate::daemon::Daemon;
use crate::frames::{frame, frame_with_length, request};
use crate::log::Line;

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn a_message_that_is_incomplete_after_thirty_seconds_is_dropped() {
    thread::scope(|scope| {
        for scenario in [
            a_part_of_a_header_is_dropped,
            a_part_of_a_body_is_dropped_and_late_bytes_are_at_most_one_error,
            a_hundred_kilobytes_of_late_bytes_are_at_most_one_error,
            further_bytes_do_not_restart_the_time,
            an_oversize_body_that_stalls_is_dropped,
            an_idle_daemon_has_no_timeout,
        ] {
            scope.spawn(scenario);
        }
    });
}

/// Waits for the log line about a dropped message, whose first byte was sent at `start`. Asserts that the line is a
/// warning without a method and an id. The line must contain the number of dropped bytes, but not the bytes.
fn assert_dropped(daemon: &mut Daemon, start: Instant, bytes: usize) {
    let line = daemon.wait_for_log_line_within(LIMIT * 2, &["30 s"]);
    let took = start.elapsed();
    assert!(took > LIMIT - Duration::from_millis(500) && took < LIMIT + Duration::from_secs(10), "{took:?}: {line}");
    assert!(line.contains(&format!(" {bytes} bytes")), "{bytes}: {line}");
    assert!(!line.contains("jsonrpc"), "{line}");
    let line = Line::read(&line);
    assert_eq!((line.severity.as_str(), line.id, line.method), ("warn", None, None));
}

fn a_part_of_a_header_is_dropped() {
    let mut daemon = Daemon::start(&[]);
    daemon.wait_until_serving();
    let start = Instant::now();
    daemon.write("Content-Length: 5");
    assert_dropped(&mut daemon, start, 17);
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

fn a_part_of_a_body_is_dropped_and_late_bytes_are_at_most_one_error() {
    let mut daemon = Daemon::start(&[]);
    daemon.wait_until_serving();
    let start = Instant::now();
    let bytes = frame(request(1, "version"));
    let (early, late) = bytes.split_at(bytes.len() - 20);
    daemon.write(early);
    assert_dropped(&mut daemon, start, early.len());
    daemon.write(late);
    let id = daemon.probe();
    let first = daemon.answer();
    if first.id() != id {
        first.assert_parse_error();
        assert_eq!(daemon.answer().id(), id);
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

fn a_hundred_kilobytes_of_late_bytes_are_at_most_one_error() {
    let mut daemon = Daemon::start(&[]);
    daemon.wait_until_serving();
    let start = Instant::now();
    let part = frame_with_length(100_000, "{\"jsonrpc\":\"2.0\",\"text\":\"");
    daemon.write(&part);
    assert_dropped(&mut daemon, start, part.len());
    for _ in 0..100 {
        daemon.write("x".repeat(1_000));
    }
    let id = daemon.probe();
    let first = daemon.answer();
    if first.id() != id {
        first.assert_parse_error();
        assert_eq!(daemon.answer().id(), id);
    }
    daemon.close_and_expect_exit();
}

fn further_bytes_do_not_restart_the_time() {
    let mut daemon = Daemon::start(&[]);
    daemon.wait_until_serving();
    let start = Instant::now();
    daemon.write("Content-Length: 1000\r\n\r\n");
    // The thirty seconds begin at the first byte of the message. Later bytes do not restart the time.
    for _ in 0..28 {
        thread::sleep(Duration::from_secs(1));
        daemon.write("{");
    }
    assert_dropped(&mut daemon, start, 24 + 28);
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

fn an_oversize_body_that_stalls_is_dropped() {
    let mut daemon = Daemon::start(&[]);
    daemon.wait_until_serving();
    let start = Instant::now();
    let part = frame_with_length(20_000_000, "{\"jsonrpc\":\"2.0\",\"text\":\"xxxxxxxx");
    daemon.write(&part);
    daemon.answer().assert_refusal("null", "oversize");
    assert_dropped(&mut daemon, start, part.len());
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

fn an_idle_daemon_has_no_timeout() {
    let mut daemon = Daemon::start(&[]);
    daemon.wait_until_serving();
    thread::sleep(LIMIT + Duration::from_secs(2));
    daemon.assert_no_pending_answer();
    let lines = daemon.close_and_expect_exit();
    assert!(lines.is_empty(), "{lines:#?}");
}
