//! Runs the daemon for a test: writes its input, and reads its answers, its log and its exit code.
//!
//! A separate thread reads each output, so a test waits for events and not for a fixed time. `Daemon::wait_for_exit`
//! asserts that standard output contains only frames, and that the daemon did not panic.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::frames::{Answer, frame, request, split_frame};

/// Maximum time of one wait in a test. The time is long enough for a machine that is busy with other tests.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum time from the trigger of the exit, for example a signal, to the exit of the daemon.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// Options for starting a daemon.
pub(crate) struct Builder {
    command: Command,
    is_stdout_closed: bool,
    is_stdout_unread: bool,
    is_stderr_unread: bool,
}

impl Builder {
    /// Creates a builder for `duet-rpc` with these arguments. The environment variables that `duet-rpc` reads are
    /// unset.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        let mut command = program();
        command.args(arguments);
        Self { command, is_stdout_closed: false, is_stdout_unread: false, is_stderr_unread: false }
    }

    /// Creates a builder for a `duet-rpc rpc` that starts with `signal` ignored, as under `nohup`.
    pub(crate) fn ignoring(signal: &str) -> Self {
        let mut command = Command::new("sh");
        let script = format!("trap '' {signal}; exec \"$0\" rpc");
        command.args(["-c", &script]).arg(program().get_program()).env_remove("DUET_RPC_LOG");
        Self { command, is_stdout_closed: false, is_stdout_unread: false, is_stderr_unread: false }
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working directory of the daemon.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Closes the read end of the daemon's standard output.
    pub(crate) fn with_closed_stdout(mut self) -> Self {
        self.is_stdout_closed = true;
        self
    }

    /// Leaves standard output unread until [`Daemon::start_reading`] is called. The pipe stays open.
    pub(crate) fn with_unread_stdout(mut self) -> Self {
        self.is_stdout_unread = true;
        self
    }

    /// Leaves standard error, to which the daemon logs, unread. The pipe stays open.
    pub(crate) fn with_unread_stderr(mut self) -> Self {
        self.is_stderr_unread = true;
        self
    }

    pub(crate) fn start(mut self) -> Daemon {
        let mut child =
            self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let pid = child.id();
        let (exit_sender, exit) = mpsc::channel();
        thread::spawn(move || {
            let code = child.wait().unwrap().code();
            // If the test has failed, the receiver is dropped, and `send` returns an error.
            let _ = exit_sender.send((code, Instant::now()));
        });
        let (reading_sender, reading_receiver) = mpsc::channel();
        let output =
            if self.is_stdout_closed { mpsc::channel().1 } else { read_frames(stdout.unwrap(), reading_receiver) };
        let (stderr_lines, unread_log) = match stderr {
            Some(stderr) if !self.is_stderr_unread => (read_lines(stderr), None),
            stderr => (mpsc::channel().1, stderr),
        };
        let mut daemon = Daemon {
            pid,
            stdin,
            output,
            stderr_lines,
            exit,
            reading_sender,
            _unread_log: unread_log,
            lines: Vec::new(),
            probes: 0,
            has_ended: false,
        };
        if !self.is_stdout_unread {
            daemon.start_reading();
        }
        daemon
    }
}

/// Returns the command of the program without arguments. The environment variables that the program reads are unset.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duet-rpc"));
    command.env_remove("DUET_RPC_LOG").env_remove("NO_COLOR");
    command
}

/// An event of standard output.
enum Output {
    Frame(String),
    /// Bytes that are not a frame, or an incomplete frame at the end of the output.
    Other(String),
}

/// Starts a thread that reads the frames of standard output. The thread begins to read when `gate` receives a message.
fn read_frames(mut stdout: ChildStdout, gate: Receiver<()>) -> Receiver<Output> {
    let (sender, output) = mpsc::channel();
    thread::spawn(move || {
        // If the test has failed, the sender is dropped, and `recv` returns an error.
        let _ = gate.recv();
        let mut buffer = Vec::new();
        let mut piece = vec![0; 65_536];
        loop {
            let count = stdout.read(&mut piece).unwrap();
            buffer.extend_from_slice(&piece[..count]);
            loop {
                let event = match split_frame(&buffer) {
                    Ok(None) if count == 0 && !buffer.is_empty() => {
                        Output::Other(String::from_utf8_lossy(&std::mem::take(&mut buffer)).into_owned())
                    }
                    Ok(None) => break,
                    Ok(Some((text, length))) => {
                        buffer.drain(..length);
                        Output::Frame(text)
                    }
                    Err(problem) => {
                        buffer.clear();
                        Output::Other(problem)
                    }
                };
                let _ = sender.send(event);
            }
            if count == 0 {
                return;
            }
        }
    });
    output
}

fn read_lines(stderr: ChildStderr) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).split(b'\n') {
            let _ = sender.send(String::from_utf8_lossy(&line.unwrap()).into_owned());
        }
    });
    lines
}

/// A running daemon. A test must call `close_and_expect_exit`, `wait_for_exit` or `wait_for_exit_unread`.
pub(crate) struct Daemon {
    pub(crate) pid: u32,
    stdin: Option<ChildStdin>,
    output: Receiver<Output>,
    stderr_lines: Receiver<String>,
    exit: Receiver<(Option<i32>, Instant)>,
    reading_sender: Sender<()>,
    /// The read end of standard error. The pipe must stay open, although the test does not read it.
    _unread_log: Option<ChildStderr>,
    /// All lines of standard error that the test has read so far.
    lines: Vec<String>,
    probes: u32,
    has_ended: bool,
}

/// The exit and the remaining output of a daemon.
#[derive(Debug)]
pub(crate) struct Ending {
    /// The exit code, or `None` if a signal killed the daemon.
    pub(crate) code: Option<i32>,
    /// The time of the exit.
    pub(crate) at: Instant,
    /// The answers that the test had not read before the exit.
    pub(crate) answers: Vec<Answer>,
    /// All lines of standard error.
    pub(crate) lines: Vec<String>,
}

impl Ending {
    /// Asserts that the daemon exited with code 0 and without further answers, at most [`GRACE`] after `trigger`.
    pub(crate) fn assert_graceful_since(&self, trigger: Instant) {
        self.assert_graceful();
        let took = self.at.saturating_duration_since(trigger);
        assert!(took < GRACE, "the exit must take less than {GRACE:?}, took {took:?}");
    }

    /// Asserts that the daemon exited with code 0 and without further answers.
    pub(crate) fn assert_graceful(&self) {
        assert_eq!(self.code, Some(0), "{:#?}", self.lines);
        assert!(self.answers.is_empty(), "{:#?}", self.answers);
    }
}

impl Daemon {
    /// Starts `duet-rpc rpc` with these arguments.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Builder::new(&[&["rpc"], arguments].concat()).start()
    }

    /// Writes bytes unchanged. If the pipe has too little space, this call blocks.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap_or_else(|| panic!("the input of the daemon was closed"));
        stdin.write_all(bytes.as_ref()).unwrap();
        stdin.flush().unwrap();
    }

    /// Begins to read standard output.
    pub(crate) fn start_reading(&mut self) {
        // If the builder has closed standard output, the receiver is dropped, and `send` returns an error.
        let _ = self.reading_sender.send(());
    }

    /// Sends `body` in a frame.
    pub(crate) fn send(&mut self, body: impl AsRef<[u8]>) {
        self.write(frame(body));
    }

    /// Sends `body` in a frame, and returns the next answer.
    pub(crate) fn ask(&mut self, body: impl AsRef<[u8]>) -> Answer {
        self.send(body);
        self.answer()
    }

    /// Waits for the next answer, and returns this answer.
    pub(crate) fn answer(&mut self) -> Answer {
        match self.output.recv_timeout(TEST_TIMEOUT) {
            Ok(Output::Frame(text)) => Answer::read(text),
            Ok(Output::Other(text)) => panic!("on standard output: {text}"),
            Err(RecvTimeoutError::Timeout) => panic!("no answer; logged: {:#?}", self.log_so_far()),
            Err(RecvTimeoutError::Disconnected) => panic!("the daemon has ended; logged: {:#?}", self.log_so_far()),
        }
    }

    /// Waits until the daemon serves requests.
    pub(crate) fn wait_until_serving(&mut self) {
        self.assert_no_pending_answer();
    }

    /// Asserts that no further answer is pending, and that the daemon serves a request. Answers arrive in the order of
    /// their requests, so the next answer must belong to this request.
    pub(crate) fn assert_no_pending_answer(&mut self) {
        let id = self.probe();
        let answer = self.answer();
        assert_eq!(answer.id(), id, "an unexpected answer: {}", answer.text);
        assert!(answer.result()["version"].is_string(), "{}", answer.text);
    }

    /// Sends a valid request with a new id, and returns the id.
    pub(crate) fn probe(&mut self) -> String {
        self.probes += 1;
        let id = format!("\"probe {}\"", self.probes);
        self.send(request(&id, "version"));
        id
    }

    /// Sends `bytes` and returns the answer. Asserts that the daemon sends no second answer to `bytes`, and that the
    /// daemon serves a valid frame after `bytes`.
    pub(crate) fn send_and_expect_one_answer(&mut self, bytes: impl AsRef<[u8]>) -> Answer {
        self.write(bytes);
        let answer = self.answer();
        self.assert_no_pending_answer();
        answer
    }

    /// Waits for a line on standard error that contains all of `parts`, and returns this line.
    pub(crate) fn wait_for_log_line(&mut self, parts: &[&str]) -> String {
        self.wait_for_log_line_within(TEST_TIMEOUT, parts)
    }

    /// Waits for a line as [`Self::wait_for_log_line`] does, up to `limit`.
    pub(crate) fn wait_for_log_line_within(&mut self, limit: Duration, parts: &[&str]) -> String {
        let deadline = Instant::now() + limit;
        loop {
            match self.stderr_lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.lines.push(line.clone());
                    if parts.iter().all(|part| line.contains(part)) {
                        return line;
                    }
                }
                Err(_) => panic!("no line with {parts:?} in {:#?}", self.lines),
            }
        }
    }

    /// Sends a signal to the daemon. `name` is the name of the signal without `SIG`.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid, name);
    }

    /// Closes the input of the daemon.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Closes the input, and asserts that the daemon then exits with code 0 and without further answers. Returns the
    /// lines of standard error.
    pub(crate) fn close_and_expect_exit(mut self) -> Vec<String> {
        let trigger = Instant::now();
        self.close_input();
        let ending = self.wait_for_exit();
        ending.assert_graceful_since(trigger);
        ending.lines
    }

    /// Waits for the exit of the daemon. Returns the exit and the remaining output.
    pub(crate) fn wait_for_exit(mut self) -> Ending {
        self.has_ended = true;
        let Ok((code, at)) = self.exit.recv_timeout(TEST_TIMEOUT) else {
            signal(self.pid, "KILL");
            panic!("the daemon did not exit; logged: {:#?}", self.log_so_far());
        };
        let mut answers = Vec::new();
        for output in self.output.iter() {
            match output {
                Output::Frame(text) => answers.push(Answer::read(text)),
                Output::Other(text) => panic!("on standard output: {text}"),
            }
        }
        self.lines.extend(self.stderr_lines.iter());
        for line in &self.lines {
            assert!(!line.contains("panicked") && !line.contains("RUST_BACKTRACE"), "{:#?}", self.lines);
        }
        Ending { code, at, answers, lines: std::mem::take(&mut self.lines) }
    }

    /// Waits for the exit of the daemon without reading its output. Returns the exit code and the time of the exit.
    pub(crate) fn wait_for_exit_unread(mut self) -> (Option<i32>, Instant) {
        self.has_ended = true;
        self.exit.recv_timeout(TEST_TIMEOUT).unwrap_or_else(|_| {
            signal(self.pid, "KILL");
            panic!("the daemon did not exit");
        })
    }

    /// Returns the lines of the log that have arrived so far.
    fn log_so_far(&mut self) -> &[String] {
        self.lines.extend(self.stderr_lines.try_iter());
        &self.lines
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        signal(self.pid, "KILL");
        assert!(thread::panicking(), "a test must wait for the exit of its daemon");
    }
}

/// Sends a signal to a process that this test has started. `name` is the name of the signal without `SIG`.
fn signal(pid: impl Display, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {pid} 2>/dev/null")]).status().unwrap();
    assert!(sent.success() || name == "KILL", "process {pid} does not exist");
}
