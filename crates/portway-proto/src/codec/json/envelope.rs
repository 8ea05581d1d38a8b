//! The members of a message and of an error object, as text.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use memchr::memchr;

use super::scan::Scanner;
use crate::limits::is_longer;
use crate::message::{Kind, Shape};
use crate::validate::Code;

/// Every whole number with at most this many digits is an [`i64`].
pub(super) const MAX_SAFE_DIGITS: usize = 18;

/// The members of a message that the specification defines. Their values are JSON text.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    pub(super) jsonrpc: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) method: Option<&'a str>,
    pub(super) params: Option<&'a str>,
    pub(super) result: Option<&'a str>,
    pub(super) error: Option<&'a str>,
    /// Whether any of these members is repeated. The last value of a repeated member counts.
    pub(super) repeated: bool,
    /// Whether the id is repeated.
    pub(super) is_id_repeated: bool,
}

impl<'a> Envelope<'a> {
    /// Reads the next value. Returns `None` if the value is not an object, or if the text is not JSON.
    pub(super) fn scan(scanner: &mut Scanner<'a>) -> Option<Self> {
        let ([jsonrpc, id, method, params, result, error], repeats) = read_members(scanner, |name| match name {
            "jsonrpc" => Some(0),
            "id" => Some(1),
            "method" => Some(2),
            "params" => Some(3),
            "result" => Some(4),
            "error" => Some(5),
            _ => None,
        })?;
        let (repeated, is_id_repeated) = (repeats != 0, repeats & 1 << 1 != 0);
        Some(Self { jsonrpc, id, method, params, result, error, repeated, is_id_repeated })
    }

    /// Returns the kinds of the members. A method with more UTF-16 code units than `max_method_length` is
    /// [`Kind::TooLong`].
    #[inline]
    pub(super) fn shape(&self, max_method_length: usize) -> Shape {
        let method = match kind(self.method) {
            Kind::String if self.method.is_some_and(|method| is_string_longer(method, max_method_length)) => {
                Kind::TooLong
            }
            kind => kind,
        };
        Shape {
            version: self.jsonrpc.is_some_and(is_version),
            id: kind(self.id),
            method,
            params: kind(self.params),
            result: kind(self.result),
            error: kind(self.error),
        }
    }
}

/// The members of an error object.
#[derive(Default)]
pub(super) struct ErrorMembers<'a> {
    pub(super) code: Option<&'a str>,
    pub(super) message: Option<&'a str>,
    pub(super) data: Option<&'a str>,
}

impl<'a> ErrorMembers<'a> {
    /// Reads an object. Returns `None` for any other value.
    pub(super) fn read(value: &'a str) -> Option<Self> {
        let mut scanner = Scanner::new(value, usize::MAX);
        let ([code, message, data], _) = read_members(&mut scanner, |name| match name {
            "code" => Some(0),
            "message" => Some(1),
            "data" => Some(2),
            _ => None,
        })?;
        Some(Self { code, message, data })
    }

    pub(super) fn code(&self) -> Code {
        match self.code {
            Some(text) if starts_number(text) => match text.parse() {
                Ok(integer) => Code::Integer(integer),
                Err(_) => text.parse().map_or(Code::NotInteger, Code::from_f64),
            },
            _ => Code::NotInteger,
        }
    }
}

/// Returns the kind of a value. The kind of a number depends on its value, not on its text: `1.0` is an integer.
#[inline]
pub(super) fn kind(value: Option<&str>) -> Kind {
    let Some(text) = value else { return Kind::Missing };
    match text.as_bytes() {
        [b'n', ..] => Kind::Null,
        [b't' | b'f', ..] => Kind::Boolean,
        [b'"', b'"'] => Kind::EmptyString,
        [b'"', ..] => Kind::String,
        [b'[', ..] => Kind::Array,
        [b'{', ..] => Kind::Object,
        // A number with at most `MAX_SAFE_DIGITS` digits cannot exceed the range of integers.
        digits @ [b'0'..=b'9', ..] if digits.len() <= MAX_SAFE_DIGITS && digits.iter().all(u8::is_ascii_digit) => {
            Kind::Integer
        }
        _ if text.parse::<i64>().is_ok() => Kind::Integer,
        _ => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => match Code::from_f64(number) {
                Code::Integer(_) => Kind::Integer,
                Code::NotInteger => Kind::Fraction,
            },
            _ => Kind::Other,
        },
    }
}

/// Decodes a string. Returns `None` for any other value, and for a string with a lone surrogate.
pub(super) fn string(value: &str) -> Option<Box<str>> {
    borrowed_string(value).map(Cow::into)
}

/// Decodes a string like [`string`]. A string without escapes is borrowed.
pub(super) fn borrowed_string(value: &str) -> Option<Cow<'_, str>> {
    let inner = within_quotes(value)?;
    if memchr(b'\\', inner.as_bytes()).is_none() { Some(inner.into()) } else { serde_json::from_str(value).ok() }
}

/// Returns whether the string in the JSON text `value` has more than `max` UTF-16 code units.
fn is_string_longer(value: &str, max: usize) -> bool {
    // The JSON text has more bytes than the string has UTF-16 code units, so a short text needs no decoding.
    value.len() > max && string(value).is_some_and(|string| is_longer(&string, max))
}

fn is_version(value: &str) -> bool {
    value == "\"2.0\"" || string(value).as_deref() == Some("2.0")
}

/// Returns the text within the quotes of a string. Escapes are not decoded.
#[inline]
fn within_quotes(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

fn starts_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Reads the next value. Returns the last value of each member, at the index that `index_of` returns for the name. Also
/// returns one bit for each index, which is 1 if the member is repeated. Returns `None` if the value is not an object,
/// or if the text is not JSON.
#[inline]
fn read_members<'a, const N: usize>(
    scanner: &mut Scanner<'a>,
    index_of: impl Fn(&str) -> Option<usize>,
) -> Option<([Option<&'a str>; N], u32)> {
    let mut values = [None; N];
    let mut repeats = 0;
    scanner.members(|name, value| {
        // Most names contain no escapes, so only names with escapes are decoded.
        let index = within_quotes(name).and_then(&index_of).or_else(|| {
            memchr(b'\\', name.as_bytes())?;
            index_of(&string(name)?)
        });
        if let Some((index, kept)) = index.and_then(|index| Some((index, values.get_mut(index)?))) {
            repeats |= u32::from(kept.replace(value).is_some()) << index;
        }
    })?;
    Some((values, repeats))
}
