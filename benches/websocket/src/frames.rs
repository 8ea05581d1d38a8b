//! Builds the frames of the client, and counts the frames of the server. Frames are built before the measurement.
//!
//! The client is not a WebSocket library, so its cost is low and the same for all servers. The mask of its frames is 0,
//! so the payload is not changed (RFC 6455 §5.3).

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};
use memchr::memmem::{Finder, find};

/// The maximum length, in bytes, of a payload whose length is in the second byte of the frame.
const MAX_SHORT_PAYLOAD: usize = 125;

/// Opens a connection, and upgrades it.
pub(crate) fn connect(port: u16) -> Result<TcpStream> {
    let mut stream = begin_upgrade(port)?;
    end_upgrade(&mut stream)?;
    Ok(stream)
}

/// Opens a connection, and sends the request for an upgrade. The fixed key is the one of RFC 6455 §1.3.
pub(crate) fn begin_upgrade(port: u16) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    let head = format!(
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

/// Reads the response to the request for an upgrade.
pub(crate) fn end_upgrade(stream: &mut TcpStream) -> Result<()> {
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).context("the server has closed the connection in the handshake")?;
        answer.extend_from_slice(&byte);
    }
    ensure!(answer.starts_with(b"HTTP/1.1 101"), "the status must be 101, got {}", String::from_utf8_lossy(&answer));
    Ok(())
}

/// Returns the text of a request for `echo`.
pub(crate) fn echo(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":{{"text":"hello","number":{id}}}}}"#)
}

/// Appends a text frame with a mask of 0.
pub(crate) fn push_masked(frames: &mut Vec<u8>, text: &str) {
    push_header(frames, text.len(), 0x80);
    frames.extend_from_slice(&[0; 4]);
    frames.extend_from_slice(text.as_bytes());
}

/// Appends a text frame of a server.
pub(crate) fn push_unmasked(frames: &mut Vec<u8>, text: &str) {
    push_header(frames, text.len(), 0);
    frames.extend_from_slice(text.as_bytes());
}

fn push_header(frames: &mut Vec<u8>, length: usize, mask: u8) {
    frames.push(0x81);
    if length <= MAX_SHORT_PAYLOAD {
        frames.push(mask | length as u8);
    } else {
        frames.push(mask | 126);
        frames.extend_from_slice(&(length as u16).to_be_bytes());
    }
}

/// Counts the frames that contain the text `expected`.
pub(crate) struct Counter {
    pub(crate) count: usize,
    expected: Finder<'static>,
    must_match: bool,
    buffer: Vec<u8>,
}

impl Counter {
    /// Returns a counter that fails at a frame without `expected`.
    pub(crate) fn of_each(expected: &str) -> Self {
        Self { count: 0, expected: Finder::new(expected).into_owned(), must_match: true, buffer: Vec::new() }
    }

    /// Returns a counter that skips frames without `expected`, such as the answers to `rpc.on` and `flood`. It fails at
    /// a frame with an error.
    pub(crate) fn of_some(expected: &str) -> Self {
        Self { must_match: false, ..Self::of_each(expected) }
    }

    /// Counts the frames in the next bytes. Buffers the bytes of an incomplete frame until the next call.
    pub(crate) fn advance(&mut self, bytes: &[u8]) -> Result<()> {
        ensure!(!bytes.is_empty(), "the server has closed the connection after {} messages", self.count);
        if self.buffer.is_empty() {
            let used = self.count_frames(bytes)?;
            self.buffer.extend_from_slice(bytes.get(used..).unwrap_or_default());
            return Ok(());
        }
        let mut buffer = core::mem::take(&mut self.buffer);
        buffer.extend_from_slice(bytes);
        let used = self.count_frames(&buffer)?;
        buffer.drain(..used);
        self.buffer = buffer;
        Ok(())
    }

    fn count_frames(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut used = 0;
        while let Some((opcode, payload, length)) = first_frame(bytes.get(used..).unwrap_or_default()) {
            used += length;
            let text = || String::from_utf8_lossy(payload);
            ensure!(opcode == 0x81, "a frame must be a whole text message, got {opcode:#x}: {}", text());
            if self.expected.find(payload).is_some() {
                self.count += 1;
            } else {
                let is_error = find(payload, br#""error""#).is_some();
                ensure!(!self.must_match && !is_error, "unexpected message: {}", text());
            }
        }
        Ok(used)
    }
}

/// Returns the first byte of the first frame, the payload of the frame, and the length of the whole frame, or `None` if
/// the frame is incomplete.
fn first_frame(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    let (header, length) = match second & 0x7f {
        126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, usize::try_from(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)).ok()?),
        length => (2, usize::from(length)),
    };
    let start = header + mask;
    Some((first, bytes.get(start..start + length)?, start + length))
}
