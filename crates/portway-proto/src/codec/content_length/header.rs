//! Parsing of header lines.

use super::search::{HeaderMatch, find};
use crate::message::Reason;

/// The content of one header line. The case of a name has no effect. Whitespace around the colon is optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A header `Content-Length`. `None` if its value exceeds a `u64`.
    Length(Option<u64>),
    /// A header `Content-Length` whose value is not a number.
    InvalidLength,
    /// A header whose name ends with `-Content-Length`. The text before `Content-Length` may be output that lacks a
    /// line end. This length applies only if no line of the whole header is a `Content-Length`.
    SuffixedLength(Option<u64>),
    /// A header `Content-Type`. The value is the reason to refuse the body, or `None` for JSON-RPC in UTF-8.
    ContentType(Option<Reason>),
    /// Any other header.
    Other,
}

/// Returns the length of the body, and the number of bytes of the header with its blank line. The header must have the
/// exact form that [`super::encode`] writes. Returns `None` for an incomplete header and for any other form.
pub(super) fn canonical_header(bytes: &[u8]) -> Option<(usize, usize)> {
    /// Maximum number of digits. Longer numbers need a check for overflow.
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

/// Parses a line. Also returns the position of a `Content-Length: N` that begins inside the line.
pub(super) fn read_line(line: &[u8]) -> (Line, Option<usize>) {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let colon = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
    let (name, value) = text.split_at_checked(colon).unwrap_or((text, &[]));
    let name = name.trim_ascii();
    let value = value.strip_prefix(b":").unwrap_or(value).trim_ascii();
    let inner_header_start = |from: usize| match find(line.get(from..)?)? {
        (start, HeaderMatch::Complete) => Some(start + from),
        _ => None,
    };
    if name.eq_ignore_ascii_case(b"content-length") {
        return match read_length(value) {
            Some(length) => (Line::Length(length), None),
            None => (Line::InvalidLength, inner_header_start(1)),
        };
    }
    match inner_header_start(0) {
        None if name.eq_ignore_ascii_case(b"content-type") => (Line::ContentType(refusal(value)), None),
        Some(start) if start < colon && start.checked_sub(1).and_then(|before| name.get(before)) == Some(&b'-') => {
            (read_length(value).map_or(Line::Other, Line::SuffixedLength), None)
        }
        start => (Line::Other, start),
    }
}

/// Returns the length in a line that is known to be a valid `Content-Length`, or `None` if the length exceeds a `u64`.
pub(super) fn length_in(line: &[u8]) -> Option<u64> {
    let digits = line.iter().filter(|byte| byte.is_ascii_digit());
    digits.copied().try_fold(0, add_digit)
}

/// Parses a value that consists of digits only. The inner `None` stands for a number that exceeds a `u64`.
fn read_length(value: &[u8]) -> Option<Option<u64>> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| length_in(value))
}

fn add_digit(number: u64, digit: u8) -> Option<u64> {
    number.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')))
}

/// Returns the reason to refuse a body of this content type, or `None` to accept the body. Only
/// `application/vscode-jsonrpc` in UTF-8 is accepted (Language Server Protocol 3.17, header part).
fn refusal(content_type: &[u8]) -> Option<Reason> {
    let mut parts = content_type.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    if !parts.next().unwrap_or_default().eq_ignore_ascii_case(b"application/vscode-jsonrpc") {
        return Some(Reason::UnsupportedContentType);
    }
    let is_utf_8 = parts.all(|parameter| {
        let equals = parameter.iter().position(|byte| *byte == b'=').unwrap_or(parameter.len());
        let (name, value) = parameter.split_at_checked(equals).unwrap_or((parameter, &[]));
        let value = value.strip_prefix(b"=").unwrap_or(value).trim_ascii();
        let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
        !name.trim_ascii().eq_ignore_ascii_case(b"charset")
            || value.eq_ignore_ascii_case(b"utf-8")
            // Early versions of the Language Server Protocol wrote `utf8` by mistake.
            || value.eq_ignore_ascii_case(b"utf8")
    });
    if is_utf_8 { None } else { Some(Reason::BadCharset) }
}
