//! Access to the values inside a value of JavaScript: elements, entries, fields and bytes. The types implement
//! `SeqAccess` or `MapAccess` of serde.

use core::cell::RefCell;
use core::iter::Peekable;
use std::collections::HashMap;
use std::vec;

use js_sys::Array;
use serde::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use wasm_bindgen::JsValue;

use super::conversion_limits::{BYTES_PER_VISIT, ReadError, SIZE_PER_VISIT, Visits};
use super::deserializer::Value;
use portway_web::bindings::number_of;

/// The elements of an array. The array is a copy, so no other code can change it.
pub(super) struct Elements<'b> {
    elements: Array,
    at: u32,
    length: u32,
    levels: u32,
    visits: &'b Visits,
}

impl<'b> Elements<'b> {
    pub(super) fn new(elements: Array, levels: u32, visits: &'b Visits) -> Self {
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

/// The entries of a map or an object. The elements are alternately keys and values.
pub(super) struct Entries<'b>(pub(super) Elements<'b>);

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

/// The members of an object that are read as the fields of a struct.
pub(super) struct Fields<'b> {
    fields: &'static [&'static str],
    /// One value for each field.
    values: Elements<'b>,
    /// The indices of the missing fields, in ascending order.
    missing: Peekable<vec::IntoIter<u32>>,
}

impl<'b> Fields<'b> {
    /// `values` contains one value for each field, and then the indices of the missing fields.
    pub(super) fn new(fields: &'static [&'static str], values: Array, levels: u32, visits: &'b Visits) -> Self {
        let mut values = Elements::new(values, levels, visits);
        let count = fields.len() as u32;
        let missing = (count..values.length).map(|at| number_of(&values.elements.get_unchecked(at)) as u32);
        let missing = missing.collect::<Vec<_>>().into_iter().peekable();
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

/// Returns the names of fields as strings of JavaScript. The strings are created once per struct.
pub(super) fn field_names(fields: &'static [&'static str]) -> Array {
    std::thread_local! {
        static NAMES: RefCell<HashMap<(usize, usize), Array>> = RefCell::default();
    }
    NAMES.with(|names| {
        let key = (fields.as_ptr().addr(), fields.len());
        let create = || fields.iter().map(|name| JsValue::from_str(name)).collect();
        names.borrow_mut().entry(key).or_insert_with(create).clone()
    })
}

/// The bytes of a buffer as a sequence.
pub(super) struct Bytes<'b> {
    pub(super) bytes: vec::IntoIter<u8>,
    pub(super) visits: &'b Visits,
}

impl<'de> SeqAccess<'de> for Bytes<'_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(byte) = self.bytes.next() else { return Ok(None) };
        // The visits for the bytes are counted already. If the bytes become larger values, the memory of these values
        // costs further visits: 16 values of n bytes cost n visits.
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
