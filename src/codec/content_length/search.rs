//! The search for a header where none is due: in a line of something else, or in a body that is no JSON.

use memchr::memchr2;

const NAME: &[u8] = b"content-length";

/// The longest beginning of a body that is compared with a header, in bytes. Names are shorter, and leave room for a few blanks.
const MAX_PEEK_BYTES: usize = 32;

/// How much of a line `Content-Length: N` has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderMatch {
    /// So many characters of the name.
    Name(usize),
    /// The name, and perhaps blanks.
    BeforeColon,
    /// The colon, and perhaps blanks.
    Value,
    Digits,
    /// Blanks behind the digits.
    AfterDigits,
    /// The first half of a CRLF.
    Return,
    /// All of it, with its line end.
    Complete,
}

impl HeaderMatch {
    pub(super) const NONE: Self = Self::Name(0);

    /// The progress after one more byte. The name holds its first letter only once: whatever does not go on is either the
    /// first letter of another try, or nothing.
    pub(super) fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Name(seen), _) if NAME.get(seen) == Some(&byte.to_ascii_lowercase()) => {
                if seen + 1 == NAME.len() {
                    Self::BeforeColon
                } else {
                    Self::Name(seen + 1)
                }
            }
            (Self::BeforeColon, b' ' | b'\t') => Self::BeforeColon,
            (Self::BeforeColon, b':') | (Self::Value, b' ' | b'\t') => Self::Value,
            (Self::Value | Self::Digits, b'0'..=b'9') => Self::Digits,
            (Self::Digits | Self::AfterDigits, b' ' | b'\t') => Self::AfterDigits,
            (Self::Digits | Self::AfterDigits, b'\r') => Self::Return,
            (Self::Digits | Self::AfterDigits | Self::Return, b'\n') => Self::Complete,
            (_, b'c' | b'C') => Self::Name(1),
            _ => Self::NONE,
        }
    }
}

/// Where in `bytes` a line `Content-Length: N` is that reaches their end, whole or as far as they go; with the progress that it
/// is in. A line that ends before that is given as [`HeaderMatch::Complete`], with where it starts.
pub(super) fn find(bytes: &[u8]) -> Option<(usize, HeaderMatch)> {
    let mut progress = HeaderMatch::NONE;
    let mut start = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if progress == HeaderMatch::NONE {
            at += memchr2(b'c', b'C', bytes.get(at..)?)?;
            start = at;
            progress = HeaderMatch::Name(1);
        } else {
            progress = progress.after(*byte);
            match progress {
                HeaderMatch::Complete => return Some((start, progress)),
                HeaderMatch::Name(1) => start = at,
                _ => {}
            }
        }
        at += 1;
    }
    (progress != HeaderMatch::NONE).then_some((start, progress))
}

/// Where in a body that is no JSON the next header may begin: a whole line `Content-Length: N`, or the beginning of one at the
/// very end. A length that is too long makes a body swallow it.
///
/// What stands there is to be given back by [`super::Decoder::unread`]. A string in JSON holds no line end, so the text of a
/// broken message is not taken for a header.
#[must_use]
pub fn header_within(body: &[u8]) -> Option<usize> {
    find(body).map(|(start, _)| start)
}

/// Whether bytes that should be a body are the next header instead: no JSON text begins with a name and a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peek {
    Header,
    Body,
    /// There are too few to tell.
    Open,
}

pub(super) fn peek(bytes: &[u8]) -> Peek {
    let bytes = bytes.get(..MAX_PEEK_BYTES).unwrap_or(bytes);
    let name = bytes.iter().position(|byte| !is_name(*byte)).unwrap_or(bytes.len());
    let rest = bytes.get(name..).unwrap_or_default();
    let blanks = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
    match rest.get(blanks) {
        None if bytes.len() < MAX_PEEK_BYTES && (name > 0 || bytes.is_empty()) => Peek::Open,
        Some(b':') if name > 0 => Peek::Header,
        _ => Peek::Body,
    }
}

/// The characters of a header's name (RFC 9110 §5.6.2, `token`).
pub(super) const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}
