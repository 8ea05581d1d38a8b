//! The maximum time of thirty seconds for the rest of an incomplete message.
//!
//! The limit cannot be changed, so each scenario waits for the whole limit. One test runs all scenarios at the same
//! time.

use std::thread;
use std::time::{Duration, Instant};

use crate::daemon::Daemon;
use crate::frames::{frame, framed, request};
use crate::log::Line;

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn a_message_that_is_incomplete_after_thirty_seconds_is_dropped() {
    thread::scope(|scope| {
        for scenario in [
            a_part_of_a_header_is_dropped,
            a_part_of_a_body_is_dropped_and_late_bytes_are_at_most_one_error,
            late_bytes_that_never_end_are_at_most_one_error,
            further_bytes_do_not_restart_the_time,
            an_oversize_body_that_stalls_is_dropped,
            an_idle_daemon_waits_for_ever,
        ] {
            scope.spawn(scenario);
        }
    });
}

/// Waits for the log line about the dropped message that began at `start`. Asserts that the line is a warning without
/// an id, and that it has the number of dropped bytes but not their content.
fn is_dropped(daemon: &mut Daemon, start: Instant, bytes: usize) {
    let line = daemon.logs_within(LIMIT * 2, &["30 s"]);
    let took = start.elapsed();
    assert!(took > LIMIT - Duration::from_millis(500) && took < LIMIT + Duration::from_secs(10), "{took:?}: {line}");
    assert!(line.contains(&format!(" {bytes} bytes")), "{bytes}: {line}");
    assert!(!line.contains("jsonrpc"), "{line}");
    let line = Line::read(&line);
    assert_eq!((line.severity.as_str(), line.id, line.method), ("warn", None, None));
}

fn a_part_of_a_header_is_dropped() {
    let mut daemon = Daemon::start(&[]);
    daemon.is_quiet();
    let start = Instant::now();
    daemon.write("Content-Length: 5");
    is_dropped(&mut daemon, start, 17);
    daemon.is_quiet();
    daemon.finish();
}

fn a_part_of_a_body_is_dropped_and_late_bytes_are_at_most_one_error() {
    let mut daemon = Daemon::start(&[]);
    daemon.is_quiet();
    let start = Instant::now();
    let bytes = frame(request(1, "version"));
    let (early, late) = bytes.split_at(bytes.len() - 20);
    daemon.write(early);
    is_dropped(&mut daemon, start, early.len());
    daemon.write(late);
    let id = daemon.probe();
    let first = daemon.answer();
    if first.id() != id {
        first.is_parse_error();
        assert_eq!(daemon.answer().id(), id);
    }
    daemon.is_quiet();
    daemon.finish();
}

fn late_bytes_that_never_end_are_at_most_one_error() {
    let mut daemon = Daemon::start(&[]);
    daemon.is_quiet();
    let start = Instant::now();
    let part = framed(100_000, "{\"jsonrpc\":\"2.0\",\"text\":\"");
    daemon.write(&part);
    is_dropped(&mut daemon, start, part.len());
    for _ in 0..100 {
        daemon.write("x".repeat(1_000));
    }
    let id = daemon.probe();
    let first = daemon.answer();
    if first.id() != id {
        first.is_parse_error();
        assert_eq!(daemon.answer().id(), id);
    }
    daemon.finish();
}

fn further_bytes_do_not_restart_the_time() {
    let mut daemon = Daemon::start(&[]);
    daemon.is_quiet();
    let start = Instant::now();
    daemon.write("Content-Length: 1000\r\n\r\n");
    // The limit counts from the first byte of the message. Later bytes do not restart it.
    for _ in 0..28 {
        thread::sleep(Duration::from_secs(1));
        daemon.write("{");
    }
    is_dropped(&mut daemon, start, 24 + 28);
    daemon.is_quiet();
    daemon.finish();
}

fn an_oversize_body_that_stalls_is_dropped() {
    let mut daemon = Daemon::start(&[]);
    daemon.is_quiet();
    let start = Instant::now();
    let part = framed(20_000_000, "{\"jsonrpc\":\"2.0\",\"text\":\"xxxxxxxx");
    daemon.write(&part);
    daemon.answer().is_refusal("null", "oversize");
    is_dropped(&mut daemon, start, part.len());
    daemon.is_quiet();
    daemon.finish();
}

fn an_idle_daemon_waits_for_ever() {
    let mut daemon = Daemon::start(&[]);
    daemon.is_quiet();
    thread::sleep(LIMIT + Duration::from_secs(2));
    daemon.is_quiet();
    let lines = daemon.finish();
    assert!(lines.is_empty(), "{lines:#?}");
}
