//! The members of one object, unread.

use alloc::boxed::Box;
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::message::{Kind, Shape};
use crate::validate::Code;

/// The members of an envelope.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    pub(super) jsonrpc: Option<&'a RawValue>,
    pub(super) id: Option<&'a RawValue>,
    pub(super) method: Option<&'a RawValue>,
    pub(super) params: Option<&'a RawValue>,
    pub(super) result: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    /// Whether one of them came twice. The last one is kept.
    pub(super) repeated: bool,
}

impl<'a> Envelope<'a> {
    /// Reads an object; `None` if the value is none.
    pub(super) fn read(value: &'a RawValue) -> Option<Self> {
        let names = ["jsonrpc", "id", "method", "params", "result", "error"];
        let ([jsonrpc, id, method, params, result, error], repeated) = read_members(value, names)?;
        Some(Self { jsonrpc, id, method, params, result, error, repeated })
    }

    pub(super) fn shape(&self) -> Shape {
        Shape {
            version: self.jsonrpc.is_some_and(|version| string(version).as_deref() == Some("2.0")),
            id: kind(self.id),
            method: kind(self.method),
            params: kind(self.params),
            result: kind(self.result),
            error: kind(self.error),
        }
    }
}

/// The members of an error object.
#[derive(Default)]
pub(super) struct ErrorMembers<'a> {
    pub(super) code: Option<&'a RawValue>,
    pub(super) message: Option<&'a RawValue>,
    pub(super) data: Option<&'a RawValue>,
}

impl<'a> ErrorMembers<'a> {
    /// Reads an object; `None` if the value is none.
    pub(super) fn read(value: &'a RawValue) -> Option<Self> {
        let ([code, message, data], _) = read_members(value, ["code", "message", "data"])?;
        Some(Self { code, message, data })
    }

    pub(super) fn code(&self) -> Code {
        match self.code.map(RawValue::get) {
            Some(text) if starts_number(text) => match text.parse() {
                Ok(integer) => Code::Integer(integer),
                Err(_) => text.parse().map_or(Code::NotInteger, Code::from_f64),
            },
            _ => Code::NotInteger,
        }
    }
}

/// What kind of value it is. For a number that is a question of its value, not of its text.
pub(super) fn kind(value: Option<&RawValue>) -> Kind {
    let Some(text) = value.map(RawValue::get) else { return Kind::Missing };
    match text.as_bytes() {
        [b'n', ..] => Kind::Null,
        [b't' | b'f', ..] => Kind::Boolean,
        [b'"', b'"'] => Kind::EmptyString,
        [b'"', ..] => Kind::String,
        [b'[', ..] => Kind::Array,
        [b'{', ..] => Kind::Object,
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
pub(super) fn string(value: &RawValue) -> Option<Box<str>> {
    serde_json::from_str(value.get()).ok()
}

fn starts_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Gives each element of an array to `take`, in order. Returns whether `text` is one JSON array, which is known only at
/// the end.
pub(super) fn read_elements<'a>(text: &'a str, take: impl FnMut(&'a RawValue)) -> bool {
    struct Elements<F>(F);

    impl<'de, F: FnMut(&'de RawValue)> Visitor<'de> for Elements<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
            while let Some(element) = elements.next_element()? {
                (self.0)(element);
            }
            Ok(())
        }
    }

    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_seq(Elements(take)).and_then(|()| deserializer.end()).is_ok()
}

/// The members with these names, and whether one of them came twice.
fn read_members<'a, const N: usize>(
    value: &'a RawValue,
    names: [&'static str; N],
) -> Option<([Option<&'a RawValue>; N], bool)> {
    struct Members<const N: usize>([&'static str; N]);

    impl<'de, const N: usize> Visitor<'de> for Members<N> {
        type Value = ([Option<&'de RawValue>; N], bool);

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
            let mut values = [None; N];
            let mut repeated = false;
            while let Some(place) = members.next_key_seed(NameIn(&self.0))? {
                match place.and_then(|place| values.get_mut(place)) {
                    Some(value) => repeated |= value.replace(members.next_value()?).is_some(),
                    None => drop(members.next_value::<IgnoredAny>()?),
                }
            }
            Ok((values, repeated))
        }
    }

    serde_json::Deserializer::from_str(value.get()).deserialize_map(Members(names)).ok()
}

/// Reads the name of a member: its place in the list, if it is there.
struct NameIn<'n>(&'n [&'static str]);

impl<'de> DeserializeSeed<'de> for NameIn<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<Self::Value, D::Error> {
        // As bytes, since the name of a member that we pass over may hold half of a surrogate pair.
        name.deserialize_bytes(self)
    }
}

impl Visitor<'_> for NameIn<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_bytes<E>(self, name: &[u8]) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|known| known.as_bytes() == name))
    }
}
