//! A running daemon: its input, its answers, its log and its end.
//!
//! Each output has a thread of its own that reads it, so a test waits for an event and never for a time. Every test
//! ends with the check that standard output carried frames and nothing else, and that nothing panicked.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::frames::{Answer, frame, request, split_frame};

/// How long something may take that should take no time, on a machine that is busy with other tests.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the daemon may take to end.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// A daemon to be started.
pub(crate) struct Builder {
    command: Command,
    deaf: bool,
    unread: bool,
    mute: bool,
}

impl Builder {
    /// `duet-rpc` with these arguments, and without the variables that it listens to.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        let mut command = program();
        command.args(arguments);
        Self { command, deaf: false, unread: false, mute: false }
    }

    /// Starts `duet-rpc` from a parent that ignored a signal, as `nohup` does.
    pub(crate) fn ignoring(signal: &str) -> Self {
        let mut command = Command::new("sh");
        let script = format!("trap '' {signal}; exec \"$0\" rpc");
        command.args(["-c", &script]).arg(program().get_program()).env_remove("DUET_RPC_LOG");
        Self { command, deaf: false, unread: false, mute: false }
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Starts it without a reader of its standard output.
    pub(crate) fn deaf(mut self) -> Self {
        self.deaf = true;
        self
    }

    /// Starts it without a reader of its standard output until [`Daemon::read_on`].
    pub(crate) fn unread(mut self) -> Self {
        self.unread = true;
        self
    }

    /// Starts it without a reader of its log.
    pub(crate) fn mute(mut self) -> Self {
        self.mute = true;
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
            // The receiver is gone once the test has failed.
            let _ = exit_sender.send((code, Instant::now()));
        });
        let (read_on, gate) = mpsc::channel();
        let output = if self.deaf { mpsc::channel().1 } else { read_frames(stdout.unwrap(), gate) };
        let (errors, unread_log) = match stderr {
            Some(stderr) if !self.mute => (read_lines(stderr), None),
            stderr => (mpsc::channel().1, stderr),
        };
        let mut daemon = Daemon {
            pid,
            stdin,
            output,
            errors,
            exit,
            read_on,
            _unread_log: unread_log,
            lines: Vec::new(),
            probes: 0,
            has_ended: false,
        };
        if !self.unread {
            daemon.read_on();
        }
        daemon
    }
}

/// The program without arguments, and without the variables that it listens to.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duet-rpc"));
    command.env_remove("DUET_RPC_LOG").env_remove("NO_COLOR");
    command
}

/// An event of standard output.
enum Output {
    Frame(String),
    /// Bytes that are not a frame, or the rest if the output ended inside a frame.
    Other(String),
}

/// Reads from when something comes through `gate`.
fn read_frames(mut stdout: ChildStdout, gate: Receiver<()>) -> Receiver<Output> {
    let (sender, output) = mpsc::channel();
    thread::spawn(move || {
        // It is never sent anything if the test has failed.
        let _ = gate.recv();
        let mut held = Vec::new();
        let mut piece = vec![0; 65_536];
        loop {
            let count = stdout.read(&mut piece).unwrap();
            held.extend_from_slice(&piece[..count]);
            loop {
                let found = match split_frame(&held) {
                    Ok(None) if count == 0 && !held.is_empty() => {
                        Output::Other(String::from_utf8_lossy(&std::mem::take(&mut held)).into_owned())
                    }
                    Ok(None) => break,
                    Ok(Some((text, length))) => {
                        held.drain(..length);
                        Output::Frame(text)
                    }
                    Err(problem) => {
                        held.clear();
                        Output::Other(problem)
                    }
                };
                let _ = sender.send(found);
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

/// A running daemon. A test ends it, and looks at how it ended.
pub(crate) struct Daemon {
    pub(crate) pid: u32,
    stdin: Option<ChildStdin>,
    output: Receiver<Output>,
    errors: Receiver<String>,
    exit: Receiver<(Option<i32>, Instant)>,
    read_on: Sender<()>,
    _unread_log: Option<ChildStderr>,
    /// The log lines that a test has waited for.
    lines: Vec<String>,
    probes: u32,
    has_ended: bool,
}

/// How a daemon ended.
#[derive(Debug)]
pub(crate) struct Ending {
    /// Its exit code; `None` if a signal killed it.
    pub(crate) code: Option<i32>,
    pub(crate) at: Instant,
    /// The answers that no test had waited for.
    pub(crate) answers: Vec<Answer>,
    /// Everything on standard error.
    pub(crate) lines: Vec<String>,
}

impl Ending {
    /// Asserts that it ended with success and without further answers, within the grace since `trigger`.
    pub(crate) fn is_graceful_since(&self, trigger: Instant) {
        self.is_graceful();
        let took = self.at.saturating_duration_since(trigger);
        assert!(took < GRACE, "it took {took:?}");
    }

    /// Asserts that it ended with success and without further answers.
    pub(crate) fn is_graceful(&self) {
        assert_eq!(self.code, Some(0), "{:#?}", self.lines);
        assert!(self.answers.is_empty(), "{:#?}", self.answers);
    }
}

impl Daemon {
    /// `duet-rpc rpc` with these arguments.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Builder::new(&[&["rpc"], arguments].concat()).start()
    }

    /// Writes bytes as they are, in one go if the pipe takes them.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap_or_else(|| panic!("its input was closed"));
        stdin.write_all(bytes.as_ref()).unwrap();
        stdin.flush().unwrap();
    }

    /// Begins to read its standard output.
    pub(crate) fn read_on(&mut self) {
        // The receiver is gone if the test does not read.
        let _ = self.read_on.send(());
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

    /// The next answer.
    pub(crate) fn answer(&mut self) -> Answer {
        match self.output.recv_timeout(TEST_TIMEOUT) {
            Ok(Output::Frame(text)) => Answer::read(text),
            Ok(Output::Other(text)) => panic!("on standard output: {text}"),
            Err(RecvTimeoutError::Timeout) => panic!("no answer; logged: {:#?}", self.so_far()),
            Err(RecvTimeoutError::Disconnected) => panic!("it has ended; logged: {:#?}", self.so_far()),
        }
    }

    /// That everything has been answered that will be, and that it serves. Answers come in the order of requests, so
    /// the answer to one more request is the next.
    pub(crate) fn is_quiet(&mut self) {
        let id = self.probe();
        let answer = self.answer();
        assert_eq!(answer.id(), id, "an answer that nobody waits for: {}", answer.text);
        assert!(answer.result()["version"].is_string(), "{}", answer.text);
    }

    /// Sends a good request. Returns the id of its answer.
    pub(crate) fn probe(&mut self) -> String {
        self.probes += 1;
        let id = format!("\"probe {}\"", self.probes);
        self.send(request(&id, "version"));
        id
    }

    /// Asserts that `bytes` get exactly the given answer, and that the good frame after them is served.
    pub(crate) fn answers_once(&mut self, bytes: impl AsRef<[u8]>) -> Answer {
        self.write(bytes);
        let answer = self.answer();
        self.is_quiet();
        answer
    }

    /// Waits for a line on standard error that holds all of `parts`, and returns it.
    pub(crate) fn logs(&mut self, parts: &[&str]) -> String {
        self.logs_within(TEST_TIMEOUT, parts)
    }

    /// Waits longer than usual.
    pub(crate) fn logs_within(&mut self, patience: Duration, parts: &[&str]) -> String {
        let deadline = Instant::now() + patience;
        loop {
            match self.errors.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
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

    /// Sends it a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid, name);
    }

    /// Ends its input.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Ends its input, and waits until it has ended well: without a further answer.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let trigger = Instant::now();
        self.close();
        let ending = self.end();
        ending.is_graceful_since(trigger);
        ending.lines
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ending {
        self.has_ended = true;
        let Ok((code, at)) = self.exit.recv_timeout(TEST_TIMEOUT) else {
            signal(self.pid, "KILL");
            panic!("it did not end; logged: {:#?}", self.so_far());
        };
        let mut answers = Vec::new();
        for output in self.output.iter() {
            match output {
                Output::Frame(text) => answers.push(Answer::read(text)),
                Output::Other(text) => panic!("on standard output: {text}"),
            }
        }
        self.lines.extend(self.errors.iter());
        for line in &self.lines {
            assert!(!line.contains("panicked") && !line.contains("RUST_BACKTRACE"), "{:#?}", self.lines);
        }
        Ending { code, at, answers, lines: std::mem::take(&mut self.lines) }
    }

    /// Waits for its end, with its output unread. Returns the exit code, and the time.
    pub(crate) fn end_unread(mut self) -> (Option<i32>, Instant) {
        self.has_ended = true;
        self.exit.recv_timeout(TEST_TIMEOUT).unwrap_or_else(|_| {
            signal(self.pid, "KILL");
            panic!("it did not end");
        })
    }

    /// Returns the log so far.
    fn so_far(&mut self) -> &[String] {
        self.lines.extend(self.errors.try_iter());
        &self.lines
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        signal(self.pid, "KILL");
        assert!(thread::panicking(), "the test did not look at how the daemon ended");
    }
}

/// Sends a signal to a process of ours, by its name without `SIG`.
fn signal(pid: impl Display, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {pid} 2>/dev/null")]).status().unwrap();
    assert!(sent.success() || name == "KILL", "there is no process {pid}");
}
