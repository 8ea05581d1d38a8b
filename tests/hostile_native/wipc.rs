//! Hostile guests of a host, and hostile hosts of a guest.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use portway::codec::wipc::{Decoder, Event, FrameType, encode, header};
use portway::{Client, Framing, Transport};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use crate::process::{Running, TEST_TIMEOUT, Test, role, write_out};

/// Returns the header of a call with a payload of this length.
fn call_header(length: usize) -> io::Result<[u8; 9]> {
    header(FrameType::Call, length).map_err(io::Error::other)
}

/// Runs the role of a hostile guest. The host, which is a test, starts the process.
pub(crate) fn play(name: &str) -> io::Result<()> {
    match name {
        // A header whose payload never arrives.
        "guest that announces" => write_out(&call_header(u32::MAX as usize)?)?,
        // A message above the limit, and then a short message.
        "guest that floods" => {
            write_out(&call_header(200_000_000)?)?;
            for _ in 0..200 {
                write_out(&vec![b'x'; 1_000_000])?;
            }
            let mut one = Vec::new();
            encode(FrameType::Call, br#"{"jsonrpc":"2.0","method":"done"}"#, &mut one).map_err(io::Error::other)?;
            write_out(&one)?;
        }
        // Headers, each within the payload of the previous header.
        "guest of headers" => write_out(&call_header(0x7fff_ffff)?.repeat(100_000))?,
        // Answers to calls that the host has not made.
        "guest that answers" => {
            for id in 0..10_000 {
                let mut one = Vec::new();
                let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":"forged"}}"#, id + 1_000);
                encode(FrameType::Call, text.as_bytes(), &mut one).map_err(io::Error::other)?;
                write_out(&one)?;
            }
        }
        other => return Err(io::Error::other(format!("the role {other} does not exist"))),
    }
    thread::sleep(TEST_TIMEOUT);
    Ok(())
}

/// Returns the resident memory of this process, in MiB.
fn resident_mib() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kb.map(|kb| kb / 1_024).ok_or_else(|| io::Error::other("the status of the process must have VmRSS"))
}

#[tokio::test]
async fn a_hostile_guest_cannot_fill_the_memory_of_its_host() -> Test {
    for name in ["guest that announces", "guest that floods", "guest of headers", "guest that answers"] {
        let before = resident_mib()?;
        let command = role(name, Path::new(""));
        let client =
            Client::new(Transport::child(&mut Command::from(command), Framing::Wipc)?.with_grace(Duration::ZERO));
        let start = Instant::now();
        let mut peak = before;
        let call = client.call::<Value>("any", &());
        let call = tokio::spawn(async move { timeout(TEST_TIMEOUT, call.timeout(Duration::from_secs(3))).await });
        while !call.is_finished() {
            peak = peak.max(resident_mib()?);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(call.await??.is_err(), "the call must fail, role {name}");
        // Other tests run in this process at the same time, and also need memory. So the bound is high.
        assert!(peak - before <= 120, "{name}: {} MiB in {:?}", peak - before, start.elapsed());
        drop(client);
    }
    Ok(())
}

/// A process that is a guest and serves calls. The test is its hostile host.
struct Guest {
    running: Running,
}

impl Guest {
    fn start() -> io::Result<Self> {
        let mut command = role("wipc server", Path::new(""));
        Ok(Self { running: Running(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?) })
    }

    fn send(&mut self, text: &str) -> io::Result<()> {
        let mut bytes = Vec::new();
        encode(FrameType::Call, text.as_bytes(), &mut bytes).map_err(io::Error::other)?;
        let input = self.running.0.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(&bytes)?;
        input.flush()
    }
}

#[test]
fn a_guest_stops_reading_its_input_if_the_host_reads_nothing() -> Test {
    let mut guest = Guest::start()?;
    let before = guest.running.peak_mib()?;
    let pid = guest.running.0.id();
    let (report, reported) = std::sync::mpsc::channel();
    let mut input = guest.running.0.stdin.take().ok_or("the input must be a pipe")?;
    let writer = thread::spawn(move || {
        let mut request = Vec::new();
        encode(FrameType::Call, br#"{"jsonrpc":"2.0","id":1,"method":"big"}"#, &mut request).unwrap();
        for count in 1..=100_000_u32 {
            if input.write_all(&request).is_err() {
                break;
            }
            let _ = report.send(count);
        }
    });
    let mut sent = 0;
    while let Ok(count) = reported.recv_timeout(Duration::from_secs(1)) {
        sent = count;
    }
    assert!(sent < 100_000, "the guest must stop reading");
    let growth_mib = guest.running.peak_mib()? - before;
    assert!(growth_mib <= 160, "{growth_mib} MiB for {sent} requests to process {pid}");
    drop(guest);
    let _ = writer.join();
    Ok(())
}

#[test]
fn each_request_with_an_invalid_or_too_long_id_gets_one_answer() -> Test {
    let mut guest = Guest::start()?;
    let ids = [format!("\"{}\"", "x".repeat(5_000)), "{}".into(), "[1]".into(), "true".into(), "1e999".into()];
    for id in &ids {
        guest.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":[1]}}"#))?;
    }
    guest.send(r#"{"jsonrpc":"2.0","id":"last","method":"echo","params":[1]}"#)?;
    let mut output = guest.running.0.stdout.take().ok_or("the output must be a pipe")?;
    let mut decoder = Decoder::new();
    let mut answers: Vec<Value> = Vec::new();
    let mut chunk = vec![0; 4_096];
    while answers.last().is_none_or(|answer| answer["id"] != "last") {
        let count = output.read(&mut chunk)?;
        assert!(count > 0, "the output ended after {answers:?}");
        let mut bytes = &chunk[..count];
        while let Some(event) = decoder.next(&mut bytes) {
            if let Event::Frame(frame) = event {
                answers.push(serde_json::from_slice(frame.payload)?);
            }
        }
    }
    assert_eq!(answers.len(), ids.len() + 1, "{answers:?}");
    for answer in answers.iter().take(ids.len()) {
        assert_eq!(answer["id"], Value::Null, "{answer:.200}");
        assert!(answer.to_string().len() < 500, "{answer:.200}");
    }
    Ok(())
}
