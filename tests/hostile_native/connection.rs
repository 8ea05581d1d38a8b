//! The attacker's end of a connection to a server. It reads and writes `Content-Length` frames or lines without the
//! library, and counts the received bytes.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::TEST_TIMEOUT;

pub(crate) struct Connection {
    pub(crate) stream: UnixStream,
    buffer: Vec<u8>,
    /// Whether messages are lines.
    has_lines: bool,
    /// The number of received bytes.
    pub(crate) bytes: usize,
}

pub(crate) fn frame(text: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

impl Connection {
    pub(crate) fn to(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(TEST_TIMEOUT))?;
        stream.set_write_timeout(Some(TEST_TIMEOUT))?;
        Ok(Self { stream, buffer: Vec::new(), has_lines: false, bytes: 0 })
    }

    /// Connects to a server with one message a line.
    pub(crate) fn to_lines_server(path: &Path) -> io::Result<Self> {
        Ok(Self { has_lines: true, ..Self::to(path)? })
    }

    /// Sends a message. Returns the length of its frame in bytes.
    pub(crate) fn send(&mut self, message: &Value) -> io::Result<usize> {
        let text = message.to_string();
        let frame = if self.has_lines { format!("{text}\n").into_bytes() } else { frame(&text) };
        self.stream.write_all(&frame)?;
        Ok(frame.len())
    }

    /// Returns the next message.
    pub(crate) fn receive(&mut self) -> io::Result<Value> {
        let mut chunk = vec![0; 1 << 16];
        loop {
            if self.has_lines
                && let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n')
            {
                return Ok(serde_json::from_slice(&self.buffer.drain(..=end).collect::<Vec<_>>())?);
            }
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                let header = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                let length: usize =
                    header.trim_start_matches("Content-Length: ").trim().parse().map_err(io::Error::other)?;
                if self.buffer.len() >= end + 4 + length {
                    let message = serde_json::from_slice(&self.buffer[end + 4..end + 4 + length])?;
                    self.buffer.drain(..end + 4 + length);
                    return Ok(message);
                }
            }
            let count = self.stream.read(&mut chunk)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.bytes += count;
            self.buffer.extend_from_slice(&chunk[..count]);
        }
    }

    /// Sends a request as a marker. Returns all messages that arrive before the answer to this request.
    pub(crate) fn messages_so_far(&mut self) -> io::Result<Vec<Value>> {
        self.send(&json!({"jsonrpc": "2.0", "id": "before", "method": "no such method"}))?;
        let mut messages = Vec::new();
        loop {
            let message = self.receive()?;
            if message["id"] == "before" {
                return Ok(messages);
            }
            messages.push(message);
        }
    }

    /// Calls `echo`. Returns the time until the answer. Ignores messages that arrive before the answer.
    pub(crate) fn ping(&mut self) -> io::Result<Duration> {
        let start = Instant::now();
        self.send(&json!({"jsonrpc": "2.0", "id": "ping", "method": "echo", "params": [1]}))?;
        loop {
            let message = self.receive()?;
            if message["id"] == "ping" {
                assert_eq!(message["result"], json!([1]));
                return Ok(start.elapsed());
            }
        }
    }
}

/// Returns the length of the longest run of the letter x in a text.
pub(crate) fn longest_run_of_x(text: &str) -> usize {
    text.split(|letter| letter != 'x').map(str::len).max().unwrap_or(0)
}
