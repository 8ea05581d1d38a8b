//! `portway tap -- PROGRAM`: the bytes, the records, and the end of the program.

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use portway::Framing;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::command::{TEST_TIMEOUT, Test};
use crate::program_trees::{SHAPES, Shape, Tree};
use crate::random::Random;

/// A running `portway tap`, whose standard streams are pipes.
pub(crate) struct Tapping {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
}

impl Tapping {
    pub(crate) fn start(arguments: &[&str]) -> std::io::Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portway"));
        command.arg("tap").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        Ok(Self { stdin: child.stdin.take(), stdout: child.stdout.take(), child })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stdin.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?.write_all(bytes)
    }

    /// Reads exactly this number of bytes.
    pub(crate) fn read(&mut self, count: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.stdout.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn signal(&self, signal: Signal) -> Test {
        let process = Pid::from_raw(i32::try_from(self.child.id())?).ok_or("no process")?;
        Ok(kill_process(process, signal)?)
    }

    /// Closes the input, and waits for the exit. Returns the exit code, the rest of the output, and standard error.
    pub(crate) fn end(mut self) -> Result<Ended, Box<dyn Error>> {
        drop(self.stdin.take());
        let mut stderr = self.child.stderr.take().ok_or("no standard error")?;
        let stdout = self.stdout.take();
        let errors = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).map(|_| text)
        });
        let mut output = Vec::new();
        if let Some(mut stdout) = stdout {
            stdout.read_to_end(&mut output)?;
        }
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if start.elapsed() > TEST_TIMEOUT {
                return Err("the command has not exited".into());
            }
            thread::sleep(Duration::from_millis(5));
        };
        let text = errors.join().map_err(|_| "the thread panicked")??;
        Ok((status.code(), output, text))
    }
}

impl Drop for Tapping {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The exit code, the output and standard error of a command.
type Ended = (Option<i32>, Vec<u8>, String);

pub(crate) fn records(file: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    Ok(fs::read_to_string(file)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Returns the texts of the messages in this direction.
pub(crate) fn texts(records: &[Value], direction: &str) -> Vec<String> {
    let wanted = |record: &&Value| record["kind"] == "message" && record["direction"] == direction;
    records.iter().filter(wanted).filter_map(|record| record["text"].as_str().map(str::to_owned)).collect()
}

/// Writes `input` in random pieces, and returns the output of the command. The program is `cat`.
fn passed(framing: &str, input: &[u8], random: &mut Random, file: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut tapping = Tapping::start(&["--framing", framing, "--to-file", file, "--", "cat"])?;
    let mut stdin = tapping.stdin.take().ok_or("no input")?;
    let pieces = random.pieces(input);
    let writer = thread::spawn(move || pieces.into_iter().try_for_each(|piece| stdin.write_all(&piece)));
    let (code, output, stderr) = tapping.end()?;
    writer.join().map_err(|_| "the thread panicked")??;
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    Ok(output)
}

/// Returns the files in this folder of the corpus of `fuzz`.
pub(crate) fn corpus(name: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    files.sort();
    assert!(files.len() >= 20, "{files:?}");
    Ok(files)
}

#[test]
fn the_corpora_of_all_codecs_pass_unchanged_in_any_pieces() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("records.jsonl");
    let file = file.to_str().ok_or("no path")?;
    let mut random = Random::new();
    for (name, framings) in [
        ("content_length", &["auto", "content-length"][..]),
        ("newline", &["auto", "newline"]),
        ("wipc", &["auto", "wipc"]),
        ("json", &["auto"]),
        ("connection", &["auto"]),
        ("websocket", &["content-length"]),
    ] {
        // One stream contains all files, because each command takes some time to start. Random bytes separate the
        // files.
        let mut input = Vec::new();
        for path in corpus(name)? {
            input.extend(fs::read(path)?);
            if random.below(2) == 0 {
                let garbage = random.below(40);
                input.extend(random.bytes(garbage));
            }
        }
        for framing in framings {
            let output = passed(framing, &input, &mut random, file)?;
            assert!(output == input, "{name} {framing}: {} of {} bytes, {random}", output.len(), input.len());
            let records = records(Path::new(file))?;
            let kinds: Vec<_> = records.iter().filter_map(|record| record["kind"].as_str()).collect();
            assert_eq!((kinds.first(), kinds.last()), (Some(&"open"), Some(&"close")), "{name}");
        }
    }
    Ok(())
}

#[test]
fn ten_thousand_random_messages_are_recorded_unchanged_and_in_order() -> Test {
    const MESSAGES: usize = 10_000;
    const WINDOW: usize = 100;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("records.jsonl");
    let mut random = Random::new();
    for framing in [Framing::ContentLength, Framing::Newline] {
        let mut tapping = Tapping::start(&["--to-file", file.to_str().ok_or("no path")?, "--", "cat"])?;
        // The command has created the file when it passes the first byte.
        tapping.write(b"\n")?;
        tapping.read(1)?;
        let (mut reader, mut lines) = (fs::File::open(&file)?, 0);
        let mut sent = Vec::new();
        while sent.len() < MESSAGES {
            let messages: Vec<String> = (0..WINDOW).map(|index| message(&mut random, sent.len() + index)).collect();
            let mut bytes = Vec::new();
            messages.iter().for_each(|message| framing.encode(message, &mut bytes));
            for piece in random.pieces(&bytes) {
                tapping.write(&piece)?;
            }
            assert!(tapping.read(bytes.len())? == bytes, "{framing} {random}");
            sent.extend(messages);
            // The test waits for the records in the file. So the queue of the command is never full, and no record is
            // left out.
            let start = Instant::now();
            while lines < 2 * sent.len() {
                let mut more = Vec::new();
                reader.read_to_end(&mut more)?;
                lines += more.iter().filter(|byte| **byte == b'\n').count();
                assert!(start.elapsed() < TEST_TIMEOUT, "the records are not written, {random}");
                thread::sleep(Duration::from_millis(1));
            }
        }
        assert_eq!(tapping.end()?.0, Some(0));
        let records = records(&file)?;
        assert_eq!(records.len(), 2 * MESSAGES + 2, "{framing} {random}");
        for direction in ["sent", "received"] {
            assert!(texts(&records, direction) == sent, "{framing} {direction} {random}");
        }
        let times: Vec<_> = records.iter().filter_map(|record| record["at"].as_u64()).collect();
        assert_eq!(times.len(), records.len());
    }
    Ok(())
}

/// Returns a random request, notification, response, error or batch.
fn message(random: &mut Random, number: usize) -> String {
    let text: String = (0..random.below(60)).map(|_| random.character()).collect();
    let one = |kind: usize| match kind {
        0 => json!({ "jsonrpc": "2.0", "id": number, "method": text, "params": [text] }),
        1 => json!({ "jsonrpc": "2.0", "method": "log", "params": { "text": text } }),
        2 => json!({ "jsonrpc": "2.0", "id": format!("{number}"), "result": { "a": [1.5, null, text] } }),
        _ => json!({ "jsonrpc": "2.0", "id": number, "error": { "code": -32000, "message": text } }),
    };
    match random.below(5) {
        4 => Value::from((0..4).map(one).collect::<Vec<_>>()).to_string(),
        kind => one(kind).to_string(),
    }
}

#[test]
fn the_end_of_either_stream_is_passed_on() -> Test {
    // The program answers after its input has ended.
    let mut tapping = Tapping::start(&["--", "sh", "-c", "cat >/dev/null; sleep 0.1; echo after; exit 4"])?;
    tapping.write(b"input\n")?;
    let (code, output, _) = tapping.end()?;
    assert_eq!((code, output.as_slice()), (Some(4), &b"after\n"[..]));

    // The program closes its output, and then reads a line.
    let mut tapping = Tapping::start(&["--", "sh", "-c", "echo last; exec >&-; read -r line; test \"$line\" = go"])?;
    let mut output = String::new();
    tapping.stdout.take().ok_or("no output")?.read_to_string(&mut output)?;
    assert_eq!(output, "last\n");
    tapping.write(b"go\n")?;
    assert_eq!(tapping.end()?.0, Some(0));

    // The program closes its input, so a write fails as it would without the command.
    let mut tapping = Tapping::start(&["--", "sh", "-c", "exec <&-; echo closed; exec sleep 1000"])?;
    tapping.read(7)?;
    let start = Instant::now();
    while tapping.write(b"more input\n").is_ok() {
        assert!(start.elapsed() < TEST_TIMEOUT, "writes succeed although the program has closed its input");
        thread::sleep(Duration::from_millis(1));
    }
    tapping.signal(Signal::TERM)?;
    tapping.end()?;

    // The reader of standard output is gone, so the program gets an error.
    let mut tapping =
        Tapping::start(&["--", "sh", "-c", "trap '' PIPE; while echo line; do :; done 2>/dev/null; exit 9"])?;
    tapping.read(5)?;
    drop(tapping.stdout.take());
    assert_eq!(tapping.end()?.0, Some(9));
    Ok(())
}

#[test]
fn the_exit_status_of_the_program_is_passed_on() -> Test {
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
    {
        let (got, _, stderr) = Tapping::start(&["--", "sh", "-c", script])?.end()?;
        assert_eq!(got, Some(code), "{script}: {stderr}");
    }
    // A program that cannot be started has no status.
    let (code, _, stderr) = Tapping::start(&["--", "./does-not-exist"])?.end()?;
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("cannot start ./does-not-exist"), "{stderr}");
    let (code, _, stderr) = Tapping::start(&["--", "sh", "-c", "echo problem >&2"])?.end()?;
    assert_eq!(code, Some(0));
    assert!(stderr.contains("problem\n"), "the standard error of the program must pass: {stderr}");
    Ok(())
}

#[test]
fn all_output_of_an_exited_program_passes_to_a_slow_reader() -> Test {
    // The pipes hold less than the output.
    let mut tapping =
        Tapping::start(&["--to-file", "/dev/null", "--", "sh", "-c", "head -c 150000 /dev/zero; exit 5"])?;
    thread::sleep(Duration::from_millis(600));
    assert_eq!(tapping.read(150_000)?.len(), 150_000);
    assert_eq!(tapping.end()?.0, Some(5));
    Ok(())
}

#[test]
fn a_signal_ends_the_program_and_its_descendants() -> Test {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        for (shape, handles_term) in SHAPES.into_iter().zip([true, false].into_iter().cycle()) {
            // Two shapes need programs that may be missing. Only the tests of `portway call` use these shapes.
            if matches!(shape, Shape::Node | Shape::Npx) {
                continue;
            }
            let tree = Tree::new(shape, handles_term)?;
            let command = tree.command();
            let words: Vec<_> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
            let mut tapping = Tapping::start(&words)?;
            tapping.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"start\"}\n")?;
            tree.wait()?;
            tapping.signal(signal)?;
            assert_eq!(tapping.end()?.0, Some(code), "{shape:?}");
            assert_eq!(tree.processes_after(Duration::from_secs(10)), [""; 0], "{shape:?}");
        }
    }
    Ok(())
}

#[test]
fn a_second_signal_kills_a_program_that_ignores_the_first() -> Test {
    let mut tapping = Tapping::start(&["--", "sh", "-c", "trap '' TERM; echo there; while :; do sleep 0.05; done"])?;
    tapping.read(6)?;
    let start = Instant::now();
    // Until the command has handled the first signal, the system may merge a second signal with it. So the test sends
    // signals until the command has exited.
    while tapping.child.try_wait()?.is_none() {
        assert!(start.elapsed() < TEST_TIMEOUT, "the command has not exited");
        let _ = tapping.signal(Signal::INT);
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(tapping.end()?.0, Some(130));
    Ok(())
}

#[test]
fn a_descendant_that_keeps_the_output_open_does_not_keep_the_command_running() -> Test {
    let tapping = Tapping::start(&["--", "sh", "-c", "echo one; sleep 1000 & exit 3"])?;
    let start = Instant::now();
    let (code, output, _) = tapping.end()?;
    assert_eq!((code, output.as_slice()), (Some(3), &b"one\n"[..]));
    assert!(start.elapsed() < TEST_TIMEOUT / 2, "{:?}", start.elapsed());
    Ok(())
}

#[test]
fn a_stopped_reader_of_the_records_does_not_delay_the_bytes() -> Test {
    const MESSAGES: usize = 3_000;
    let folder = tempfile::tempdir()?;
    let fifo = folder.path().join("records");
    assert!(Command::new("mkfifo").arg(&fifo).status()?.success());
    let message = format!("{}\n", json!({ "jsonrpc": "2.0", "method": "m", "params": ["x".repeat(1_000)] }));
    // First, the FIFO has no reader. Then a reader opens the FIFO, and reads nothing until the end.
    for has_reader in [false, true] {
        let mut tapping = Tapping::start(&["--to-file", fifo.to_str().ok_or("no path")?, "--", "cat"])?;
        let path = fifo.clone();
        let reader = has_reader.then(|| thread::spawn(move || fs::File::open(path)));
        for _ in 0..MESSAGES {
            tapping.write(message.as_bytes())?;
            assert!(tapping.read(message.len())? == message.as_bytes());
        }
        let mut copy = Vec::new();
        if let Some(reader) = reader {
            let mut file = reader.join().map_err(|_| "the thread panicked")??;
            let rest = thread::spawn(move || file.read_to_end(&mut copy).map(|_| copy));
            assert_eq!(tapping.end()?.0, Some(0));
            let copy = rest.join().map_err(|_| "the thread panicked")??;
            let records: Vec<Value> = copy
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .map(serde_json::from_slice)
                .collect::<Result<_, _>>()?;
            let recorded = records.iter().filter(|record| record["kind"] == "message").count() as u64;
            let left_out: u64 = records.iter().filter_map(|record| record["messages"].as_u64()).sum();
            assert!(left_out > 0, "{recorded}");
            assert_eq!(recorded + left_out, 2 * MESSAGES as u64);
            assert!(records.last().is_some_and(|last| last["kind"] == "close"));
        } else {
            assert_eq!(tapping.end()?.0, Some(0));
        }
    }
    Ok(())
}

#[test]
fn a_killed_command_has_written_its_records() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("records.jsonl");
    let mut tapping = Tapping::start(&["--to-file", file.to_str().ok_or("no path")?, "--", "cat"])?;
    tapping.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n")?;
    let start = Instant::now();
    while records(&file).map_or(0, |records| records.len()) < 3 {
        assert!(start.elapsed() < TEST_TIMEOUT, "{}", fs::read_to_string(&file)?);
        thread::sleep(Duration::from_millis(1));
    }
    tapping.signal(Signal::KILL)?;
    tapping.end()?;
    assert_eq!(records(&file)?.len(), 3);
    Ok(())
}

#[test]
fn a_file_that_cannot_be_written_is_reported() -> Test {
    let (code, _, stderr) = Tapping::start(&["--to-file", "/does/not/exist", "--", "cat"])?.end()?;
    assert_eq!(code, Some(2));
    assert!(stderr.contains("cannot write /does/not/exist"), "{stderr}");
    // The disk is full, but the bytes pass.
    let mut tapping = Tapping::start(&["--to-file", "/dev/full", "--", "cat"])?;
    tapping.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n")?;
    let (code, output, stderr) = tapping.end()?;
    assert_eq!((code, output.len()), (Some(0), 31));
    assert!(stderr.contains("cannot write /dev/full: No space left"), "{stderr}");
    Ok(())
}
