//! Detects the framing of a stream from its first message. All text before this message, for example a banner or a log,
//! is noise. A line of noise may be JSON.

use memchr::memchr;
use portway::Framing;
use portway::codec::content_length::header_within;

/// Reads a stream line by line up to the first message.
#[derive(Debug)]
pub(crate) struct Detector {
    buffer: Vec<u8>,
    /// The number of bytes at the beginning of `buffer` that were searched for a line end.
    searched: usize,
    max_line_bytes: usize,
}

impl Detector {
    /// Creates a detector. If a line is longer than `max_line_bytes`, its beginning is noise, unless the line begins
    /// with a JSON-RPC message.
    pub(crate) const fn new(max_line_bytes: usize) -> Self {
        Self { buffer: Vec::new(), searched: 0, max_line_bytes }
    }

    /// Reads further bytes, and passes noise to `noise`. Returns `None` until the framing is known. When this function
    /// has returned the framing, the result of [`Detector::into_rest`] begins with the first message.
    pub(crate) fn push(&mut self, bytes: &[u8], mut noise: impl FnMut(&[u8])) -> Option<Framing> {
        self.buffer.extend_from_slice(bytes);
        let mut framing = None;
        let mut at = 0;
        while let Some(end) = self.buffer.get(self.searched..).and_then(|rest| memchr(b'\n', rest)) {
            let end = self.searched + end + 1;
            framing = self.buffer.get(at..end).and_then(framing_of);
            if framing.is_some() {
                break;
            }
            at = end;
            self.searched = end;
        }
        let rest = self.buffer.get(at..).unwrap_or_default();
        if framing.is_none() && rest.len() > self.max_line_bytes {
            framing = Framing::recognise(rest).filter(|framing| *framing == Framing::Newline);
            if framing.is_none() {
                at = self.buffer.len();
            }
        }
        let before = self.buffer.get(..at).unwrap_or_default();
        if !before.trim_ascii().is_empty() {
            noise(before);
        }
        self.buffer.drain(..at);
        self.searched = self.buffer.len();
        framing
    }

    /// Returns the most likely framing at the end of the stream, from the last line, which has no line end.
    pub(crate) fn finish(&self) -> Framing {
        match self.buffer.trim_ascii_start() {
            [b'{' | b'[', ..] => Framing::Newline,
            _ => {
                framing_of(&self.buffer).or_else(|| Framing::recognise(&self.buffer)).unwrap_or(Framing::ContentLength)
            }
        }
    }

    /// Returns the bytes that were read and were not passed on as noise.
    pub(crate) fn into_rest(self) -> Vec<u8> {
        self.buffer
    }
}

/// Searches a stream of lines for a `Content-Length` header that ends with a blank line. Such a header shows that the
/// detected framing is wrong: the framing is `Content-Length`, and the detected first message is a line of a log.
#[derive(Debug, Default)]
pub(crate) struct HeaderWatch {
    /// Bytes that may begin a header.
    buffer: Vec<u8>,
    /// Whether the stream is within a line that is not part of a header.
    is_in_line: bool,
}

/// Maximum length of a header, in bytes. The lines of a longer header are not treated as a header.
const MAX_HEADER_BYTES: usize = 256;

impl HeaderWatch {
    /// Reads further bytes, and passes all lines before a header to `lines`. Once a header is complete, returns the
    /// header and all input after the header.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut lines: impl FnMut(&[u8])) -> Option<Vec<u8>> {
        while !bytes.is_empty() {
            let end = memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
            let (piece, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
            bytes = rest;
            if !self.is_in_line {
                self.buffer.extend_from_slice(piece);
                match Header::of(&self.buffer) {
                    Header::Partial => continue,
                    Header::Complete => {
                        self.buffer.extend_from_slice(rest);
                        return Some(std::mem::take(&mut self.buffer));
                    }
                    Header::None => lines(&self.buffer),
                }
                self.buffer.clear();
            } else {
                lines(piece);
            }
            self.is_in_line = !piece.ends_with(b"\n");
        }
        None
    }

    /// Passes the buffered bytes to `lines` at the end of the input.
    pub(crate) fn finish(&mut self, lines: impl FnOnce(&[u8])) {
        if !self.buffer.is_empty() {
            lines(&std::mem::take(&mut self.buffer));
        }
    }
}

/// The result of the check whether a text is a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    /// The text is not a header.
    None,
    /// The text may be the beginning of a header.
    Partial,
    /// The text is a header, including the blank line at its end.
    Complete,
}

impl Header {
    fn of(text: &[u8]) -> Self {
        let mut lines = text.split_inclusive(|byte| *byte == b'\n');
        let begins = |line: &[u8], name: &[u8]| {
            let length = line.len().min(name.len());
            line.get(..length)
                .is_some_and(|start| name.get(..length).is_some_and(|name| start.eq_ignore_ascii_case(name)))
        };
        let first = lines.next().unwrap_or_default();
        let is_length =
            if first.ends_with(b"\n") { header_within(first) == Some(0) } else { begins(first, b"content-length") };
        if !is_length || text.len() > MAX_HEADER_BYTES {
            return Self::None;
        }
        for line in lines {
            match line {
                b"\n" | b"\r\n" => return Self::Complete,
                b"\r" => {}
                _ if begins(line, b"content-type") => {}
                _ => return Self::None,
            }
        }
        Self::Partial
    }
}

/// Returns the framing of a line if the line begins a message.
fn framing_of(line: &[u8]) -> Option<Framing> {
    match Framing::recognise(line) {
        Some(framing @ (Framing::Newline | Framing::ContentLength)) => Some(framing),
        // A header may follow other text on its line. Such a header is accepted only once the line is complete.
        _ => header_within(line).filter(|_| line.ends_with(b"\n")).map(|_| Framing::ContentLength),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes a stream to a detector in pieces of `size` bytes. Returns the noise, the framing, and the bytes for the
    /// decoder.
    fn detect_in_pieces(stream: &[u8], size: usize) -> (Vec<u8>, Option<Framing>, Vec<u8>) {
        let mut detector = Detector::new(100);
        let mut noise = Vec::new();
        let mut framing = None;
        for piece in stream.chunks(size) {
            match framing {
                None => framing = detector.push(piece, |bytes| noise.extend_from_slice(bytes)),
                Some(_) => detector.buffer.extend_from_slice(piece),
            }
        }
        (noise, framing, detector.into_rest())
    }

    #[test]
    fn a_banner_is_not_a_message() {
        let header = b"content-length : 2\r\n\r\n{}".as_slice();
        for (banner, message, framing) in [
            ("", header, Framing::ContentLength),
            ("[INFO] starting\n{ready}\n", header, Framing::ContentLength),
            ("{\"level\":30,\"msg\":\"starting\"}\n[1]\n", header, Framing::ContentLength),
            ("[INFO] starting\n", b"{\"jsonrpc\":\"2.0\"}\n", Framing::Newline),
            ("{\"level\":30}\n", b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\"}\n", Framing::Newline),
            ("Hello. Content-Length is what I speak\n", b" [{\"jsonrpc\":\"2.0\"}]\n{}\n", Framing::Newline),
            ("12\n\"text\"\n", b"{\"id\":1,\"result\":NaN,\"jsonrpc\":\"2.0\"}\n", Framing::Newline),
            (&format!("{}\n", "long ".repeat(50)), b"{\"jsonrpc\":\"2.0\"}\n", Framing::Newline),
        ] {
            let stream = [banner.as_bytes(), message].concat();
            for size in [1, 3, 1000] {
                let expected = (banner.as_bytes().to_vec(), Some(framing), message.to_vec());
                assert_eq!(detect_in_pieces(&stream, size), expected, "{banner} {size}");
            }
        }
    }

    #[test]
    fn a_message_beyond_the_line_limit_is_detected_as_newline() {
        let stream = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}", "x".repeat(200));
        assert_eq!(detect_in_pieces(stream.as_bytes(), 10), (Vec::new(), Some(Framing::Newline), stream.into_bytes()));
    }

    #[test]
    fn a_complete_header_after_lines_begins_a_frame() {
        let lines = "{\"jsonrpc\":\"2.0\",\"level\":30}\n\nContent-Length: none\nContent-Length: 5\nfive\nContent\n";
        for header in ["Content-Length: 2\r\n\r\n", "content-length:2\nContent-Type: x\n\n"] {
            let stream = format!("{lines}{header}{{}}\n");
            for size in [1, 3, 1_000] {
                let (mut watch, mut passed, mut rest) = (HeaderWatch::default(), Vec::new(), Vec::new());
                for piece in stream.as_bytes().chunks(size) {
                    if rest.is_empty() {
                        rest = watch.push(piece, |line| passed.extend_from_slice(line)).unwrap_or_default();
                    } else {
                        rest.extend_from_slice(piece);
                    }
                }
                assert_eq!(String::from_utf8_lossy(&passed), lines, "{size}");
                assert_eq!(String::from_utf8_lossy(&rest), format!("{header}{{}}\n"), "{size}");
            }
        }
        // Without a blank line, a header at the end of the input is a line.
        let (mut watch, mut passed) = (HeaderWatch::default(), Vec::new());
        assert_eq!(watch.push(b"{}\nContent-Length: 5\n", |line| passed.extend_from_slice(line)), None);
        watch.finish(|line| passed.extend_from_slice(line));
        assert_eq!(passed, b"{}\nContent-Length: 5\n");
    }

    #[test]
    fn a_header_after_text_on_the_same_line_is_detected() {
        let (noise, framing, rest) = detect_in_pieces(b"ready> Content-Length: 2\r\n\r\n{}", 4);
        assert_eq!((noise.as_slice(), framing), (&b""[..], Some(Framing::ContentLength)));
        assert_eq!(rest, b"ready> Content-Length: 2\r\n\r\n{}");
    }

    #[test]
    fn the_framing_of_an_incomplete_line_is_detected_at_the_end_of_the_stream() {
        for (stream, framing) in [
            (&b"{}"[..], Framing::Newline),
            (b"{\"a\":", Framing::Newline),
            (b"Content-Le", Framing::ContentLength),
            (b"Content-Length: 5", Framing::ContentLength),
            (b"", Framing::ContentLength),
            (b"hello", Framing::ContentLength),
        ] {
            let mut detector = Detector::new(100);
            assert_eq!(detector.push(stream, |_| {}), None);
            assert_eq!(detector.finish(), framing, "{}", String::from_utf8_lossy(stream));
        }
    }
}
