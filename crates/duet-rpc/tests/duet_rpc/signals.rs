//! After SIGINT, SIGTERM or SIGHUP, the daemon exits with code 0, and the log names the signal.

use std::time::Instant;

use crate::daemon::{Builder, Daemon};
use crate::frames::{frame, request};

const SIGNALS: [&str; 3] = ["INT", "TERM", "HUP"];

/// Asserts that a daemon exits with code 0 if it receives a signal after `prepare`. Tests each signal.
fn ends_well(mut prepare: impl FnMut(&mut Daemon)) {
    for name in SIGNALS {
        let mut daemon = Daemon::start(&["--log-level", "info"]);
        prepare(&mut daemon);
        let trigger = Instant::now();
        daemon.signal(name);
        let ending = daemon.end();
        ending.is_graceful_since(trigger);
        let expected = format!("received SIG{name}, shutting down gracefully");
        let lines = &ending.lines;
        assert!(lines.iter().any(|line| line.contains("info") && line.contains(&expected)), "{lines:#?}");
    }
}

#[test]
fn a_signal_ends_an_idle_daemon() {
    ends_well(Daemon::is_quiet);
}

#[test]
fn a_signal_ends_a_daemon_that_has_read_nothing_yet() {
    ends_well(|daemon| drop(daemon.logs(&["pid"])));
}

#[test]
fn a_signal_ends_a_daemon_that_waits_for_the_rest_of_a_message() {
    for part in ["Content-Le", "Content-Length: 57\r\n\r\n", "Content-Length: 57\r\n\r\n{\"jsonrpc\":"] {
        ends_well(|daemon| {
            daemon.is_quiet();
            daemon.write(part);
        });
    }
}

#[test]
fn a_signal_at_the_default_level_is_not_logged() {
    for name in SIGNALS {
        let mut daemon = Daemon::start(&[]);
        daemon.is_quiet();
        let trigger = Instant::now();
        daemon.signal(name);
        let ending = daemon.end();
        ending.is_graceful_since(trigger);
        assert!(ending.lines.is_empty(), "{:#?}", ending.lines);
    }
}

#[test]
fn a_signal_among_requests_cuts_no_answer() {
    let mut daemon = Daemon::start(&[]);
    daemon.is_quiet();
    daemon.write((0..500).flat_map(|id| frame(request(id, "listMethods"))).collect::<Vec<u8>>());
    let trigger = Instant::now();
    daemon.signal("TERM");
    let ending = daemon.end();
    assert_eq!(ending.code, Some(0));
    assert!(ending.at.saturating_duration_since(trigger) < crate::daemon::GRACE);
    // The answers must belong to the first requests. `Daemon::end` has checked that each answer is complete.
    for (id, answer) in ending.answers.iter().enumerate() {
        assert_eq!(answer.id(), id.to_string());
    }
}

#[test]
fn a_second_signal_changes_nothing() {
    let mut daemon = Daemon::start(&[]);
    daemon.is_quiet();
    // In most runs, the second signal arrives before the daemon has ended.
    let both = format!("kill -TERM {0}; kill -INT {0} 2>/dev/null; true", daemon.pid);
    let trigger = Instant::now();
    assert!(std::process::Command::new("sh").args(["-c", &both]).status().unwrap().success());
    daemon.end().is_graceful_since(trigger);
}

#[test]
fn a_signal_that_the_parent_ignores_stays_ignored() {
    for name in SIGNALS {
        let mut daemon = Builder::ignoring(name).start();
        daemon.is_quiet();
        daemon.signal(name);
        daemon.is_quiet();
        let handled = if name == "TERM" { "INT" } else { "TERM" };
        let trigger = Instant::now();
        daemon.signal(handled);
        daemon.end().is_graceful_since(trigger);
    }
}
