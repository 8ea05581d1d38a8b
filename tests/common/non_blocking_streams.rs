//! Processes whose standard streams become non-blocking: before the process starts, just after its start, or while it
//! waits for input.
//!
//! `O_NONBLOCK` is a flag of the open file description, which all duplicates of a descriptor share. So a test that has
//! a duplicate of a descriptor of the process can set the flag at any time.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::retry_on_intr;

/// Maximum time of one wait in a test. It is long enough for a slow machine.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum bytes of one read.
const CHUNK: usize = 64 * 1024;

/// The time at which `O_NONBLOCK` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    BeforeTheStart,
    /// Just after the start of the process.
    AtTheStart,
    /// While the process waits for input.
    Later,
}

impl When {
    pub const ALL: [Self; 3] = [Self::BeforeTheStart, Self::AtTheStart, Self::Later];
}

/// The streams on which `O_NONBLOCK` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    Input,
    Output,
    Both,
}

impl Streams {
    pub const ALL: [Self; 3] = [Self::Input, Self::Output, Self::Both];
}

/// The kind of the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Pipes,
    Sockets,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Pipes, Self::Sockets];

    /// Returns the end for reading and the end for writing.
    pub fn make(self) -> (OwnedFd, OwnedFd) {
        match self {
            Self::Pipes => {
                let (reader, writer) = io::pipe().unwrap();
                (reader.into(), writer.into())
            }
            Self::Sockets => {
                let (reader, writer) = UnixStream::pair().unwrap();
                reader.shutdown(Shutdown::Write).unwrap();
                (reader.into(), writer.into())
            }
        }
    }
}

pub fn set_nonblocking(descriptor: &impl AsFd) {
    let flags = fcntl_getfl(descriptor).unwrap();
    fcntl_setfl(descriptor, flags | OFlags::NONBLOCK).unwrap();
}

pub fn is_nonblocking(descriptor: &impl AsFd) -> bool {
    fcntl_getfl(descriptor).unwrap().contains(OFlags::NONBLOCK)
}

/// Waits until a descriptor is ready, for at most [`TEST_TIMEOUT`].
fn until_ready(descriptor: &impl AsFd, readiness: PollFlags) {
    let limit = Timespec { tv_sec: TEST_TIMEOUT.as_secs() as i64, tv_nsec: 0 };
    // A signal, for example after the exit of a child, can interrupt `poll`.
    let ready = retry_on_intr(|| poll(&mut [PollFd::new(descriptor, readiness)], Some(&limit))).unwrap();
    assert!(ready > 0, "the descriptor must be ready within {TEST_TIMEOUT:?}");
}

/// Waits for bytes and reads them into `buffer`. Returns the number of bytes, or 0 at the end of the stream.
pub fn read_some(reader: &OwnedFd, buffer: &mut [u8]) -> usize {
    until_ready(reader, PollFlags::IN);
    rustix::io::read(reader, buffer).unwrap()
}

/// Reads to the end of the stream, with a pause after each read.
pub fn read_to_end(reader: &OwnedFd) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match read_some(reader, &mut chunk) {
            0 => return bytes,
            count => bytes.extend_from_slice(&chunk[..count]),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Writes all bytes to a non-blocking descriptor of the test.
pub fn write_all(writer: &OwnedFd, bytes: &[u8]) {
    let mut rest = bytes;
    while !rest.is_empty() {
        until_ready(writer, PollFlags::OUT);
        match rustix::io::write(writer, rest) {
            Ok(count) => rest = &rest[count..],
            Err(rustix::io::Errno::AGAIN) => {}
            Err(error) => panic!("the process does not read its input: {error}"),
        }
    }
}

/// A program that answers each request.
#[derive(Clone, Copy)]
pub struct Subject {
    pub command: fn() -> Command,
    /// The last bytes of the output before the first answer.
    pub preamble: &'static [u8],
    /// Returns the bytes of a request with this payload.
    pub request: fn(&str) -> Vec<u8>,
    /// Returns the bytes of the answer to a request with this payload.
    pub answer: fn(&str) -> Vec<u8>,
}

/// A running program, with the ends of its streams that the test uses.
pub struct Running {
    subject: Subject,
    child: Child,
    /// `None` after the test has closed the input.
    input: Option<OwnedFd>,
    output: OwnedFd,
    /// Duplicates of the descriptors of the process, on which the test sets `O_NONBLOCK`.
    duplicates: Vec<OwnedFd>,
    /// The number of requests that [`Self::exchange`] has sent.
    sent: usize,
}

impl Running {
    /// Starts the program, and sets `O_NONBLOCK` on `streams`, unless `when` is [`When::Later`].
    pub fn start(subject: Subject, streams: Streams, when: When, kind: Kind) -> Self {
        let mut running = Self::start_as((subject.command)(), subject, streams, kind, when == When::BeforeTheStart);
        if when == When::AtTheStart {
            running.set_nonblocking();
        }
        running
    }

    fn start_as(mut command: Command, subject: Subject, streams: Streams, kind: Kind, is_nonblocking: bool) -> Self {
        let (their_input, input) = kind.make();
        let (output, their_output) = kind.make();
        let mut duplicates = Vec::new();
        if streams != Streams::Output {
            duplicates.push(their_input.try_clone().unwrap());
        }
        if streams != Streams::Input {
            duplicates.push(their_output.try_clone().unwrap());
        }
        if is_nonblocking {
            duplicates.iter().for_each(set_nonblocking);
        }
        set_nonblocking(&input);
        set_nonblocking(&output);
        let child = command.stdin(their_input).stdout(their_output).spawn().unwrap();
        Self { subject, child, input: Some(input), output, duplicates, sent: 0 }
    }

    pub fn set_nonblocking(&mut self) {
        self.duplicates.iter().for_each(set_nonblocking);
    }

    pub fn input(&self) -> &OwnedFd {
        self.input.as_ref().unwrap()
    }

    /// Reads the output before the first answer.
    pub fn read_preamble(&self) {
        let mut written = Vec::new();
        while !written.ends_with(self.subject.preamble) {
            let mut byte = [0];
            assert_eq!(
                read_some(&self.output, &mut byte),
                1,
                "the output must not end before the preamble, got {}",
                String::from_utf8_lossy(&written)
            );
            written.push(byte[0]);
        }
    }

    /// Sends a request whose payload has `bytes` bytes, and reads the answer. Writes the request in pieces of
    /// `piece_bytes` bytes, with a pause after each piece.
    pub fn exchange(&mut self, bytes: usize, piece_bytes: usize) {
        let payload = payload(self.sent, bytes);
        self.sent += 1;
        let request = (self.subject.request)(&payload);
        let input = self.input.as_ref().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                for piece in request.chunks(piece_bytes) {
                    write_all(input, piece);
                    thread::sleep(Duration::from_millis(3));
                }
            });
            self.expect(&payload, Duration::from_micros(200));
        });
    }

    /// Reads the answer to a request with this payload, with a pause after each read. Asserts that the answer is
    /// correct.
    pub fn expect(&self, payload: &str, pause: Duration) {
        let answer = (self.subject.answer)(payload);
        let mut rest = &answer[..];
        let mut chunk = vec![0; CHUNK];
        while !rest.is_empty() {
            let most = rest.len().min(CHUNK);
            let count = read_some(&self.output, &mut chunk[..most]);
            assert_ne!(count, 0, "the output ended {} bytes before the end of an answer", rest.len());
            let (expected, after) = rest.split_at(count);
            assert!(chunk[..count] == *expected, "an answer differs within its last {} bytes", rest.len());
            rest = after;
            thread::sleep(pause);
        }
    }

    /// Closes the input. Asserts that the program exits with code 0, writes no further output, and has not changed
    /// `O_NONBLOCK`.
    pub fn finish(mut self) {
        assert!(self.duplicates.iter().all(is_nonblocking), "the program must not change the flag");
        self.duplicates.clear();
        self.input = None;
        let rest = read_to_end(&self.output);
        assert!(rest.is_empty(), "the program must write no further output, got {}", String::from_utf8_lossy(&rest));
        assert!(self.end().success());
    }

    /// Waits until the program exits. Returns its exit status.
    pub fn end(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < TEST_TIMEOUT, "the program must exit within {TEST_TIMEOUT:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for `time`. Returns the processor time that the program used during the wait, or zero on a system without
    /// `/proc`.
    pub fn processor_time_within(&self, time: Duration) -> Duration {
        let before = processor_time(self.child.id());
        thread::sleep(time);
        processor_time(self.child.id()) - before
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If the test has failed, the program may still run.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the user and system time of all threads of a process: fields 14 and 15 of proc_pid_stat(5), in ticks of
/// 10 ms.
fn processor_time(process: u32) -> Duration {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return Duration::ZERO };
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let ticks: u64 = fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// Returns a text of this length. The text contains `number` and positions, so that a missing part changes the text.
pub fn payload(number: usize, bytes: usize) -> String {
    let mut text = format!("{number} ");
    while text.len() < bytes {
        text.push_str(&format!("{number:03}-{:08} the quick brown fox jumps over the lazy dog, ", text.len()));
    }
    text.truncate(bytes);
    text
}

/// Checks exchanges of small and large messages. The test writes the input in pieces, and reads the output slowly.
pub fn serves(subject: Subject, streams: Streams, when: When, kind: Kind) {
    let mut running = Running::start(subject, streams, when, kind);
    running.read_preamble();
    // During this pause, the program reads, but no input is available. The program must not assume that its input
    // has ended.
    thread::sleep(Duration::from_millis(20));
    running.exchange(10, usize::MAX);
    if when == When::Later {
        running.set_nonblocking();
    }
    running.exchange(100, 30);
    running.exchange(700_001, 100_000);
    running.exchange(10, usize::MAX);
    running.finish();
}

/// Runs [`serves`] for each time, each choice of streams and each kind of stream.
pub fn serves_whenever_the_flag_is_set(subject: Subject) {
    for when in When::ALL {
        thread::scope(|scope| {
            for (streams, kind) in Streams::ALL.into_iter().flat_map(|streams| Kind::ALL.map(|kind| (streams, kind))) {
                let name = format!("{streams:?} {when:?} {kind:?}");
                thread::Builder::new()
                    .name(name)
                    .spawn_scoped(scope, move || serves(subject, streams, when, kind))
                    .unwrap();
            }
        });
    }
}

/// Maximum processor time that a process uses within [`WATCHED`] while it can neither read nor write.
const IDLE: Duration = Duration::from_millis(30);
/// The length of the period in which a test measures the processor time of a process.
const WATCHED: Duration = Duration::from_millis(400);

/// Checks 100 MB of input and 100 MB of output. The test does not read at first, and then reads slowly.
pub fn carries_100_megabytes_each_way(subject: Subject) {
    const MESSAGES: usize = 128;
    let sizes = (0..MESSAGES).map(|number| 700_000 + number * 1_283);
    assert!(sizes.clone().sum::<usize>() > 100_000_000);
    let mut running = Running::start(subject, Streams::Both, When::BeforeTheStart, Kind::Pipes);
    running.read_preamble();
    running.exchange(10, usize::MAX);
    let idle = running.processor_time_within(WATCHED);
    assert!(idle <= IDLE, "while the program waits for input, it uses {idle:?} of {WATCHED:?}");
    let payloads: Vec<String> = sizes.enumerate().map(|(number, size)| payload(number, size)).collect();
    thread::scope(|scope| {
        let input = running.input();
        let writer = scope.spawn(|| payloads.iter().for_each(|payload| write_all(input, &(subject.request)(payload))));
        // This loop waits until the program can neither write nor buffer more input.
        let start = Instant::now();
        let mut used = WATCHED;
        while used > IDLE {
            assert!(start.elapsed() < TEST_TIMEOUT, "while the program waits, it uses {used:?} of {WATCHED:?}");
            used = running.processor_time_within(WATCHED);
        }
        assert!(!writer.is_finished(), "the program must not buffer the whole input");
        payloads.iter().for_each(|payload| running.expect(payload, Duration::from_micros(300)));
    });
    running.finish();
}

/// A script for Node that starts a program. The program inherits the standard streams of the script. The script uses
/// these streams at the start of the program, or at the signal SIGUSR2. By this use, Node makes them non-blocking.
const WRAPPER: &str = "
    const [when, program, ...rest] = process.argv.slice(1);
    const touch = () => [process.stdin, process.stdout];
    process.on('SIGUSR2', touch);
    const child = require('node:child_process').spawn(program, rest, { stdio: 'inherit' });
    child.on('spawn', () => when === 'start' && touch());
    child.on('exit', (code) => process.exit(code ?? 99));
";

/// Returns a command that runs `WRAPPER`, which starts the program. Returns `None` if Node is not installed.
pub fn command_under_node(command: &Command, when: When) -> Option<Command> {
    if Command::new("node").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("node is not in PATH: this test is skipped");
        return None;
    }
    let mut wrapper = Command::new("node");
    wrapper.args(["-e", WRAPPER, "--", if when == When::AtTheStart { "start" } else { "signal" }]);
    wrapper.arg(command.get_program()).args(command.get_args().map(OsString::from));
    wrapper.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(wrapper)
}

/// Waits until Node has set `O_NONBLOCK` on the open file description of this descriptor.
pub fn until_nonblocking(descriptor: &impl AsFd) {
    let start = Instant::now();
    while !is_nonblocking(descriptor) {
        assert!(start.elapsed() < TEST_TIMEOUT, "Node must set the flag within {TEST_TIMEOUT:?}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Checks exchanges with a program that a script for Node has started.
pub fn serves_under_node(subject: Subject) {
    for when in [When::AtTheStart, When::Later] {
        let Some(command) = command_under_node(&(subject.command)(), when) else { return };
        let mut running = Running::start_as(command, subject, Streams::Both, Kind::Pipes, false);
        running.read_preamble();
        if when == When::Later {
            running.exchange(10, usize::MAX);
            let process = rustix::process::Pid::from_child(&running.child);
            rustix::process::kill_process(process, rustix::process::Signal::USR2).unwrap();
        }
        running.duplicates.iter().for_each(until_nonblocking);
        running.exchange(10, usize::MAX);
        running.exchange(2_000_001, 100_000);
        // Node changes the flag when it exits, so `finish` must not check the flag.
        running.duplicates.clear();
        running.finish();
    }
}

/// Runs a command with this input until the command exits. Its standard input and output are of this kind, and become
/// non-blocking at the time `when`. Returns the exit code and the output.
pub fn run(mut command: Command, input: &[u8], when: When, kind: Kind) -> (Option<i32>, Vec<u8>) {
    let (their_input, our_input) = kind.make();
    let (our_output, their_output) = kind.make();
    let duplicates = [their_input.try_clone().unwrap(), their_output.try_clone().unwrap()];
    if when == When::BeforeTheStart {
        duplicates.iter().for_each(set_nonblocking);
    }
    let mut child = command.stdin(their_input).stdout(their_output).spawn().unwrap();
    // `command` has copies of the descriptors of the process. While a copy is open, the output does not end.
    drop(command);
    if when == When::AtTheStart {
        duplicates.iter().for_each(set_nonblocking);
    }
    // In this pause, the process waits without input. In the pause of the thread below, the process waits after half of
    // its input.
    thread::sleep(Duration::from_millis(30));
    let (first, rest) = input.split_at(input.len() / 2);
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            write_all(&our_input, first);
            thread::sleep(Duration::from_millis(30));
            if when == When::Later {
                duplicates.iter().for_each(set_nonblocking);
            }
            drop(duplicates);
            rest.chunks(100_000).for_each(|piece| write_all(&our_input, piece));
        });
        thread::sleep(Duration::from_millis(30));
        read_to_end(&our_output)
    });
    (child.wait().unwrap().code(), output)
}

/// Runs a command with this input. Its standard input and output are files. Returns the exit code and the output.
pub fn run_with_files(command: &mut Command, input: &[u8], is_nonblocking: bool) -> io::Result<(Option<i32>, Vec<u8>)> {
    let folder = tempfile::tempdir()?;
    let path = |name| folder.path().join(name);
    fs::write(path("input"), input)?;
    let (their_input, their_output) = (fs::File::open(path("input"))?, fs::File::create(path("output"))?);
    if is_nonblocking {
        set_nonblocking(&their_input);
        set_nonblocking(&their_output);
    }
    let status = command.stdin(their_input).stdout(their_output).status()?;
    Ok((status.code(), fs::read(path("output"))?))
}
