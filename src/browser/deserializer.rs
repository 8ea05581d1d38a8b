//! Reads values of JavaScript by serde, like `serde_wasm_bindgen`, but with limits.
//!
//! The peer chooses these values, and `serde_wasm_bindgen` is not made for untrusted values. It copies strings and
//! buffers of any size, and repeats them in errors. It also lets exceptions of JavaScript unwind through Rust, for
//! example if the entries of a map include null. An exception does not restore the stack pointer of the wasm, so each
//! exception leaves less stack. This module counts each visit before it copies a value. The JavaScript functions that
//! it calls catch all exceptions.

use core::cell::Cell;

use js_sys::{Array, Uint8Array};
use serde::de::{
    self, Deserialize, DeserializeOwned, DeserializeSeed, EnumAccess, Expected, Unexpected, VariantAccess, Visitor,
};
use wasm_bindgen::{JsCast, JsValue};

use super::conversion_limits::{BYTES_PER_VISIT, ReadError, Visits};
use super::limits::MAX_NESTING;
use super::parts::{Bytes, Elements, Entries, Fields, field_names};
use portway_proto::MAX_ECHO_LENGTH;
use portway_web::bindings::{
    bytes_of, elements_of, entries_of, fields_of, kind_of, number_of, own_entries_of, start_of, text_of,
};

/// The name of the struct that `serde_wasm_bindgen::preserve` requests. A value that is read as this struct is not
/// converted.
const PRESERVED: &str = "1fc430ca-5b7f-4295-92de-33cf2b145d38";

// Kinds of values. `js/rust/values.js` of `portway-web` has the same numbers.
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

/// Reads a value with at most `max_visits` visits.
pub(super) fn read<T: DeserializeOwned>(value: JsValue, max_visits: usize) -> Result<T, ReadError> {
    let visits = Visits::new(max_visits);
    let value = Value::new(value, MAX_NESTING, &visits).and_then(T::deserialize);
    // The `Deserialize` implementation of a type may have replaced the error of the limit with another error.
    match value {
        Err(ReadError::Invalid(_)) if visits.is_exceeded() => Err(ReadError::TooManyVisits(max_visits)),
        value => value,
    }
}

/// A value of JavaScript that is being read.
pub(super) struct Value<'b> {
    value: JsValue,
    /// The kind of the value, or `None` before its first use.
    kind: Cell<Option<u32>>,
    /// The maximum number of nested levels of this value.
    levels: u32,
    visits: &'b Visits,
}

impl<'b> Value<'b> {
    pub(super) fn new(value: JsValue, levels: u32, visits: &'b Visits) -> Result<Self, ReadError> {
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

    /// Returns the maximum number of nested levels of the values inside this value. Returns an error if values inside
    /// this value would exceed the limit.
    fn levels_inside(&self) -> Result<u32, ReadError> {
        self.levels.checked_sub(1).ok_or(ReadError::TooDeep)
    }

    /// Returns the text of a string, or `None` for another value. A text that would need too many visits is not copied.
    fn text(&self) -> Result<Option<String>, ReadError> {
        let max_bytes = self.visits.remaining().saturating_mul(BYTES_PER_VISIT as u32);
        match text_of(&self.value, max_bytes) {
            Some(text) => {
                self.visits.spend(text.len() / BYTES_PER_VISIT)?;
                Ok(Some(text))
            }
            None if self.kind() == STRING => Err(self.visits.exceed()),
            None => Ok(None),
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, ReadError> {
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
        let entries = self.visits.parts(entries_of(&self.value, self.visits.remaining()))?;
        Ok(Entries(Elements::new(entries, levels, self.visits)))
    }

    /// Returns the error for a value that is not of the expected type.
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

    /// Reads an integer. Does not call `kind_of`, because such a call for each element would slow down the conversion
    /// of arrays of numbers.
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
        // `number_of` also returns NaN for a value that is not a number.
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

    /// Reads `undefined` and null as `None`, and any other value as `Some`.
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
                let elements = self.visits.parts(elements_of(&self.value, self.visits.remaining()))?;
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
            // `entries_of` also fails if an element is not a pair.
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

    /// Reads an enum in the form of `serde_json`. A string is a variant without content. An object with one member is a
    /// variant with content.
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
