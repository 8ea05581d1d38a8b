//! A daemon whose standard streams are non-blocking.

use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::daemon::program;
use crate::frames::{frame, request};
use crate::non_blocking_streams::{
    Kind, Subject, When, carries_100_megabytes_each_way, read_to_end, run, serves_under_node,
    serves_whenever_the_flag_is_set, set_nonblocking, write_all,
};

fn daemon() -> Command {
    let mut command = program();
    command.arg("rpc");
    command
}

/// Maximum length of an id that the daemon accepts, in characters.
const MAX_ID_LENGTH: usize = 1_024;

/// The daemon as a program that receives a payload and returns it. The payload is split into the ids of requests, which
/// the answers repeat.
const DAEMON: Subject = Subject {
    command: daemon,
    preamble: b"",
    request: |payload| frames(payload, |id| frame(request(format!("\"{id}\""), "version"))),
    answer: |payload| {
        let version = env!("CARGO_PKG_VERSION");
        frames(payload, |id| frame(format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"version":"{version}"}}}}"#)))
    },
};

/// Splits `payload` into ids. Returns the frames that `of_id` returns for these ids.
fn frames(payload: &str, of_id: impl Fn(&str) -> Vec<u8>) -> Vec<u8> {
    assert!(payload.is_ascii());
    let ids = payload.as_bytes().chunks(MAX_ID_LENGTH).map(|id| str::from_utf8(id).unwrap());
    ids.flat_map(of_id).collect()
}

#[test]
fn the_daemon_serves_whenever_its_streams_become_non_blocking() {
    serves_whenever_the_flag_is_set(DAEMON);
}

#[test]
fn the_daemon_serves_under_a_node_script_that_uses_its_streams() {
    serves_under_node(DAEMON);
}

#[test]
fn a_hundred_megabytes_each_way_arrive_through_non_blocking_pipes() {
    carries_100_megabytes_each_way(DAEMON);
}

#[test]
fn no_line_of_the_log_is_lost_on_a_non_blocking_standard_error() {
    const LINES: usize = 3_000;
    for kind in Kind::ALL {
        let (log, their_log) = kind.make();
        set_nonblocking(&their_log);
        let mut command = daemon();
        command.args(["--log-level", "warn"]).stderr(their_log);
        let (input, our_input) = Kind::Pipes.make();
        let child = command.stdin(input).stdout(Stdio::null()).spawn().unwrap();
        // `command` has the write end of the log open until `command` is dropped.
        drop(command);
        for number in 0..LINES {
            write_all(&our_input, &frame(request(number, "nope")));
        }
        // During this pause, the log fills its pipe. The reader begins afterwards.
        thread::sleep(Duration::from_millis(100));
        let reader = thread::spawn(move || read_to_end(&log));
        // The reader must run before the input ends. After the end of the input, the daemon waits at most 300 ms until
        // the log is written.
        thread::sleep(Duration::from_millis(100));
        drop(our_input);
        let mut child = child;
        assert!(child.wait().unwrap().success());
        let log = String::from_utf8(reader.join().unwrap()).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.len(), LINES);
        for (number, line) in lines.iter().enumerate() {
            assert!(line.ends_with(&format!("id={number}")), "{line}");
        }
    }
}

#[test]
fn help_and_errors_are_written_whole_to_a_pipe_that_is_full() {
    for arguments in [&["--help"][..], &[], &["--version"], &["rpc", "--help"], &["rpc", "--nope"]] {
        let expected = program().args(arguments).output().unwrap();
        let (reader, writer) = Kind::Pipes.make();
        set_nonblocking(&writer);
        let filled = fill(&writer);
        let mut command = program();
        command.args(arguments).stdout(writer.try_clone().unwrap()).stderr(writer);
        let mut child = command.spawn().unwrap();
        drop(command);
        thread::sleep(Duration::from_millis(30));
        let written = read_to_end(&reader);
        assert_eq!(child.wait().unwrap().code(), expected.status.code());
        let expected = [expected.stdout, expected.stderr].concat();
        assert_eq!(String::from_utf8_lossy(&written[filled..]), String::from_utf8_lossy(&expected), "{arguments:?}");
    }
}

/// Writes until the pipe is full. Returns the number of written bytes.
fn fill(writer: &OwnedFd) -> usize {
    let mut filled = 0;
    while let Ok(count) = rustix::io::write(writer, &[b'.'; 4096]) {
        filled += count;
    }
    filled
}

#[test]
fn the_daemon_ends_with_success_when_a_non_blocking_input_ends() {
    for when in When::ALL {
        let (code, output) = run(daemon(), b"", when, Kind::Pipes);
        assert_eq!((code, output), (Some(0), Vec::new()));
    }
}
