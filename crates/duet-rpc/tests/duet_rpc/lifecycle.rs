//! The exit of the daemon: after the end of its input, after a shutdown, and after a failure.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::daemon::{Builder, Daemon, GRACE, program};
use crate::frames::{frame, notification_with, request};

/// Incomplete frames, each the beginning of a valid frame.
const PARTS: [&str; 4] =
    ["C", "Content-Length: 57", "Content-Length: 57\r\n\r\n", "Content-Length: 57\r\n\r\n{\"jsonrpc\""];

#[test]
fn the_daemon_exits_at_the_end_of_the_input() {
    let mut daemon = Daemon::start(&["--log-level", "info"]);
    daemon.wait_until_serving();
    let lines = daemon.close_and_expect_exit();
    assert!(lines.iter().any(|line| line.contains("info") && line.contains("stdin closed, shutting down gracefully")));
}

#[test]
fn the_daemon_exits_at_the_end_of_an_empty_input() {
    Daemon::start(&[]).close_and_expect_exit();
}

#[test]
fn requests_before_the_end_of_input_are_all_answered() {
    let mut daemon = Daemon::start(&[]);
    daemon.write((0..1_000).flat_map(|id| frame(request(id, "listMethods"))).collect::<Vec<u8>>());
    daemon.close_input();
    for id in 0..1_000 {
        assert_eq!(daemon.answer().id(), id.to_string());
    }
    daemon.wait_for_exit().assert_graceful();
}

#[test]
fn an_input_that_ends_within_a_message_is_a_parse_error() {
    for part in PARTS {
        let mut daemon = Daemon::start(&["--log-level", "info"]);
        daemon.write([frame(request(1, "version")), part.as_bytes().to_vec()].concat());
        assert_eq!(daemon.answer().id(), "1");
        let trigger = Instant::now();
        daemon.close_input();
        daemon.answer().assert_parse_error();
        let ending = daemon.wait_for_exit();
        ending.assert_graceful_since(trigger);
        assert!(ending.lines.iter().any(|line| line.contains("stdin closed, shutting down gracefully")));
    }
}

#[test]
fn an_input_that_ends_before_the_declared_length_is_a_parse_error() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    daemon.write(crate::frames::frame_with_length(body.len() + 3, &body));
    daemon.close_input();
    daemon.answer().assert_parse_error();
    daemon.wait_for_exit().assert_graceful();
}

#[test]
fn blank_lines_at_the_end_of_the_input_are_not_an_error() {
    let mut daemon = Daemon::start(&[]);
    daemon.wait_until_serving();
    daemon.write("\r\n\r\n");
    daemon.close_and_expect_exit();
}

#[test]
fn shutdown_ends_the_daemon_while_its_input_is_open() {
    let mut daemon = Daemon::start(&["--log-level", "info"]);
    let trigger = Instant::now();
    daemon.ask(request(1, "shutdown")).result();
    let ending = daemon.wait_for_exit();
    ending.assert_graceful_since(trigger);
    assert!(ending.lines.iter().any(|line| line.contains("info") && line.contains("shutdown requested")));
}

#[test]
fn shutdown_takes_well_under_a_hundred_milliseconds() {
    // Emacs kills the process after 100 ms. The test uses the shortest of ten runs, since other tests run at the same
    // time.
    let durations = (0..10).map(|_| {
        let mut daemon = Daemon::start(&[]);
        daemon.wait_until_serving();
        let trigger = Instant::now();
        daemon.ask(request(1, "shutdown")).result();
        let ending = daemon.wait_for_exit();
        ending.assert_graceful();
        ending.at.saturating_duration_since(trigger)
    });
    let best = durations.min().unwrap();
    assert!(best < Duration::from_millis(50), "{best:?}");
}

#[test]
fn shutdown_as_a_notification_ends_the_daemon_without_an_answer() {
    for params in ["null", "[]", "{}"] {
        let mut daemon = Daemon::start(&["--log-level", "info"]);
        daemon.wait_until_serving();
        let trigger = Instant::now();
        daemon.send(notification_with("shutdown", params));
        let ending = daemon.wait_for_exit();
        ending.assert_graceful_since(trigger);
        assert!(ending.lines.iter().any(|line| line.contains("info") && line.contains("shutdown requested")));
    }
}

#[test]
fn nothing_is_served_after_shutdown() {
    for shutdown in [request(1, "shutdown"), r#"{"jsonrpc":"2.0","method":"shutdown"}"#.to_owned()] {
        let mut daemon = Daemon::start(&[]);
        let mut frames = frame(&shutdown);
        for id in 2..100 {
            frames.extend(frame(request(id, "version")));
        }
        frames.extend(b"noise\nContent-Length: abc\r\n\r\nContent-Leng");
        daemon.write(frames);
        if shutdown.contains("\"id\"") {
            assert_eq!(daemon.answer().id(), "1");
        }
        daemon.wait_for_exit().assert_graceful();
    }
}

#[test]
fn requests_before_shutdown_are_answered_before_shutdown() {
    let mut daemon = Daemon::start(&[]);
    let mut frames: Vec<u8> = (0..200).flat_map(|id| frame(request(id, "listMethods"))).collect();
    frames.extend(frame(request(200, "shutdown")));
    daemon.write(frames);
    for id in 0..=200 {
        assert_eq!(daemon.answer().id(), id.to_string());
    }
    daemon.wait_for_exit().assert_graceful();
}

#[test]
fn all_answers_before_shutdown_reach_a_slow_reader() {
    let mut daemon = Builder::new(&["rpc"]).with_unread_stdout().start();
    let mut frames: Vec<u8> = (0..500).flat_map(|id| frame(request(id, "listMethods"))).collect();
    frames.extend(frame(request(500, "shutdown")));
    daemon.write(frames);
    daemon.start_reading();
    for id in 0..=500 {
        assert_eq!(daemon.answer().id(), id.to_string());
    }
    daemon.wait_for_exit().assert_graceful();
}

#[test]
fn unread_answers_do_not_prevent_the_exit() {
    let mut daemon = Builder::new(&["rpc"]).with_unread_stdout().start();
    // The answers are much larger than the buffer of a pipe.
    daemon.write((0..2_000).flat_map(|id| frame(request(id, "listMethods"))).collect::<Vec<u8>>());
    let trigger = Instant::now();
    daemon.signal("TERM");
    let (code, at) = daemon.wait_for_exit_unread();
    assert_eq!(code, Some(0));
    // The daemon waits for its shutdown timeout of 1.2 s, so that the client can read the answers. Then it exits.
    let took = at.saturating_duration_since(trigger);
    assert!(took > GRACE / 2 && took < GRACE, "{took:?}");
}

#[test]
fn unread_answers_and_an_unread_log_do_not_prevent_the_exit() {
    let mut daemon = Builder::new(&["rpc", "--log-level", "debug"]).with_unread_stdout().with_unread_stderr().start();
    daemon.write((0..2_000).flat_map(|id| frame(request(id, "listMethods"))).collect::<Vec<u8>>());
    let trigger = Instant::now();
    daemon.signal("TERM");
    let (code, at) = daemon.wait_for_exit_unread();
    assert_eq!(code, Some(0));
    let took = at.saturating_duration_since(trigger);
    assert!(took < GRACE, "{took:?}");
}

#[test]
fn a_closed_output_ends_the_daemon_with_code_1() {
    let mut daemon = Builder::new(&["rpc"]).with_closed_stdout().start();
    daemon.send(request(1, "version"));
    let ending = daemon.wait_for_exit();
    assert_eq!(ending.code, Some(1), "{:#?}", ending.lines);
    assert!(ending.lines.iter().any(|line| line.contains(" error ")), "{:#?}", ending.lines);
}

#[test]
fn a_closed_output_is_not_a_failure_if_nothing_is_written() {
    let daemon = Builder::new(&["rpc"]).with_closed_stdout().start();
    daemon.close_and_expect_exit();
}

#[test]
fn an_unwritable_output_ends_the_daemon_with_code_1() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let input = std::env::temp_dir().join(format!("duet-rpc-input-{}", std::process::id()));
    std::fs::write(&input, frame(request(1, "version"))).unwrap();
    let output = program().arg("rpc").stdin(std::fs::File::open(&input).unwrap()).stdout(full).output().unwrap();
    std::fs::remove_file(&input).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(" error ") && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn a_log_file_at_its_size_limit_does_not_end_the_daemon() {
    let folder = std::env::temp_dir().join(format!("duet-rpc-small-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let input = folder.join("input");
    std::fs::write(&input, frame(request(1, "version"))).unwrap();
    let script = "ulimit -f 0; exec \"$0\" rpc --log-level debug | cat";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(program().get_program()).env("DUET_RPC_LOG", folder.join("log"));
    let output = command.stdin(std::fs::File::open(&input).unwrap()).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(answer.contains("\"result\""), "{answer}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_unreadable_input_ends_the_daemon_with_code_1() {
    // A folder can be opened, but a read from the folder fails.
    let folder = std::fs::File::open("/").unwrap();
    let output = program().arg("rpc").stdin(folder).stderr(Stdio::piped()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(" error ") && !stderr.contains("panicked"), "{stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn an_input_from_a_file_is_served_to_its_end() {
    let input = std::env::temp_dir().join(format!("duet-rpc-file-{}", std::process::id()));
    std::fs::write(&input, [frame(request(1, "version")), frame(request(2, "version"))].concat()).unwrap();
    let output = program().arg("rpc").stdin(std::fs::File::open(&input).unwrap()).output().unwrap();
    std::fs::remove_file(&input).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("Content-Length: ").count(), 2);
    assert!(output.stderr.is_empty());
}

#[test]
fn an_unread_log_blocks_neither_serving_nor_the_exit() {
    let mut daemon = Builder::new(&["--log-level", "debug", "rpc"]).with_unread_stderr().start();
    for round in 0..10 {
        daemon.write((0..1_000).flat_map(|id| frame(request(id, "nope"))).collect::<Vec<u8>>());
        for id in 0..1_000 {
            assert_eq!(daemon.answer().id(), id.to_string(), "round {round}");
        }
    }
    let trigger = Instant::now();
    daemon.signal("TERM");
    let ending = daemon.wait_for_exit();
    ending.assert_graceful();
    // The daemon waits at most 300 ms until the rest of the log is written.
    let took = ending.at.saturating_duration_since(trigger);
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn without_system_resources_the_daemon_exits_with_code_1_and_an_error() {
    let mut error_lines = Vec::new();
    // The test raises the limit of open files step by step. The first limit is too small to load the program. The loop
    // ends at the first limit with which the daemon serves. The last limit is large enough.
    for limit in 4..=32 {
        let script = format!("ulimit -n {limit}; exec '{}' rpc --log-level info", program().get_program().display());
        let output = Command::new("sh").args(["-c", &script]).env_remove("DUET_RPC_LOG").stdin(Stdio::null()).output();
        let output = output.unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.stdout.is_empty() && !stderr.contains("panicked"), "{stderr}");
        if output.status.code() == Some(0) {
            assert!(stderr.contains("stdin closed, shutting down gracefully"), "{stderr}");
            break;
        }
        // The exit code 127 means that the program could not be loaded.
        if output.status.code() == Some(127) {
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        error_lines.extend(stderr.lines().map(str::to_owned));
    }
    assert!(error_lines.iter().all(|line| line.contains(" error ")), "{error_lines:#?}");
    // With some limits, the runtime returns the error of the system. With other limits, the runtime panics. The daemon
    // does not log the message of a panic, since the message may contain text of the client.
    assert!(error_lines.iter().any(|line| line.contains("cannot serve: Too many open files")), "{error_lines:#?}");
    assert!(error_lines.iter().any(|line| line.ends_with("cannot serve: an internal fault")), "{error_lines:#?}");
    let panic = error_lines.iter().find(|line| line.contains("internal fault in line ")).unwrap();
    assert!(panic.ends_with(".rs") && !panic.contains('/'), "{panic}");
}
