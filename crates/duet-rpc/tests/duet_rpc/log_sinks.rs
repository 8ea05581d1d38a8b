//! The destinations of the log, and its colours.

use std::fs::{self, File};
use std::io::{Read, Write, pipe};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;

use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, mknodat};

use crate::daemon::{Builder, Daemon, TEST_TIMEOUT, program};
use crate::frames::{Answer, frame, request, split_frame};
use crate::log::Line;

/// A temporary folder. Dropping this value removes the folder.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("duet-rpc-log-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Starts a daemon that writes its log to `file`.
fn with_log(file: &Path, arguments: &[&str]) -> Daemon {
    Builder::new(arguments).env("DUET_RPC_LOG", file).start()
}

fn lines_of(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_log_is_written_to_the_named_file() {
    let folder = Folder::new();
    let file = folder.path("rpc.log");
    let mut daemon = with_log(&file, &["rpc", "--log-level", "info"]);
    daemon.ask(request(1, "nope")).failure();
    assert!(daemon.close_and_expect_exit().is_empty(), "standard error must be empty");
    let lines = lines_of(&file);
    assert!(lines.len() >= 3, "{lines:#?}");
    assert!(lines[0].contains(&file.display().to_string()), "{lines:#?}");
    for line in &lines[1..] {
        assert!(!line.contains(&file.display().to_string()), "{lines:#?}");
    }
    for line in &lines {
        Line::read(line);
    }
}

#[test]
fn the_file_is_complete_when_the_daemon_has_ended() {
    let folder = Folder::new();
    for trigger in ["shutdown", "TERM", "end"] {
        let file = folder.path(trigger);
        let mut daemon = with_log(&file, &["rpc", "--log-level", "info"]);
        daemon.wait_until_serving();
        match trigger {
            "shutdown" => drop(daemon.ask(request(1, "shutdown"))),
            "TERM" => daemon.signal("TERM"),
            _ => daemon.close_input(),
        }
        daemon.wait_for_exit().assert_graceful();
        let lines = lines_of(&file);
        assert!(lines.last().unwrap().contains("shutting down gracefully"), "{lines:#?}");
    }
}

#[test]
fn lines_are_appended_to_an_existing_file() {
    let folder = Folder::new();
    let file = folder.path("rpc.log");
    fs::write(&file, "from before\n").unwrap();
    for _ in 0..2 {
        let mut daemon = with_log(&file, &["rpc"]);
        daemon.ask(request(1, "nope")).failure();
        daemon.close_and_expect_exit();
    }
    let lines = lines_of(&file);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert_eq!(lines[0], "from before");
}

#[test]
fn if_the_file_cannot_be_written_a_warning_and_the_log_are_on_standard_error() {
    let folder = Folder::new();
    for file in [folder.0.clone(), folder.path("missing/rpc.log")] {
        for level in ["info", "error"] {
            let mut daemon = with_log(&file, &["rpc", "--log-level", level]);
            daemon.wait_until_serving();
            let lines = daemon.close_and_expect_exit();
            let warning = format!("Warning: Cannot write to log file '{}': ", file.display());
            assert!(lines[0].starts_with(&warning) && lines[0].ends_with("Using stderr instead."), "{lines:#?}");
            if level == "info" {
                assert!(lines[1].contains("stderr") && lines.len() >= 3, "{lines:#?}");
            } else {
                assert_eq!(lines.len(), 1, "{lines:#?}");
            }
            for line in &lines[1..] {
                assert!(!line.contains(&file.display().to_string()), "{lines:#?}");
                Line::read(line);
            }
        }
    }
}

#[test]
fn a_file_with_another_hard_link_is_refused_and_not_changed() {
    let folder = Folder::new();
    let (file, other) = (folder.path("rpc.log"), folder.path("other"));
    fs::write(&other, "theirs\n").unwrap();
    fs::hard_link(&other, &file).unwrap();
    let mut daemon = with_log(&file, &["rpc", "--log-level", "info"]);
    daemon.wait_until_serving();
    let lines = daemon.close_and_expect_exit();
    assert!(lines[0].contains("it has more than one name"), "{lines:#?}");
    assert_eq!(fs::read_to_string(&other).unwrap(), "theirs\n");
    // Without the other hard link, the file is accepted.
    fs::remove_file(&other).unwrap();
    assert!(with_log(&file, &["rpc", "--log-level", "info"]).close_and_expect_exit().is_empty());
    assert!(lines_of(&file).len() > 1);
}

#[test]
fn an_empty_file_name_means_no_file() {
    let mut daemon = Builder::new(&["rpc", "--log-level", "info"]).env("DUET_RPC_LOG", "").start();
    daemon.wait_until_serving();
    let lines = daemon.close_and_expect_exit();
    assert!(!lines.iter().any(|line| line.contains("Warning")), "{lines:#?}");
}

#[test]
fn the_name_of_the_file_may_be_relative() {
    let folder = Folder::new();
    let mut daemon =
        Builder::new(&["rpc", "--log-level", "info"]).env("DUET_RPC_LOG", "rpc.log").folder(&folder.0).start();
    daemon.wait_until_serving();
    assert!(daemon.close_and_expect_exit().is_empty());
    assert!(lines_of(&folder.path("rpc.log")).len() >= 2);
}

#[test]
fn without_a_terminal_there_is_no_colour() {
    let folder = Folder::new();
    let file = folder.path("rpc.log");
    for log in ["", &file.display().to_string()] {
        let mut daemon =
            Builder::new(&["rpc", "--log-level", "debug"]).env("DUET_RPC_LOG", log).env("CLICOLOR_FORCE", "1").start();
        daemon.ask(request(1, "nope")).failure();
        let lines = daemon.close_and_expect_exit();
        assert!(!lines.iter().any(|line| line.contains('\u{1b}')), "{lines:#?}");
    }
    assert!(!fs::read_to_string(&file).unwrap().contains('\u{1b}'));
}

/// Runs the daemon on a terminal, and returns its output. The program `script` creates the terminal.
fn on_a_terminal(environment: &[(&str, &str)], arguments: &str) -> String {
    let program = env!("CARGO_BIN_EXE_duet-rpc");
    let line = format!("'{program}' {arguments} < /dev/null");
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm-256color");
    command.env_remove("NO_COLOR").env_remove("DUET_RPC_LOG").envs(environment.iter().copied());
    let output = command.output().unwrap_or_else(|problem| panic!("`script` of util-linux must start: {problem}"));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn there_is_colour_on_a_terminal() {
    let shown = on_a_terminal(&[], "rpc --log-level info");
    assert!(shown.contains("\u{1b}[") && shown.contains("stdin closed"), "{shown:?}");
}

#[test]
fn colour_on_a_terminal_can_be_switched_off() {
    for (environment, arguments) in [
        (&[("NO_COLOR", "1")][..], "rpc --log-level info"),
        (&[], "rpc --no-color --log-level info"),
        (&[], "--no-color rpc --log-level info"),
        (&[], "-n --log-level info rpc"),
    ] {
        let shown = on_a_terminal(environment, arguments);
        assert!(!shown.contains('\u{1b}') && shown.contains("stdin closed"), "{arguments}: {shown:?}");
    }
}

#[test]
fn a_log_file_has_no_colour_even_if_the_daemon_runs_on_a_terminal() {
    let folder = Folder::new();
    let file = folder.path("rpc.log");
    let log = file.display().to_string();
    on_a_terminal(&[("DUET_RPC_LOG", &log)], "rpc --log-level info");
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains('\u{1b}') && text.contains("stdin closed"), "{text:?}");
}

/// Starts a daemon with a log file that the daemon refuses. Asserts that the log is on standard error. Returns the
/// reason of the refusal, which the warning contains.
fn refused(file: &Path) -> String {
    let mut daemon = with_log(file, &["rpc", "--log-level", "info"]);
    daemon.wait_until_serving();
    let lines = daemon.close_and_expect_exit();
    let warning = format!("Warning: Cannot write to log file '{}': ", file.display());
    let reason = lines[0].strip_prefix(&warning).and_then(|rest| rest.strip_suffix(". Using stderr instead."));
    assert!(lines.len() >= 3, "the log must be on standard error: {lines:#?}");
    reason.unwrap_or_else(|| panic!("{lines:#?}")).to_owned()
}

#[test]
fn only_the_owner_can_read_a_new_log_file() {
    let folder = Folder::new();
    let file = folder.path("rpc.log");
    with_log(&file, &["rpc", "--log-level", "info"]).close_and_expect_exit();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_symbolic_link_is_not_followed() {
    let folder = Folder::new();
    let (link, target) = (folder.path("rpc.log"), folder.path("precious"));
    symlink(&target, &link).unwrap();
    refused(&link);
    assert!(!target.exists(), "the target of the link must not be created");
    fs::write(&target, "precious").unwrap();
    refused(&link);
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
}

/// The daemon refuses a symbolic link only as the last component of the path, see SECURITY.md.
#[test]
fn a_folder_in_the_path_may_be_a_symbolic_link() {
    let folder = Folder::new();
    fs::create_dir(folder.path("real")).unwrap();
    symlink(folder.path("real"), folder.path("link")).unwrap();
    with_log(&folder.path("link").join("rpc.log"), &["rpc", "--log-level", "info"]).close_and_expect_exit();
    assert!(fs::read_to_string(folder.path("real").join("rpc.log")).unwrap().contains("started"));
}

#[test]
fn a_fifo_is_refused_and_does_not_delay_the_start() {
    let folder = Folder::new();
    let fifo = folder.path("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(refused(&fifo), "it is not a regular file");
    // A FIFO with a reader is refused, too.
    let reader = File::options().read(true).write(true).open(&fifo).unwrap();
    assert_eq!(refused(&fifo), "it is not a regular file");
    drop(reader);
}

#[test]
fn devices_and_standard_streams_are_refused() {
    const OF_THE_PROTOCOL: &str = "it is the standard input or output, which carries the protocol";
    for (file, reason) in [
        ("/dev/null", "it is not a regular file"),
        ("/tmp", "it is not a regular file"),
        ("/dev/stderr", "it is a symbolic link, which is not followed"),
        ("/dev/stdout", OF_THE_PROTOCOL),
        ("/dev/stdin", OF_THE_PROTOCOL),
        ("/dev/fd/1", OF_THE_PROTOCOL),
        ("/proc/self/fd/0", OF_THE_PROTOCOL),
        ("/proc/self/fd/1", OF_THE_PROTOCOL),
    ] {
        assert_eq!(refused(Path::new(file)), reason, "{file}");
    }
}

#[test]
fn nothing_is_logged_if_standard_error_is_standard_output() {
    let folder = Folder::new();
    let requests = [frame(request(1, "nope")), frame(request(2, "version"))].concat();
    for kind in ["pipe", "file", "inetd"] {
        // The daemon refuses the log file `/dev/stdout`, and would use standard error instead.
        for log in ["", "/dev/stdout"] {
            let mut command = program();
            command.args(["rpc", "--log-level", "debug"]).env("DUET_RPC_LOG", log);
            let mut answers = Vec::new();
            match kind {
                "pipe" => {
                    let (mut reader, writer) = pipe().unwrap();
                    command.stdin(Stdio::piped()).stderr(writer.try_clone().unwrap()).stdout(writer);
                    let mut daemon = command.spawn().unwrap();
                    // `command` keeps write ends of the pipe open. The read below ends only after all write ends are
                    // closed.
                    drop(command);
                    daemon.stdin.take().unwrap().write_all(&requests).unwrap();
                    reader.read_to_end(&mut answers).unwrap();
                    assert!(daemon.wait().unwrap().success());
                }
                "file" => {
                    let file = folder.path("output");
                    let output = File::create(&file).unwrap();
                    command.stdin(Stdio::piped()).stderr(output.try_clone().unwrap()).stdout(output);
                    let mut daemon = command.spawn().unwrap();
                    daemon.stdin.take().unwrap().write_all(&requests).unwrap();
                    assert!(daemon.wait().unwrap().success());
                    answers = fs::read(&file).unwrap();
                }
                _ => {
                    let (mut our_end, daemon_end) = UnixStream::pair().unwrap();
                    let stream = || Stdio::from(OwnedFd::from(daemon_end.try_clone().unwrap()));
                    let mut daemon = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
                    our_end.write_all(&requests).unwrap();
                    our_end.shutdown(Shutdown::Write).unwrap();
                    assert!(daemon.wait().unwrap().success());
                    drop(command);
                    our_end.set_nonblocking(true).unwrap();
                    // `read_to_end` reads the available bytes, and then fails, since `daemon_end` is still open.
                    let _ = our_end.read_to_end(&mut answers);
                }
            }
            let mut rest = answers.as_slice();
            for id in ["1", "2"] {
                let (text, length) = split_frame(rest).unwrap().unwrap();
                assert_eq!(Answer::read(text).id(), id, "{kind}");
                rest = &rest[length..];
            }
            assert!(rest.is_empty(), "{kind}: {:?}", String::from_utf8_lossy(rest));
        }
    }
}

#[test]
fn an_unread_warning_about_the_log_file_does_not_delay_the_start() {
    let (_unread, mut full) = pipe().unwrap();
    let usual_flags = fcntl_getfl(&full).unwrap();
    fcntl_setfl(&full, usual_flags | OFlags::NONBLOCK).unwrap();
    // The last bytes are written one by one, so that the pipe has no space even for a short line.
    for piece in [&[0; 4_096][..], &[0]] {
        while full.write(piece).is_ok() {}
    }
    fcntl_setfl(&full, usual_flags).unwrap();
    let mut command = program();
    command.args(["rpc"]).env("DUET_RPC_LOG", "/tmp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(full);
    let mut daemon = command.spawn().unwrap();
    daemon.stdin.take().unwrap().write_all(&frame(request(1, "version"))).unwrap();
    let mut stdout = daemon.stdout.take().unwrap();
    let (sender, answer) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stdout.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    let answer = answer.recv_timeout(TEST_TIMEOUT);
    let _ = daemon.kill();
    daemon.wait().unwrap();
    assert!(String::from_utf8_lossy(&answer.unwrap()).contains("\"result\""));
}

#[test]
fn a_file_that_is_the_standard_output_or_input_is_refused() {
    let folder = Folder::new();
    let file = folder.path("both");
    for is_output in [true, false] {
        let mut command = program();
        command.args(["rpc", "--log-level", "info"]).env("DUET_RPC_LOG", &file).stderr(Stdio::piped());
        fs::write(&file, frame(request(1, "version"))).unwrap();
        let input = if is_output { Stdio::piped() } else { File::open(&file).unwrap().into() };
        let output = if is_output { File::create(&file).unwrap().into() } else { Stdio::piped() };
        let mut daemon = command.stdin(input).stdout(output).spawn().unwrap();
        if let Some(mut stdin) = daemon.stdin.take() {
            stdin.write_all(&frame(request(1, "version"))).unwrap();
        }
        let output = daemon.wait_with_output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("which carries the protocol"), "{output:?}");
        let bytes = fs::read(&file).unwrap();
        let (_, length) = split_frame(&bytes).unwrap().unwrap();
        assert_eq!(length, bytes.len(), "the file must contain only the frame: {:?}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn control_characters_in_a_path_or_an_argument_are_escaped() {
    let folder = Folder::new();
    let name = "a\u{1b}[31m\u{9b}\u{7}\u{202e}\n2026 error";
    let is_harmless = |text: &str| !text.contains(['\u{1b}', '\u{9b}', '\u{7}', '\u{202e}']);
    // The first line of the log contains the path of the log file.
    let file = folder.path(name);
    with_log(&file, &["rpc", "--log-level", "info"]).close_and_expect_exit();
    let log = fs::read_to_string(&file).unwrap();
    assert!(is_harmless(&log) && log.contains("\\u{1b}[31m"), "{log:?}");
    assert!(!log.contains("\n2026 error"), "the path must not forge a line: {log:?}");
    let missing = folder.path("no folder").join(name);
    let output = program().args(["rpc"]).env("DUET_RPC_LOG", &missing).stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(shown.starts_with("Warning: Cannot write") && is_harmless(&shown), "{shown:?}");
    assert_eq!(shown.lines().count(), 1, "{shown:?}");
    for arguments in [["--log-level", name], ["rpc", name]] {
        let line = format!("'{}' '{}' '{}'; true", env!("CARGO_BIN_EXE_duet-rpc"), arguments[0], arguments[1]);
        let output = Command::new("script").args(["-qec", &line, "/dev/null"]).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains("error:") && is_harmless(&shown), "{shown:?}");
    }
}
