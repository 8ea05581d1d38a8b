//! Reads values of JavaScript by serde, as `serde_wasm_bindgen` does, within bounds.
//!
//! A peer chooses these values, so `serde_wasm_bindgen` is not safe to read them. It copies strings and buffers of any size,
//! repeats them in errors, and lets exceptions of JavaScript unwind through Rust, which uses up the stack of the wasm: it does
//! so for a null in a list where a map is expected. Here each visit is counted, and nothing is copied before it is counted.

use core::cell::{Cell, RefCell};
use core::fmt::{self, Display, Write};
use core::iter::Peekable;
use std::collections::HashMap;
use std::string::String;
use std::vec;

use js_sys::{Array, Uint8Array};
use serde::de::{
    self, Deserialize, DeserializeOwned, DeserializeSeed, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use wasm_bindgen::{JsCast, JsValue};

use super::bridge::{
    bytes_of, elements_of, entries_of, fields_of, kind_of, number_of, own_entries_of, start_of, text_of,
};
use super::limits::{MAX_ERROR_TEXT, MAX_NESTING};
use crate::limits::MAX_ECHO_LENGTH;

/// Bytes of a string or buffer that cost one more visit.
const BYTES_PER_VISIT: usize = 16;

/// Bytes of memory of a Rust value that cost one more visit.
const SIZE_PER_VISIT: usize = 256;

/// The name of the type by which `serde_wasm_bindgen::preserve` reads a value as it is.
const PRESERVED: &str = "1fc430ca-5b7f-4295-92de-33cf2b145d38";

// Kinds of values; `rust-values.js` has the same numbers.
const NULLISH: u32 = 0;
const FALSE: u32 = 1;
const TRUE: u32 = 2;
const INTEGER: u32 = 3;
const FLOAT: u32 = 4;
const BIGINT: u32 = 5;
const UNREADABLE: u32 = 7;
const STRING: u32 = 8;
const OBJECT: u32 = 9;
const ITERABLE: u32 = 10;
const MAP: u32 = 11;
const ARRAY: u32 = 12;
const BYTES: u32 = 13;

/// 2^53 - 1, the largest safe integer of JavaScript.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadError {
    TooDeep,
    /// With the limit.
    TooManyVisits(usize),
    /// A getter or a proxy throws an error.
    Unreadable,
    /// It is not of the type that was asked for.
    Invalid(String),
}

impl ReadError {
    /// The `data.reason` of a reply, if the value exceeds a limit.
    pub(super) const fn reason(&self) -> Option<&'static str> {
        match self {
            Self::TooDeep => Some("nesting-too-deep"),
            Self::TooManyVisits(_) => Some("too-many-visits"),
            Self::Unreadable | Self::Invalid(_) => None,
        }
    }
}

impl Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep => write!(f, "the value is nested more than {MAX_NESTING} levels deep"),
            Self::TooManyVisits(limit) => write!(f, "the value takes more than {limit} visits to read"),
            Self::Unreadable => f.write_str("the value has a getter or a proxy that throws an error"),
            Self::Invalid(problem) => f.write_str(problem),
        }
    }
}

impl core::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: Display>(message: T) -> Self {
        let mut text = Bounded { text: String::new(), room: MAX_ERROR_TEXT };
        // Writing fails once the text is full.
        let _ = write!(text, "{message}");
        Self::Invalid(text.text)
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid type: {}, expected {expected}", quoted(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid value: {}, expected {expected}", quoted(unexpected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!(
            "unknown variant `{}`, expected one of {expected:?}",
            shortened(variant, MAX_ECHO_LENGTH)
        ))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!(
            "unknown field `{}`, expected one of {expected:?}",
            shortened(field, MAX_ECHO_LENGTH)
        ))
    }
}

/// Shortens a string that was found.
fn quoted(unexpected: Unexpected<'_>) -> Unexpected<'_> {
    match unexpected {
        Unexpected::Str(text) => Unexpected::Str(shortened(text, MAX_ECHO_LENGTH)),
        other => other,
    }
}

/// Returns the first characters of a text.
fn shortened(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// A text of limited length.
struct Bounded {
    text: String,
    room: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = shortened(text, self.room);
        self.text.push_str(start);
        self.room -= start.chars().count();
        if start.len() == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// Reads a value with at most `max_visits` visits.
pub(super) fn read<T: DeserializeOwned>(value: JsValue, max_visits: usize) -> Result<T, ReadError> {
    let visits = Visits { left: Cell::new(Some(max_visits)), limit: max_visits };
    let value = Value::new(value, MAX_NESTING, &visits).and_then(T::deserialize);
    // A type may have replaced the error by one of its own.
    match value {
        Err(ReadError::Invalid(_)) if visits.left.get().is_none() => Err(ReadError::TooManyVisits(max_visits)),
        value => value,
    }
}

/// The visits of one conversion.
struct Visits {
    /// None once the limit is exceeded.
    left: Cell<Option<usize>>,
    limit: usize,
}

impl Visits {
    fn spend(&self, visits: usize) -> Result<(), ReadError> {
        let left = self.left.get().and_then(|left| left.checked_sub(visits));
        self.left.set(left);
        left.map(drop).ok_or(ReadError::TooManyVisits(self.limit))
    }

    fn exceeded(&self) -> ReadError {
        self.left.set(None);
        ReadError::TooManyVisits(self.limit)
    }

    /// Most parts that a value may have.
    fn left(&self) -> u32 {
        self.left.get().unwrap_or(0).try_into().unwrap_or(u32::MAX)
    }

    /// Checks a result of JavaScript: an array of parts, null for too many parts, undefined for an exception.
    fn parts(&self, parts: JsValue) -> Result<Array, ReadError> {
        if parts.is_undefined() {
            Err(ReadError::Unreadable)
        } else if parts.is_null() {
            Err(self.exceeded())
        } else {
            Ok(parts.unchecked_into())
        }
    }
}

/// A value of JavaScript that is being read.
struct Value<'b> {
    value: JsValue,
    /// None until it is needed.
    kind: Cell<Option<u32>>,
    /// How many levels this value may have.
    levels: u32,
    visits: &'b Visits,
}

impl<'b> Value<'b> {
    fn new(value: JsValue, levels: u32, visits: &'b Visits) -> Result<Self, ReadError> {
        visits.spend(1)?;
        Ok(Self { value, kind: Cell::new(None), levels, visits })
    }

    fn kind(&self) -> u32 {
        let kind = self.kind.get().unwrap_or_else(|| kind_of(&self.value));
        self.kind.set(Some(kind));
        kind
    }

    fn is_object(&self) -> bool {
        matches!(self.kind(), OBJECT..=BYTES)
    }

    /// How many levels the parts of this value may have.
    fn levels_inside(&self) -> Result<u32, ReadError> {
        self.levels.checked_sub(1).ok_or(ReadError::TooDeep)
    }

    /// Returns the text of a string, or None for another value. A text that takes too many visits is not copied.
    fn text(&self) -> Result<Option<String>, ReadError> {
        let most = self.visits.left().saturating_mul(BYTES_PER_VISIT as u32);
        match text_of(&self.value, most) {
            Some(text) => {
                self.visits.spend(text.len() / BYTES_PER_VISIT)?;
                Ok(Some(text))
            }
            None if self.kind() == STRING => Err(self.visits.exceeded()),
            None => Ok(None),
        }
    }

    fn bytes(&self) -> Result<vec::Vec<u8>, ReadError> {
        let bytes = bytes_of(&self.value);
        if bytes.is_undefined() {
            return Err(ReadError::Unreadable);
        }
        let bytes: Uint8Array = bytes.unchecked_into();
        self.visits.spend(bytes.length() as usize / BYTES_PER_VISIT)?;
        Ok(bytes.to_vec())
    }

    fn entries(&self) -> Result<Entries<'b>, ReadError> {
        let levels = self.levels_inside()?;
        let entries = self.visits.parts(entries_of(&self.value, self.visits.left()))?;
        Ok(Entries(Elements::new(entries, levels, self.visits)))
    }

    fn invalid_type<T>(&self, expected: &dyn Expected) -> Result<T, ReadError> {
        let start;
        let unexpected = match self.kind() {
            NULLISH => Unexpected::Unit,
            FALSE => Unexpected::Bool(false),
            TRUE => Unexpected::Bool(true),
            INTEGER => Unexpected::Signed(number_of(&self.value) as i64),
            FLOAT => Unexpected::Float(number_of(&self.value)),
            BIGINT => Unexpected::Other("a BigInt"),
            UNREADABLE => return Err(ReadError::Unreadable),
            STRING => {
                start = start_of(&self.value, MAX_ECHO_LENGTH as u32);
                Unexpected::Str(&start)
            }
            OBJECT | MAP => Unexpected::Map,
            ITERABLE | ARRAY => Unexpected::Seq,
            BYTES => Unexpected::Bytes(&[]),
            _ => Unexpected::Other("a function or a symbol"),
        };
        Err(de::Error::invalid_type(unexpected, expected))
    }

    /// Does not ask for the kind of an integer, which makes arrays of numbers faster.
    fn visit_integer<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, ReadError> {
        let number = number_of(&self.value);
        if number.abs() <= MAX_SAFE_INTEGER && number.trunc() == number {
            visitor.visit_i64(number as i64)
        } else {
            self.invalid_type(&visitor)
        }
    }
}

/// Reads a `BigInt` as an integer.
macro_rules! visit_bigint {
    ($self:ident, $visitor:ident, $type:ty, $visit:ident) => {
        match <$type>::try_from($self.value) {
            Ok(value) => $visitor.$visit(value),
            Err(_) => Err(de::Error::custom(concat!("a BigInt is out of the range of ", stringify!($type)))),
        }
    };
}

impl<'de> de::Deserializer<'de> for Value<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.kind() {
            NULLISH => visitor.visit_unit(),
            FALSE => visitor.visit_bool(false),
            TRUE => visitor.visit_bool(true),
            INTEGER => visitor.visit_i64(number_of(&self.value) as i64),
            FLOAT => visitor.visit_f64(number_of(&self.value)),
            BIGINT => match i64::try_from(self.value) {
                Ok(value) => visitor.visit_i64(value),
                Err(value) => match u64::try_from(value) {
                    Ok(value) => visitor.visit_u64(value),
                    Err(_) => Err(de::Error::custom("a BigInt is out of the range of i64 and u64")),
                },
            },
            ARRAY => self.deserialize_seq(visitor),
            BYTES => visitor.visit_byte_buf(self.bytes()?),
            OBJECT | MAP => self.deserialize_map(visitor),
            STRING => self.deserialize_string(visitor),
            _ => self.invalid_type(&visitor),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.kind() == NULLISH { visitor.visit_unit() } else { self.invalid_type(&visitor) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.kind() {
            FALSE => visitor.visit_bool(false),
            TRUE => visitor.visit_bool(true),
            _ => self.invalid_type(&visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let number = number_of(&self.value);
        // NaN also stands for values that are not numbers.
        if !number.is_nan() || self.kind() == FLOAT { visitor.visit_f64(number) } else { self.invalid_type(&visitor) }
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.visit_integer(visitor)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.visit_integer(visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.visit_integer(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.kind() == BIGINT { visit_bigint!(self, visitor, i64, visit_i64) } else { self.visit_integer(visitor) }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.kind() == BIGINT { visit_bigint!(self, visitor, i128, visit_i128) } else { self.invalid_type(&visitor) }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.visit_integer(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.visit_integer(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.visit_integer(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.kind() == BIGINT { visit_bigint!(self, visitor, u64, visit_u64) } else { self.visit_integer(visitor) }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.kind() == BIGINT { visit_bigint!(self, visitor, u128, visit_u128) } else { self.invalid_type(&visitor) }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if let Some(text) = self.text()? {
            let mut characters = text.chars();
            if let (Some(character), None) = (characters.next(), characters.next()) {
                return visitor.visit_char(character);
            }
        }
        self.invalid_type(&visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.text()? {
            Some(text) => visitor.visit_string(text),
            None => self.invalid_type(&visitor),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_byte_buf(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.kind() {
            BYTES => visitor.visit_byte_buf(self.bytes()?),
            ARRAY => self.deserialize_seq(visitor),
            _ => self.invalid_type(&visitor),
        }
    }

    /// `undefined` and null are `None`, all else is `Some`.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.kind() == NULLISH { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.kind() {
            ARRAY | ITERABLE | MAP => {
                let levels = self.levels_inside()?;
                let elements = self.visits.parts(elements_of(&self.value, self.visits.left()))?;
                visitor.visit_seq(Elements::new(elements, levels, self.visits))
            }
            BYTES => visitor.visit_seq(Bytes { bytes: self.bytes()?.into_iter(), visits: self.visits }),
            _ => self.invalid_type(&visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if name == PRESERVED {
            let value = serde_wasm_bindgen::Deserializer::from(self.value);
            return value.deserialize_tuple_struct(name, length, visitor).map_err(de::Error::custom);
        }
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if !self.is_object() {
            return self.invalid_type(&visitor);
        }
        match self.entries() {
            // An element is not a pair.
            Err(ReadError::Unreadable) if matches!(self.kind(), ITERABLE | ARRAY | BYTES) => {
                self.invalid_type(&visitor)
            }
            entries => visitor.visit_map(entries?),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if !self.is_object() {
            return self.invalid_type(&visitor);
        }
        let levels = self.levels_inside()?;
        let values = fields_of(&self.value, &field_names(fields));
        if values.is_undefined() {
            return Err(ReadError::Unreadable);
        }
        visitor.visit_map(Fields::new(fields, values.unchecked_into(), levels, self.visits))
    }

    /// As in `serde_json`: a string is a variant without content, an object with one member is a variant with content.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let Self { levels, visits, .. } = self;
        if self.kind() == STRING {
            let content = Value::new(JsValue::UNDEFINED, levels, visits)?;
            return visitor.visit_enum(Variant { name: self, content });
        }
        if !self.is_object() {
            return self.invalid_type(&visitor);
        }
        let entries = own_entries_of(&self.value, 1);
        if entries.is_undefined() {
            return Err(ReadError::Unreadable);
        }
        let entries: Array = entries.unchecked_into();
        if entries.is_null() || entries.length() != 2 {
            return Err(de::Error::custom("an enum is read from a string, or from an object with one member"));
        }
        let name = Value::new(entries.get_unchecked(0), levels, visits)?;
        let content = Value::new(entries.get_unchecked(1), self.levels_inside()?, visits)?;
        visitor.visit_enum(Variant { name, content })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }
}

impl<'de> VariantAccess<'de> for Value<'_> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        de::Deserializer::deserialize_seq(self, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        de::Deserializer::deserialize_struct(self, "", fields, visitor)
    }
}

struct Variant<'b> {
    name: Value<'b>,
    content: Value<'b>,
}

impl<'de, 'b> EnumAccess<'de> for Variant<'b> {
    type Error = ReadError;
    type Variant = Value<'b>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Value<'b>), ReadError> {
        Ok((seed.deserialize(self.name)?, self.content))
    }
}

/// The elements of an array that nothing else refers to.
struct Elements<'b> {
    elements: Array,
    at: u32,
    length: u32,
    levels: u32,
    visits: &'b Visits,
}

impl<'b> Elements<'b> {
    fn new(elements: Array, levels: u32, visits: &'b Visits) -> Self {
        let length = elements.length();
        Self { elements, at: 0, length, levels, visits }
    }

    fn next<'de, T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        if self.at == self.length {
            return Ok(None);
        }
        self.visits.spend(size_of::<T::Value>() / SIZE_PER_VISIT)?;
        let value = Value::new(self.elements.get_unchecked(self.at), self.levels, self.visits)?;
        self.at += 1;
        seed.deserialize(value).map(Some)
    }
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        self.next(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        Some((self.length - self.at) as usize)
    }
}

/// Keys and values, alternating.
struct Entries<'b>(Elements<'b>);

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        self.0.next(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        self.0.next(seed)?.ok_or(ReadError::Unreadable)
    }

    fn size_hint(&self) -> Option<usize> {
        Some((self.0.length - self.0.at) as usize / 2)
    }
}

/// The fields of an object that a struct declares.
struct Fields<'b> {
    fields: &'static [&'static str],
    /// One for each field.
    values: Elements<'b>,
    /// The indices of the fields that the object does not have, in ascending order.
    missing: Peekable<vec::IntoIter<u32>>,
}

impl<'b> Fields<'b> {
    fn new(fields: &'static [&'static str], values: Array, levels: u32, visits: &'b Visits) -> Self {
        let mut values = Elements::new(values, levels, visits);
        let count = fields.len() as u32;
        let missing = (count..values.length).map(|at| number_of(&values.elements.get_unchecked(at)) as u32);
        let missing = missing.collect::<vec::Vec<_>>().into_iter().peekable();
        values.length = count;
        Self { fields, values, missing }
    }
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        while self.missing.next_if_eq(&self.values.at).is_some() {
            self.values.at += 1;
        }
        match self.fields.get(self.values.at as usize) {
            Some(field) => seed.deserialize((*field).into_deserializer()).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        self.values.next(seed)?.ok_or(ReadError::Unreadable)
    }
}

/// The names of fields as strings of JavaScript, which are created once per struct.
fn field_names(fields: &'static [&'static str]) -> Array {
    std::thread_local! {
        static NAMES: RefCell<HashMap<(usize, usize), Array>> = RefCell::default();
    }
    NAMES.with(|names| {
        let key = (fields.as_ptr().addr(), fields.len());
        let made = || fields.iter().map(|name| JsValue::from_str(name)).collect();
        names.borrow_mut().entry(key).or_insert_with(made).clone()
    })
}

/// The bytes of a buffer as a sequence.
struct Bytes<'b> {
    bytes: vec::IntoIter<u8>,
    visits: &'b Visits,
}

impl<'de> SeqAccess<'de> for Bytes<'_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(byte) = self.bytes.next() else { return Ok(None) };
        // The bytes are counted already, but each may become a larger value.
        if size_of::<T::Value>() > 1 && self.bytes.len().is_multiple_of(BYTES_PER_VISIT) {
            self.visits.spend(size_of::<T::Value>())?;
        }
        seed.deserialize(Byte(byte)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.bytes.len())
    }
}

struct Byte(u8);

impl<'de> de::Deserializer<'de> for Byte {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_u8(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}
