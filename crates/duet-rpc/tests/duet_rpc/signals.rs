//! After SIGINT, SIGTERM or SIGHUP, the daemon exits with code 0, and the log names the signal.

use std::time::Instant;

use crate::daemon::{Builder, Daemon};
use crate::frames::{frame, request};

const SIGNALS: [&str; 3] = ["INT", "TERM", "HUP"];

/// For each signal: starts a daemon, calls `prepare`, sends the signal, and asserts that the daemon exits with code 0.
fn assert_each_signal_ends_with_success(mut prepare: impl FnMut(&mut Daemon)) {
    for name in SIGNALS {
        let mut daemon = Daemon::start(&["--log-level", "info"]);
        prepare(&mut daemon);
        let trigger = Instant::now();
        daemon.signal(name);
        let ending = daemon.wait_for_exit();
        ending.assert_graceful_since(trigger);
        let expected = format!("received SIG{name}, shutting down gracefully");
        let lines = &ending.lines;
        assert!(lines.iter().any(|line| line.contains("info") && line.contains(&expected)), "{lines:#?}");
    }
}

#[test]
fn a_signal_ends_an_idle_daemon() {
    assert_each_signal_ends_with_success(Daemon::wait_until_serving);
}

#[test]
fn a_signal_ends_a_daemon_that_has_read_nothing_yet() {
    assert_each_signal_ends_with_success(|daemon| drop(daemon.wait_for_log_line(&["pid"])));
}

#[test]
fn a_signal_ends_a_daemon_that_waits_for_the_rest_of_a_message() {
    for part in ["Content-Le", "Content-Length: 57\r\n\r\n", "Content-Length: 57\r\n\r\n{\"jsonrpc\":"] {
        assert_each_signal_ends_with_success(|daemon| {
            daemon.wait_until_serving();
            daemon.write(part);
        });
    }
}

#[test]
fn a_signal_is_not_logged_at_the_default_level() {
    for name in SIGNALS {
        let mut daemon = Daemon::start(&[]);
        daemon.wait_until_serving();
        let trigger = Instant::now();
        daemon.signal(name);
        let ending = daemon.wait_for_exit();
        ending.assert_graceful_since(trigger);
        assert!(ending.lines.is_empty(), "{:#?}", ending.lines);
    }
}

#[test]
fn a_signal_during_requests_truncates_no_answer() {
    let mut daemon = Daemon::start(&[]);
    daemon.wait_until_serving();
    daemon.write((0..500).flat_map(|id| frame(request(id, "listMethods"))).collect::<Vec<u8>>());
    let trigger = Instant::now();
    daemon.signal("TERM");
    let ending = daemon.wait_for_exit();
    assert_eq!(ending.code, Some(0));
    assert!(ending.at.saturating_duration_since(trigger) < crate::daemon::GRACE);
    // The answers must belong to the first requests. `Daemon::wait_for_exit` has checked that each answer is complete.
    for (id, answer) in ending.answers.iter().enumerate() {
        assert_eq!(answer.id(), id.to_string());
    }
}

#[test]
fn a_second_signal_changes_nothing() {
    let mut daemon = Daemon::start(&[]);
    daemon.wait_until_serving();
    // In most runs, the second signal arrives before the daemon has ended.
    let send_both = format!("kill -TERM {0}; kill -INT {0} 2>/dev/null; true", daemon.pid);
    let trigger = Instant::now();
    assert!(std::process::Command::new("sh").args(["-c", &send_both]).status().unwrap().success());
    daemon.wait_for_exit().assert_graceful_since(trigger);
}

#[test]
fn a_signal_that_the_parent_ignores_stays_ignored() {
    for name in SIGNALS {
        let mut daemon = Builder::ignoring(name).start();
        daemon.wait_until_serving();
        daemon.signal(name);
        daemon.assert_no_pending_answer();
        let other_signal = if name == "TERM" { "INT" } else { "TERM" };
        let trigger = Instant::now();
        daemon.signal(other_signal);
        daemon.wait_for_exit().assert_graceful_since(trigger);
    }
}
