//! The remote end of a link. There, the test acts as the peer, and reads and writes the bytes of the stream.

use std::io;
use std::time::Duration;

use portway::Limits;
use portway::codec::FrameDecoder;
use portway::codec::frame::Event;
use portway::{Framing, Transport};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::timeout;

/// Maximum time of one wait in a test. It is long enough for a slow machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The end of a stream on which the test acts as the peer. The link under test has the other end.
pub(crate) struct RemoteEnd {
    reader: ReadHalf<DuplexStream>,
    writer: Option<WriteHalf<DuplexStream>>,
    buffer: Vec<u8>,
}

/// Returns a transport, and the remote end of its stream.
pub(crate) fn transport_with_remote_end() -> io::Result<(Transport, RemoteEnd)> {
    transport_with_remote_end_of(64 * 1024, Framing::ContentLength)
}

/// Returns a transport over a stream of this capacity, and the remote end of the stream.
pub(crate) fn transport_with_remote_end_of(capacity: usize, framing: Framing) -> io::Result<(Transport, RemoteEnd)> {
    let (near, far) = tokio::io::duplex(capacity);
    let (reader, writer) = tokio::io::split(near);
    let transport = Transport::new(reader, writer, framing)?;
    Ok((transport, RemoteEnd::new(far)))
}

pub(crate) fn frame(text: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

impl RemoteEnd {
    pub(crate) fn new(end: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(end);
        Self { reader, writer: Some(writer), buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, text: &str) -> io::Result<()> {
        self.send_bytes(&frame(text)).await
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.writer {
            Some(writer) => writer.write_all(bytes).await,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Closes the writing half of the stream.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        match self.writer.take() {
            Some(mut writer) => writer.shutdown().await,
            None => Ok(()),
        }
    }

    /// Returns the next message. Its frame must have the exact form that the library writes.
    pub(crate) async fn receive(&mut self) -> io::Result<Value> {
        loop {
            if let Some((begin, end)) = first_body(&self.buffer)? {
                let message = serde_json::from_slice(self.buffer.get(begin..end).unwrap_or_default())?;
                self.buffer.drain(..end);
                return Ok(message);
            }
            if self.read().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Returns the next message in this framing. Its frame must have the form that the library writes.
    pub(crate) async fn receive_frame(&mut self, framing: Framing) -> io::Result<Value> {
        match framing {
            Framing::ContentLength => self.receive().await,
            Framing::Newline => Ok(serde_json::from_str(&self.receive_line().await?)?),
            Framing::Wipc => loop {
                let mut decoder = FrameDecoder::new(Framing::Wipc, &Limits::DEFAULT);
                let mut rest = self.buffer.as_slice();
                if let Some(Event::Body(body)) = decoder.next(&mut rest) {
                    let message = serde_json::from_slice(body)?;
                    let used = self.buffer.len() - rest.len();
                    self.buffer.drain(..used);
                    return Ok(message);
                }
                if self.read().await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            },
        }
    }

    /// Returns the next line with its line end, for [`Framing::Newline`].
    pub(crate) async fn receive_line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return String::from_utf8(line).map_err(io::Error::other);
            }
            if self.read().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads until the end of the stream. Returns the text that no other call has returned.
    pub(crate) async fn rest(&mut self) -> io::Result<String> {
        while self.read().await? > 0 {}
        String::from_utf8(std::mem::take(&mut self.buffer)).map_err(io::Error::other)
    }

    async fn read(&mut self) -> io::Result<usize> {
        let mut chunk = vec![0; 64 * 1024];
        let count = timeout(TEST_TIMEOUT, self.reader.read(&mut chunk)).await??;
        self.buffer.extend_from_slice(chunk.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// Returns the positions at which the body of the first frame begins and ends, or `None` if the frame is incomplete.
fn first_body(bytes: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let Some(header_end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let header = std::str::from_utf8(bytes.get(..header_end).unwrap_or_default()).map_err(io::Error::other)?;
    let length: usize = header
        .strip_prefix("Content-Length: ")
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| io::Error::other(format!("the header must be only Content-Length, got {header:?}")))?;
    let begin = header_end + 4;
    let end = begin + length;
    Ok((bytes.len() >= end).then_some((begin, end)))
}

/// Returns the default limits, changed by `change`.
pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::DEFAULT;
    change(&mut limits);
    limits
}
