//! `portway decode` as a filter: input in pieces and with pauses, closed pipes, and the use of memory.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::command::{TEST_TIMEOUT, Test, portway};
use crate::decode::{frame, message, whole};

/// A running `portway decode`.
struct Decoding {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Decoding {
    fn start(options: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut child = portway(["decode"].iter().chain(options)).stdin(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().ok_or("no standard input")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Self { child, stdin, stdout })
    }

    /// Reads the next event without writing further input.
    async fn event(&mut self) -> Result<Value, Box<dyn Error>> {
        let mut line = String::new();
        timeout(TEST_TIMEOUT, self.stdout.read_line(&mut line)).await??;
        Ok(serde_json::from_str(&line)?)
    }

    /// Returns the peak memory of the process so far, in kilobytes.
    fn peak(&self) -> Result<u64, Box<dyn Error>> {
        let process = self.child.id().ok_or("the command has ended")?;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no such line")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

/// A xorshift generator, which returns the same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Returns a stream with valid messages, noise and errors of each kind.
fn stream() -> Vec<u8> {
    [
        &frame(r#"{"jsonrpc":"2.0","id":1,"method":"é€😀"}"#)[..],
        b"warning: \xff\xfe low on memory\n",
        &frame("[1,2"),
        b"Content-Length: x\r\n\r\n",
        &frame("{}"),
        b"Content-Length: 24\r\n\r\n{\"a\":1}",
        &frame("[1]"),
        b"Content-Length: 2000\r\n\r\n",
        &[b'"'; 2000],
        &frame("[\"the last\"]"),
        b"Content-Length: 77\r\n\r\n{\"jsonrpc\":",
    ]
    .concat()
}

#[tokio::test]
async fn the_events_do_not_depend_on_the_pieces_of_the_input() -> Test {
    let options = ["--framing", "content-length", "--max-bytes", "1000"];
    let lines: Vec<u8> = stream().split(|byte| *byte == b'\r').collect::<Vec<_>>().concat();
    let line_options = ["--framing", "newline", "--max-bytes", "1000"];
    for (options, stream) in [(options, stream()), (line_options, lines)] {
        let mut expected = None;
        let mut random = Random(7);
        for round in 0..12 {
            // The input is written at once, then byte by byte, and then in pieces of random sizes.
            let longest = match round {
                0 => stream.len(),
                1 => 1,
                _ => 1 + random.below(200),
            };
            let mut decoding = Decoding::start(&options)?;
            let mut rest = &stream[..];
            let mut output = String::new();
            let writing = async {
                while !rest.is_empty() {
                    let length = if longest == 1 { 1 } else { (1 + random.below(longest)).min(rest.len()) };
                    let (piece, after) = rest.split_at(if round == 0 { rest.len() } else { length });
                    decoding.stdin.write_all(piece).await?;
                    // The command usually reads the piece here, before the next piece is written.
                    tokio::task::yield_now().await;
                    rest = after;
                }
                drop(decoding.stdin);
                Ok::<_, std::io::Error>(())
            };
            let (written, read) =
                timeout(TEST_TIMEOUT, async { tokio::join!(writing, decoding.stdout.read_to_string(&mut output)) })
                    .await?;
            written?;
            read?;
            let events = whole(output.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)?;
            assert!(events.len() >= 8, "{events:?}");
            assert_eq!(&events, expected.get_or_insert_with(|| events.clone()), "pieces up to {longest}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_input_so_far_is_decoded_when_the_input_pauses() -> Test {
    for framing in ["auto", "content-length"] {
        let mut decoding = Decoding::start(&["--framing", framing])?;
        for number in 0..5 {
            let text = format!("[{number}]");
            let framed = frame(&text);
            let (first, second) = framed.split_at(framed.len() / 2);
            decoding.stdin.write_all(first).await?;
            decoding.stdin.write_all(second).await?;
            assert_eq!(decoding.event().await?, message(&text));
        }
        decoding.stdin.write_all(b"noise without an end").await?;
        assert_eq!(decoding.event().await?["event"], "passthrough");
        drop(decoding.stdin);
        assert_eq!(timeout(TEST_TIMEOUT, decoding.child.wait()).await??.code(), Some(0));
    }
    Ok(())
}

#[tokio::test]
async fn progress_is_shown_on_a_terminal() -> Test {
    const FRAMES: &[u8] = b"Content-Length: 2\r\n\r\n{}Content-Length: 1\r\n\r\n{";
    let portway = env!("CARGO_BIN_EXE_portway");
    let folder = tempfile::tempdir()?;
    for (number, (output, is_shown)) in
        [(">/dev/null", true), ("2>&1", false), (">/dev/null 2>&1", false)].into_iter().enumerate()
    {
        let fifo = folder.path().join(number.to_string());
        assert!(Command::new("mkfifo").arg(&fifo).status().await?.success());
        // `script` of the package bsdutils runs a program on a terminal.
        let mut script = Command::new("script")
            .args(["-qec", &format!("'{portway}' decode < '{}' {output}", fifo.display()), "/dev/null"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut terminal = script.stdout.take().ok_or("no output")?;
        // Opening the FIFO for writing waits until the command opens the FIFO for reading.
        let open = tokio::task::spawn_blocking(move || OpenOptions::new().write(true).open(fifo));
        let mut input = timeout(TEST_TIMEOUT, open).await???;
        let mut shown = Vec::new();
        let has_progress = |shown: &[u8]| {
            let shown = String::from_utf8_lossy(shown);
            (1..100).any(|count| shown.contains(&format!("\r0 MB, {count} messages, {count} errors\u{1b}[K")))
        };
        // After one second, the command updates the line of progress whenever it reads input.
        let start = Instant::now();
        while if is_shown { !has_progress(&shown) } else { start.elapsed() < Duration::from_secs(3) } {
            assert!(start.elapsed() < TEST_TIMEOUT, "{output}: {}", String::from_utf8_lossy(&shown));
            input.write_all(FRAMES)?;
            let _ = timeout(Duration::from_millis(500), terminal.read_buf(&mut shown)).await;
            sleep(Duration::from_millis(500)).await;
        }
        drop(input);
        timeout(TEST_TIMEOUT, terminal.read_to_end(&mut shown)).await??;
        let shown = String::from_utf8(shown)?;
        assert_eq!(shown.contains(" MB, "), is_shown, "{output}: {shown:?}");
        assert_eq!(shown.ends_with("\r\u{1b}[K"), is_shown, "a shown line must be cleared: {shown:?}");
    }
    Ok(())
}

#[tokio::test]
async fn decode_ends_without_an_error_when_its_output_is_closed() -> Test {
    // Lines that are not JSON are passed through before the first message and between frames. With `newline`, they are
    // errors.
    for (framing, code) in [("auto", 0), ("content-length", 0), ("newline", 1)] {
        let mut yes = Command::new("yes").stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let input: Stdio = yes.stdout.take().ok_or("no output")?.try_into()?;
        let mut child = portway(["decode", "--framing", framing]).stdin(input).spawn()?;
        let mut first = [0; 1000];
        let mut stdout = child.stdout.take().ok_or("no output")?;
        timeout(TEST_TIMEOUT, stdout.read_exact(&mut first)).await??;
        assert!(first.starts_with(b"{\"event\":"));
        drop(stdout);
        let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
        assert_eq!((output.status.code(), String::from_utf8(output.stderr)?.as_str()), (Some(code), ""));
    }
    Ok(())
}

#[tokio::test]
async fn a_hundred_megabytes_take_the_memory_of_one_message() -> Test {
    let good = format!("[\"{}\"]", "a".repeat(200_000));
    // The stream has noise without a line end, a message over the limit, and many messages.
    let oversize = [b"Content-Length: 40000000\r\n\r\n".as_slice(), &vec![b'x'; 40_000_000]].concat();
    let noise = vec![b'z'; 30_000_000];
    let messages = frame(&good).repeat(150);
    let last = frame("\"last\"");
    for framing in ["content-length", "newline", "auto"] {
        let mut decoding = Decoding::start(&["--framing", framing, "--max-bytes", "1000000"])?;
        let writing = async {
            // The noise comes first, and does not show the framing. The noise has no line end, and must not be
            // buffered.
            for part in [&noise, &oversize, &messages] {
                decoding.stdin.write_all(part).await?;
            }
            decoding.stdin.write_all(b"\n").await?;
            let last = if framing == "newline" { b"\"last\"\n" } else { &last[..] };
            decoding.stdin.write_all(last).await
        };
        let reading = async {
            let mut line = String::new();
            let mut messages = 0;
            loop {
                line.clear();
                if decoding.stdout.read_line(&mut line).await? == 0 {
                    return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof));
                }
                if line.starts_with("{\"event\":\"message\"") {
                    messages += 1;
                    if line.contains("last") {
                        return Ok(messages);
                    }
                }
            }
        };
        let (written, read) = timeout(TEST_TIMEOUT, async { tokio::join!(writing, reading) }).await?;
        written?;
        let messages: usize = read?;
        if framing != "newline" {
            assert_eq!(messages, 151);
        }
        let peak = decoding.peak()?;
        assert!(peak < 16_000, "{framing}: {peak} kB");
        drop(decoding.stdin);
        assert_eq!(timeout(TEST_TIMEOUT, decoding.child.wait()).await??.code(), Some(1));
    }
    Ok(())
}
