//! The levels of the log, and the ways to set a level.

use crate::daemon::{Builder, Daemon};
use crate::frames::{notification_with, request, request_with};
use crate::log::Line;

/// Causes an event of each level in a daemon. Returns the severities that occur in its log, in alphabetical order.
fn severities(arguments: &[&str]) -> Vec<String> {
    let mut daemon = Builder::new(arguments).start();
    daemon.ask(request(1, "version")).result();
    daemon.ask(request(2, "nope")).failure();
    daemon.send(notification_with("setLogLevel", "{}"));
    daemon.assert_no_pending_answer();
    let mut severities: Vec<String> =
        daemon.close_and_expect_exit().iter().map(|line| Line::read(line).severity).collect();
    severities.sort();
    severities.dedup();
    severities
}

#[test]
fn by_default_warnings_and_errors_are_logged() {
    assert_eq!(severities(&["rpc"]), ["error", "warn"]);
}

#[test]
fn each_level_includes_the_more_severe_levels() {
    assert_eq!(severities(&["rpc", "--log-level", "debug"]), ["debug", "error", "info", "warn"]);
    assert_eq!(severities(&["rpc", "--log-level", "info"]), ["error", "info", "warn"]);
    assert_eq!(severities(&["rpc", "--log-level", "warn"]), ["error", "warn"]);
    assert_eq!(severities(&["rpc", "--log-level", "error"]), ["error"]);
}

#[test]
fn the_option_for_the_level_accepts_any_case_before_and_after_the_command() {
    for arguments in
        [&["rpc", "--log-level", "ERROR"][..], &["--log-level", "Error", "rpc"], &["--log-level=eRRor", "rpc"]]
    {
        assert_eq!(severities(arguments), ["error"], "{arguments:?}");
    }
}

#[test]
fn a_level_that_a_request_sets_takes_effect_at_once() {
    let mut daemon = Daemon::start(&[]);
    daemon.ask(request(1, "version")).result();
    daemon.ask(request_with(2, "setLogLevel", r#"{"level":"DEBUG"}"#)).result();
    daemon.ask(request(3, "version")).result();
    daemon.wait_for_log_line(&["debug", "method=\"version\"", "id=3"]);
    daemon.ask(request_with(4, "setLogLevel", r#"{"level":"error"}"#)).result();
    daemon.ask(request(5, "version")).result();
    daemon.ask(request(6, "nope")).failure();
    let lines = daemon.close_and_expect_exit();
    for id in ["id=1", "id=5", "id=6"] {
        assert!(!lines.iter().any(|line| line.contains(id)), "{lines:#?}");
    }
}

#[test]
fn a_level_that_a_notification_sets_takes_effect() {
    let mut daemon = Daemon::start(&[]);
    daemon.send(notification_with("setLogLevel", r#"{"level":"debug"}"#));
    daemon.ask(request(3, "version")).result();
    daemon.wait_for_log_line(&["debug", "id=3"]);
    daemon.close_and_expect_exit();
}

#[test]
fn a_refused_level_does_not_change_the_level_of_the_log() {
    let mut daemon = Daemon::start(&["--log-level", "error"]);
    daemon.ask(request_with(1, "setLogLevel", r#"{"level":"verbose"}"#)).failure();
    daemon.ask(request(2, "nope")).failure();
    assert!(daemon.close_and_expect_exit().is_empty());
}

#[test]
fn the_start_is_logged_with_version_process_level_and_sink() {
    for (level, is_logged) in [("info", true), ("DEBUG", true), ("warn", false), ("error", false)] {
        let mut daemon = Daemon::start(&["--log-level", level]);
        daemon.wait_until_serving();
        let pid = daemon.pid.to_string();
        let lines = daemon.close_and_expect_exit();
        if !is_logged {
            assert!(lines.is_empty(), "{lines:#?}");
            continue;
        }
        let line = Line::read(&lines[0]);
        assert_eq!(line.severity, "info");
        for part in [env!("CARGO_PKG_VERSION"), &pid, &level.to_lowercase(), "stderr"] {
            assert!(line.message.contains(part), "{part}: {line:?}");
        }
    }
}
