//! Detects the framing of a stream by its first message. Text before that is noise: a banner or a log, which may be in
//! JSON.

use memchr::memchr;
use portway::Framing;
use portway::codec::content_length::header_within;

/// Looks at a stream, line by line, until there is a message.
#[derive(Debug)]
pub(crate) struct Detector {
    held: Vec<u8>,
    /// How much of it is known to hold no line end.
    searched: usize,
    most: usize,
}

impl Detector {
    /// A line longer than `most` bytes is no message.
    pub(crate) const fn new(most: usize) -> Self {
        Self { held: Vec::new(), searched: 0, most }
    }

    /// Reads on, hands over what is noise, and gives the framing once it is known. Then [`Detector::into_rest`] begins with
    /// the first message.
    pub(crate) fn take(&mut self, bytes: &[u8], mut noise: impl FnMut(&[u8])) -> Option<Framing> {
        self.held.extend_from_slice(bytes);
        let mut framing = None;
        let mut at = 0;
        while let Some(end) = self.held.get(self.searched..).and_then(|rest| memchr(b'\n', rest)) {
            let end = self.searched + end + 1;
            framing = self.held.get(at..end).and_then(framing_of);
            if framing.is_some() {
                break;
            }
            at = end;
            self.searched = end;
        }
        let rest = self.held.get(at..).unwrap_or_default();
        if framing.is_none() && rest.len() > self.most {
            framing = Framing::recognise(rest).filter(|framing| *framing == Framing::Newline);
            if framing.is_none() {
                at = self.held.len();
            }
        }
        let before = self.held.get(..at).unwrap_or_default();
        if !before.trim_ascii().is_empty() {
            noise(before);
        }
        self.held.drain(..at);
        self.searched = self.held.len();
        framing
    }

    /// Reads the last line, which has no end: the framing that it most looks like.
    pub(crate) fn finish(&self) -> Framing {
        match self.held.trim_ascii_start() {
            [b'{' | b'[', ..] => Framing::Newline,
            _ => framing_of(&self.held).or_else(|| Framing::recognise(&self.held)).unwrap_or(Framing::ContentLength),
        }
    }

    /// What was read and is not noise.
    pub(crate) fn into_rest(self) -> Vec<u8> {
        self.held
    }
}

/// Looks for a frame in a stream of lines: a header and a blank line after it. If there is one, the line that was taken
/// for the first message was a line of a log.
#[derive(Debug, Default)]
pub(crate) struct HeaderWatch {
    /// Bytes that may be the beginning of a header.
    held: Vec<u8>,
    /// Whether the current line is not a header, and its end is still to come.
    is_in_line: bool,
}

/// The longest header that is detected, in bytes.
const LONGEST_HEADER: usize = 256;

impl HeaderWatch {
    /// Reads on, and passes all lines outside of a header to `lines`. Once there is a header, returns the input from
    /// the header on.
    pub(crate) fn take(&mut self, mut bytes: &[u8], mut lines: impl FnMut(&[u8])) -> Option<Vec<u8>> {
        while !bytes.is_empty() {
            let end = memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
            let (piece, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
            bytes = rest;
            if !self.is_in_line {
                self.held.extend_from_slice(piece);
                match Header::of(&self.held) {
                    Header::Open => continue,
                    Header::Whole => {
                        self.held.extend_from_slice(rest);
                        return Some(std::mem::take(&mut self.held));
                    }
                    Header::None => lines(&self.held),
                }
                self.held.clear();
            } else {
                lines(piece);
            }
            self.is_in_line = !piece.ends_with(b"\n");
        }
        None
    }

    /// The input has ended: passes the bytes to `lines` that could have begun a header.
    pub(crate) fn finish(&mut self, lines: impl FnOnce(&[u8])) {
        if !self.held.is_empty() {
            lines(&std::mem::take(&mut self.held));
        }
    }
}

/// Whether a text is a header with the blank line that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    None,
    /// The text may be the beginning of one.
    Open,
    Whole,
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
        if !is_length || text.len() > LONGEST_HEADER {
            return Self::None;
        }
        for line in lines {
            match line {
                b"\n" | b"\r\n" => return Self::Whole,
                b"\r" => {}
                _ if begins(line, b"content-type") => {}
                _ => return Self::None,
            }
        }
        Self::Open
    }
}

/// The framing of a line, if it is the first of a message.
fn framing_of(line: &[u8]) -> Option<Framing> {
    match Framing::recognise(line) {
        Some(framing @ (Framing::Newline | Framing::ContentLength)) => Some(framing),
        // What reaches the end of a line is whole.
        _ => header_within(line).filter(|_| line.ends_with(b"\n")).map(|_| Framing::ContentLength),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a stream that comes in pieces of this size: the noise, the framing, and what is left for its decoder.
    fn found(stream: &[u8], size: usize) -> (Vec<u8>, Option<Framing>, Vec<u8>) {
        let mut detector = Detector::new(100);
        let mut noise = Vec::new();
        let mut framing = None;
        for piece in stream.chunks(size) {
            match framing {
                None => framing = detector.take(piece, |bytes| noise.extend_from_slice(bytes)),
                Some(_) => detector.held.extend_from_slice(piece),
            }
        }
        (noise, framing, detector.into_rest())
    }

    #[test]
    fn a_banner_is_no_message_however_it_begins() {
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
                assert_eq!(found(&stream, size), expected, "{banner} {size}");
            }
        }
    }

    #[test]
    fn a_message_that_is_too_long_for_a_line_is_in_lines() {
        let stream = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}", "x".repeat(200));
        assert_eq!(found(stream.as_bytes(), 10), (Vec::new(), Some(Framing::Newline), stream.into_bytes()));
    }

    #[test]
    fn a_header_and_a_blank_line_among_lines_belong_to_a_frame() {
        let lines = "{\"jsonrpc\":\"2.0\",\"level\":30}\n\nContent-Length: none\nContent-Length: 5\nfive\nContent\n";
        for header in ["Content-Length: 2\r\n\r\n", "content-length:2\nContent-Type: x\n\n"] {
            let stream = format!("{lines}{header}{{}}\n");
            for size in [1, 3, 1_000] {
                let (mut watch, mut passed, mut rest) = (HeaderWatch::default(), Vec::new(), Vec::new());
                for piece in stream.as_bytes().chunks(size) {
                    if rest.is_empty() {
                        rest = watch.take(piece, |line| passed.extend_from_slice(line)).unwrap_or_default();
                    } else {
                        rest.extend_from_slice(piece);
                    }
                }
                assert_eq!(String::from_utf8_lossy(&passed), lines, "{size}");
                assert_eq!(String::from_utf8_lossy(&rest), format!("{header}{{}}\n"), "{size}");
            }
        }
        let (mut watch, mut passed) = (HeaderWatch::default(), Vec::new());
        assert_eq!(watch.take(b"{}\nContent-Length: 5\n", |line| passed.extend_from_slice(line)), None);
        watch.finish(|line| passed.extend_from_slice(line));
        assert_eq!(passed, b"{}\nContent-Length: 5\n");
    }

    #[test]
    fn a_header_behind_text_without_a_line_end_is_a_header() {
        let (noise, framing, rest) = found(b"ready> Content-Length: 2\r\n\r\n{}", 4);
        assert_eq!((noise.as_slice(), framing), (&b""[..], Some(Framing::ContentLength)));
        assert_eq!(rest, b"ready> Content-Length: 2\r\n\r\n{}");
    }

    #[test]
    fn the_end_of_the_stream_decides() {
        for (stream, framing) in [
            (&b"{}"[..], Framing::Newline),
            (b"{\"a\":", Framing::Newline),
            (b"Content-Le", Framing::ContentLength),
            (b"Content-Length: 5", Framing::ContentLength),
            (b"", Framing::ContentLength),
            (b"hello", Framing::ContentLength),
        ] {
            let mut detector = Detector::new(100);
            assert_eq!(detector.take(stream, |_| {}), None);
            assert_eq!(detector.finish(), framing, "{}", String::from_utf8_lossy(stream));
        }
    }
}
