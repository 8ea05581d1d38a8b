//! Reads and writes payloads that are objects: the params of cancellation, progress and streams.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt::Write;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::encode::{push_id, push_string};
use super::members::members;
use super::raw::raw;
use crate::message::{Id, Member, ObjectPayload, whole_number};

impl ObjectPayload for Box<RawValue> {
    type Value<'p> = &'p RawValue;

    fn members<'p, const N: usize>(&'p self, names: [&str; N]) -> Option<[Option<&'p RawValue>; N]> {
        members(self.get().as_bytes(), names)
    }

    fn value(&self) -> &RawValue {
        self
    }

    fn null<'p>() -> &'p RawValue {
        RawValue::NULL
    }

    fn is_null(value: &RawValue) -> bool {
        value.get() == "null"
    }

    fn read_text<'p>(value: &'p RawValue) -> Option<Cow<'p, str>>
    where
        Self: 'p,
    {
        /// Borrowed, unless the text is written with escapes.
        #[derive(Deserialize)]
        struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

        serde_json::from_str(value.get()).ok().map(|Text(text)| text)
    }

    fn read_id(value: &RawValue) -> Option<Id> {
        match value.get() {
            "null" => Some(Id::Null),
            string if string.starts_with('"') => serde_json::from_str(string).ok().map(Id::String),
            number => Id::from_number_text(number),
        }
    }

    fn read_count(value: &RawValue) -> Option<u32> {
        whole_number(value.get())?.try_into().ok()
    }

    fn object(members: &[(&str, Member<'_, Self>)]) -> Option<Self> {
        let mut text = String::from("{");
        for (name, member) in members {
            if text.len() > 1 {
                text.push(',');
            }
            if let Member::All(value) = member {
                let inner = value.get().strip_prefix('{')?.strip_suffix('}')?.trim();
                text.push_str(inner);
                if inner.is_empty() {
                    text.pop();
                }
                continue;
            }
            push_string(&mut text, name);
            text.push(':');
            match member {
                Member::Id(id) => push_id(&mut text, id),
                // Writing to a string does not fail.
                Member::Count(count) => write!(text, "{count}").ok()?,
                Member::Text(value) => push_string(&mut text, value),
                Member::Value(value) | Member::All(value) => text.push_str(value.get()),
            }
        }
        text.push('}');
        raw(&text)
    }
}
