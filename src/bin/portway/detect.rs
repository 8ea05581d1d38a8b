//! Which framing a stream is in, told from the first message in it. What is before that is noise, such as a banner.

use memchr::memchr;
use portway::Framing;
use portway::codec::content_length::header_within;
use serde_json::value::RawValue;

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
        if framing.is_none() && self.held.len() - at > self.most {
            at = self.held.len();
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
        framing_of(&self.held).or_else(|| Framing::recognise(&self.held)).unwrap_or(Framing::ContentLength)
    }

    /// What was read and is not noise.
    pub(crate) fn into_rest(self) -> Vec<u8> {
        self.held
    }
}

/// The framing of a line, if it is the first of a message.
fn framing_of(line: &[u8]) -> Option<Framing> {
    // A log line may begin with a bracket: only JSON is a message.
    match Framing::recognise(line) {
        Some(Framing::Newline) if serde_json::from_slice::<&RawValue>(line).is_ok() => Some(Framing::Newline),
        Some(Framing::ContentLength) => Some(Framing::ContentLength),
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
            ("[INFO] starting\n", b"{\"jsonrpc\":\"2.0\"}\n", Framing::Newline),
            ("Hello. Content-Length is what I speak\n", b" [1]\n{}\n", Framing::Newline),
            ("12\n\"text\"\n", b"[]\n", Framing::Newline),
            (&format!("{}\n", "long ".repeat(50)), b"{}\n", Framing::Newline),
        ] {
            let stream = [banner.as_bytes(), message].concat();
            for size in [1, 3, 1000] {
                let expected = (banner.as_bytes().to_vec(), Some(framing), message.to_vec());
                assert_eq!(found(&stream, size), expected, "{banner} {size}");
            }
        }
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
