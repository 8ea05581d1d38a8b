//! The members of one object, unread.

use alloc::boxed::Box;

use memchr::memchr;

use super::scan::Scanner;
use crate::limits::is_longer;
use crate::message::{Kind, Shape};
use crate::validate::Code;

/// The members of an envelope.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    pub(super) jsonrpc: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) method: Option<&'a str>,
    pub(super) params: Option<&'a str>,
    pub(super) result: Option<&'a str>,
    pub(super) error: Option<&'a str>,
    /// Whether one of them came twice. The last one is kept.
    pub(super) repeated: bool,
    /// Whether the id came twice.
    pub(super) is_id_repeated: bool,
}

impl<'a> Envelope<'a> {
    /// Reads the object that comes next; `None` if the text is no JSON, or no object comes.
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

    /// The name of a method that is longer than this, in characters, has a kind of its own.
    pub(super) fn shape(&self, longest_method: usize) -> Shape {
        let method = match kind(self.method) {
            Kind::String if self.method.is_some_and(|method| has_more(method, longest_method)) => Kind::TooLong,
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
    /// Reads an object; `None` if the value is none.
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

/// What kind of value it is. For a number that is a question of its value, not of its text.
pub(super) fn kind(value: Option<&str>) -> Kind {
    let Some(text) = value else { return Kind::Missing };
    match text.as_bytes() {
        [b'n', ..] => Kind::Null,
        [b't' | b'f', ..] => Kind::Boolean,
        [b'"', b'"'] => Kind::EmptyString,
        [b'"', ..] => Kind::String,
        [b'[', ..] => Kind::Array,
        [b'{', ..] => Kind::Object,
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

/// The string that the value is; `None` if it is none, or holds half of a surrogate pair.
pub(super) fn string(value: &str) -> Option<Box<str>> {
    let inner = within_quotes(value)?;
    if memchr(b'\\', inner.as_bytes()).is_none() { Some(inner.into()) } else { serde_json::from_str(value).ok() }
}

/// Whether a string, as it stands in JSON text, has more characters than this.
fn has_more(value: &str, longest: usize) -> bool {
    // Escapes only make it longer. What is no string after all is refused for that, later.
    value.len() > longest && string(value).is_some_and(|string| is_longer(&string, longest))
}

fn is_version(value: &str) -> bool {
    value == "\"2.0\"" || string(value).as_deref() == Some("2.0")
}

/// What is within the quotes of a string, as it stands there.
fn within_quotes(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

fn starts_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// The members of the object that comes next, each at its place, with one bit for each that came twice: then the last
/// one counts. `None` if the text is not JSON, or no object comes.
fn read_members<'a, const N: usize>(
    scanner: &mut Scanner<'a>,
    place_of: impl Fn(&str) -> Option<usize>,
) -> Option<([Option<&'a str>; N], u32)> {
    let mut values = [None; N];
    let mut repeats = 0;
    scanner.members(|name, value| {
        // Hardly anybody writes names with escapes.
        let place = within_quotes(name).and_then(&place_of).or_else(|| {
            memchr(b'\\', name.as_bytes())?;
            place_of(&string(name)?)
        });
        if let Some((place, kept)) = place.and_then(|place| Some((place, values.get_mut(place)?))) {
            repeats |= u32::from(kept.replace(value).is_some()) << place;
        }
    })?;
    Some((values, repeats))
}
