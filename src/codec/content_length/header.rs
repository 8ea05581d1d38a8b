//! The lines of a header.

use super::search::{HeaderMatch, find};
use crate::message::Reason;

/// What one line says. Names are read in any case, with blanks around the colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A length; `None` if it has more digits than a `u64`.
    Length(Option<u64>),
    /// A header `Content-Length` whose value is no number.
    NoLength,
    /// A header whose name ends with `-Content-Length`. If there is no better one, then it is the real one behind something
    /// that ended without a line end.
    PerhapsLength(Option<u64>),
    /// What the body is: JSON-RPC, or why it is refused.
    ContentType(Option<Reason>),
    /// Any other header.
    Other,
}

/// The length in a header of nothing but `Content-Length: N`, written as [`super::encode`] writes it, and how long the header
/// is with its blank line. `None` for any other, however good, and for the beginning of one.
pub(super) fn usual_header(bytes: &[u8]) -> Option<(usize, usize)> {
    /// With more digits than these, it needs a closer look.
    const DIGITS: usize = 9;
    let mut rest = bytes.strip_prefix(b"Content-Length: ")?;
    let mut length = 0;
    for _ in 0..DIGITS {
        let [digit @ b'0'..=b'9', tail @ ..] = rest else { break };
        length = length * 10 + usize::from(digit - b'0');
        rest = tail;
    }
    let rest = rest.strip_prefix(b"\r\n\r\n")?;
    Some((length, bytes.len() - rest.len()))
}

/// A line, and where in it a `Content-Length` begins that does not stand at its start.
pub(super) fn read_line(line: &[u8]) -> (Line, Option<usize>) {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let colon = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
    let (name, value) = text.split_at_checked(colon).unwrap_or((text, &[]));
    let name = name.trim_ascii();
    let value = value.strip_prefix(b":").unwrap_or(value).trim_ascii();
    let inner = |from: usize| match find(line.get(from..)?)? {
        (start, HeaderMatch::Complete) => Some(start + from),
        _ => None,
    };
    if name.eq_ignore_ascii_case(b"content-length") {
        return match read_length(value) {
            Some(length) => (Line::Length(length), None),
            None => (Line::NoLength, inner(1)),
        };
    }
    match inner(0) {
        None if name.eq_ignore_ascii_case(b"content-type") => (Line::ContentType(refusal(value)), None),
        Some(start) if start < colon && start.checked_sub(1).and_then(|before| name.get(before)) == Some(&b'-') => {
            (read_length(value).map_or(Line::Other, Line::PerhapsLength), None)
        }
        start => (Line::Other, start),
    }
}

/// The length in a line that is known to hold nothing else.
pub(super) fn length_in(line: &[u8]) -> Option<u64> {
    let digits = line.iter().filter(|byte| byte.is_ascii_digit());
    digits.copied().try_fold(0, add_digit)
}

/// Digits and nothing else. Inner `None`: more of them than a `u64` has.
fn read_length(value: &[u8]) -> Option<Option<u64>> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| length_in(value))
}

fn add_digit(number: u64, digit: u8) -> Option<u64> {
    number.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')))
}

/// Why a body of this content type is not read: `application/vscode-jsonrpc` in UTF-8 is (Language Server Protocol 3.17,
/// header part).
fn refusal(content_type: &[u8]) -> Option<Reason> {
    let mut parts = content_type.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    if !parts.next().unwrap_or_default().eq_ignore_ascii_case(b"application/vscode-jsonrpc") {
        return Some(Reason::UnsupportedContentType);
    }
    let is_readable = parts.all(|parameter| {
        let equals = parameter.iter().position(|byte| *byte == b'=').unwrap_or(parameter.len());
        let (name, value) = parameter.split_at_checked(equals).unwrap_or((parameter, &[]));
        let value = value.strip_prefix(b"=").unwrap_or(value).trim_ascii();
        let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
        !name.trim_ascii().eq_ignore_ascii_case(b"charset")
            || value.eq_ignore_ascii_case(b"utf-8")
            // Written by mistake in early versions of the protocol.
            || value.eq_ignore_ascii_case(b"utf8")
    });
    if is_readable { None } else { Some(Reason::BadCharset) }
}
