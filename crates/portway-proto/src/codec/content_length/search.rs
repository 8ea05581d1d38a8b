//! Searches noise for a header. Noise is the bytes of a byte stream that belong to no frame. A body that is not JSON is
//! searched in the same way.

use memchr::memchr2;

const NAME: &[u8] = b"content-length";

/// Maximum number of bytes that [`peek`] examines. A header is recognised only if its name and colon are within these
/// bytes. The name `Content-Length` has 14 bytes, so up to 17 bytes of whitespace may precede the colon.
const MAX_PEEK_BYTES: usize = 32;

/// The part of a line `Content-Length: N` that has matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderMatch {
    /// The first characters of the name. The value is the number of these characters.
    Name(usize),
    /// The name, and optional whitespace.
    BeforeColon,
    /// The colon, and optional whitespace.
    Value,
    Digits,
    /// Whitespace after the digits.
    AfterDigits,
    /// The CR of a line end.
    Return,
    /// The whole line, with its line end.
    Complete,
}

impl HeaderMatch {
    pub(super) const NONE: Self = Self::Name(0);

    /// Returns the progress after one more byte. The first letter of the name occurs only once in the name. So if a
    /// byte does not continue the match, no earlier byte can begin another match.
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

/// Finds a line `Content-Length: N` in `bytes`. The line may be incomplete at the end of `bytes`. Returns the position
/// of the line, and the part of the line that has matched.
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

/// Returns the position of the next header in bytes that are not JSON. The header is a line `Content-Length: N` with
/// its line end. At the end of the bytes, the header may be incomplete. A JSON string cannot contain a line end, so a
/// complete string with the text `Content-Length: N` is not a header. [`super::Decoder::reject_body`] uses this
/// function.
#[must_use]
pub fn header_within(bytes: &[u8]) -> Option<usize> {
    find(bytes).map(|(start, _)| start)
}

/// The result of [`peek`]: whether a header or a body follows. JSON text does not begin with a name and a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peek {
    Header,
    Body,
    /// More bytes are needed for a decision.
    Undecided,
}

pub(super) fn peek(bytes: &[u8]) -> Peek {
    let bytes = bytes.get(..MAX_PEEK_BYTES).unwrap_or(bytes);
    let name = bytes.iter().position(|byte| !is_name(*byte)).unwrap_or(bytes.len());
    let rest = bytes.get(name..).unwrap_or_default();
    let whitespace = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
    match rest.get(whitespace) {
        None if bytes.len() < MAX_PEEK_BYTES && (name > 0 || bytes.is_empty()) => Peek::Undecided,
        Some(b':') if name > 0 => Peek::Header,
        _ => Peek::Body,
    }
}

/// Returns whether the byte may be in a header name (RFC 9110 §5.6.2, `token`).
pub(super) const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}
