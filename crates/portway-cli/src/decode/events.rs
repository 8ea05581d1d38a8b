//! Writes the output: one JSON object on each line.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use portway::message::Fault;

/// Once the buffer has this number of bytes, the buffer is written.
const BUFFER_BYTES: usize = 64 * 1024;

/// Maximum number of bytes that are encoded as base64 at once. The number is divisible by three, so that only the last
/// piece may need padding.
const CHUNK_BYTES: usize = 12 * 1024;

/// Writes events. Consecutive passthrough bytes become one event, or several events of up to `BUFFER_BYTES`.
#[derive(Debug)]
pub(super) struct Events<W> {
    out: W,
    /// Lines that are not written yet.
    lines: Vec<u8>,
    passthrough: Vec<u8>,
    count: Count,
}

/// The numbers of messages and of errors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    /// The number of messages and of WIPC frames.
    pub(super) messages: u64,
    /// The number of errors. A message that is truncated by the end of the input counts as an error.
    pub(super) errors: u64,
}

impl<W: Write> Events<W> {
    pub(super) const fn new(out: W) -> Self {
        Self { out, lines: Vec::new(), passthrough: Vec::new(), count: Count { messages: 0, errors: 0 } }
    }

    pub(super) const fn count(&self) -> Count {
        self.count
    }

    pub(super) const fn has_errors(&self) -> bool {
        self.count.errors > 0
    }

    pub(super) fn message(&mut self, text: &str) -> io::Result<()> {
        self.end_passthrough()?;
        self.count.messages += 1;
        self.lines.extend_from_slice(br#"{"event":"message","text":""#);
        for piece in text.as_bytes().chunks(CHUNK_BYTES) {
            escape(piece, &mut self.lines);
            self.write_if_full()?;
        }
        self.lines.extend_from_slice(b"\"}\n");
        self.write_if_full()
    }

    pub(super) fn passthrough(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(BUFFER_BYTES) {
            self.passthrough.extend_from_slice(piece);
            if self.passthrough.len() >= BUFFER_BYTES {
                self.end_passthrough()?;
            }
        }
        Ok(())
    }

    /// Writes a WIPC frame. `name` must not contain characters that JSON escapes.
    pub(super) fn frame(&mut self, name: &str, payload: &[u8]) -> io::Result<()> {
        self.end_passthrough()?;
        self.count.messages += 1;
        write!(self.lines, r#"{{"event":"frame","type":"{name}","payload":""#)?;
        for piece in payload.chunks(CHUNK_BYTES) {
            encode(piece, &mut self.lines)?;
            self.write_if_full()?;
        }
        self.lines.extend_from_slice(b"\"}\n");
        self.write_if_full()
    }

    pub(super) fn truncated(&mut self, bytes: u64) -> io::Result<()> {
        self.end_passthrough()?;
        self.count.errors += 1;
        writeln!(self.lines, r#"{{"event":"truncated","bytes":{bytes}}}"#)
    }

    /// Writes an error. `reason` must not contain characters that JSON escapes.
    pub(super) fn error(&mut self, fault: Fault, reason: &str) -> io::Result<()> {
        self.end_passthrough()?;
        self.count.errors += 1;
        writeln!(self.lines, r#"{{"event":"error","code":{},"reason":"{reason}"}}"#, fault.code())?;
        self.write_if_full()
    }

    /// Writes all buffered events.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.end_passthrough()?;
        self.write()
    }

    fn end_passthrough(&mut self) -> io::Result<()> {
        if self.passthrough.is_empty() {
            return Ok(());
        }
        self.lines.extend_from_slice(br#"{"event":"passthrough","bytes":""#);
        for piece in self.passthrough.chunks(CHUNK_BYTES) {
            encode(piece, &mut self.lines)?;
        }
        self.lines.extend_from_slice(b"\"}\n");
        self.passthrough.clear();
        self.write_if_full()
    }

    fn write_if_full(&mut self) -> io::Result<()> {
        if self.lines.len() >= BUFFER_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.out.write_all(&self.lines);
        self.lines.clear();
        written
    }
}

/// Appends bytes as base64.
fn encode(bytes: &[u8], line: &mut Vec<u8>) -> io::Result<()> {
    let start = line.len();
    line.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let target = line.get_mut(start..).unwrap_or_default();
    STANDARD.encode_slice(bytes, target).map(|_| ()).map_err(io::Error::other)
}

/// Appends text escaped for a JSON string. Only ASCII characters are escaped, so `text` may begin or end within a
/// character of several bytes.
fn escape(text: &[u8], line: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(special) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        let (plain, tail) = rest.split_at_checked(special).unwrap_or((rest, &[]));
        line.extend_from_slice(plain);
        let [byte, after @ ..] = tail else { return };
        match byte {
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\t' => line.extend_from_slice(b"\\t"),
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
            // The other control characters.
            _ => line.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = after;
    }
    line.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_as_json() {
        let text: String = (0..=0x9f_u8).map(char::from).chain("é€😀".chars()).collect();
        for size in 1..text.len() {
            let mut line = vec![b'"'];
            text.as_bytes().chunks(size).for_each(|piece| escape(piece, &mut line));
            line.push(b'"');
            assert_eq!(serde_json::from_slice::<String>(&line).ok().as_deref(), Some(text.as_str()));
        }
    }

    #[test]
    fn long_bytes_are_split_and_decode_to_the_same_bytes() {
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
        let mut out = Vec::new();
        let mut events = Events::new(&mut out);
        for piece in bytes.chunks(77_777) {
            assert!(events.passthrough(piece).is_ok());
        }
        assert!(events.flush().is_ok());
        let mut decoded = Vec::new();
        for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            // The encoded bytes are between the first 32 characters and the last two.
            let encoded = line.get(32..line.len() - 2).unwrap_or_default();
            decoded.extend(STANDARD.decode(encoded).unwrap_or_default());
        }
        assert_eq!(decoded, bytes);
    }
}
