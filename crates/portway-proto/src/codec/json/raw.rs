//! Converts text that is known to be JSON to a [`RawValue`], without parsing it again.
//!
//! `serde_json` parses each text from which it creates a raw value, unless a deserializer supplies the text.
//! `RawValue::deserialize` asks the deserializer for a newtype struct with a private name. If the deserializer answers
//! with a map from that name to the text, the text is not parsed. If a version of `serde_json` works in another way,
//! `raw` parses the text again and returns the same value.

use core::iter;

use serde::de::value::{BorrowedStrDeserializer, Error, MapDeserializer};
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

/// Returns `json` as a raw value: a `&RawValue` or a `Box<RawValue>`. `json` must be JSON. For other text, the result
/// is `None` or a raw value of that text.
pub(super) fn raw<'t, R: Deserialize<'t>>(json: &'t str) -> Option<R> {
    R::deserialize(JsonText(json)).ok().or_else(|| serde_json::from_str(json).ok())
}

/// Returns `json` as a raw value, without parsing it. `json` must be JSON, for example the output of a serializer. For
/// other text, the result is `None` or a raw value of that text.
#[must_use]
pub fn raw_value(json: &str) -> Option<&RawValue> {
    raw(json)
}

/// A value whose JSON text is known.
struct JsonText<'de>(&'de str);

impl<'de> Deserializer<'de> for JsonText<'de> {
    type Error = Error;

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(MapDeserializer::new(iter::once((name, BorrowedStrDeserializer::new(self.0)))))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("a raw value must be read as a newtype struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use super::*;

    #[test]
    fn a_raw_value_is_created_without_parsing_its_text() {
        // Only a conversion without parsing accepts this text.
        assert_eq!(Box::<RawValue>::deserialize(JsonText("no JSON")).as_deref().map(RawValue::get), Ok("no JSON"));
        assert_eq!(raw_value("[1]").map(RawValue::get), Some("[1]"));
    }
}
