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
            let length = text.len();
            if length > 1 {
                text.push(',');
            }
            if !matches!(member, Member::MembersOf(_)) {
                push_string(&mut text, name);
                text.push(':');
            }
            match member {
                Member::Id(id) => push_id(&mut text, id),
                // Writing to a string does not fail.
                Member::Count(count) => write!(text, "{count}").ok()?,
                Member::Text(value) => push_string(&mut text, value),
                Member::Value(value) => text.push_str(value.get()),
                Member::MembersOf(value) => {
                    let inner = value.get().strip_prefix('{')?.strip_suffix('}')?.trim();
                    // An object without members needs no comma.
                    if inner.is_empty() {
                        text.truncate(length);
                    } else {
                        text.push_str(inner);
                    }
                }
            }
        }
        text.push('}');
        raw(&text)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    /// Returns an object with the member `n` and the members of `part`. The members of `part` precede `n` if
    /// `is_first`.
    fn object_with(part: &str, is_first: bool) -> Option<String> {
        let part: Box<RawValue> = raw(part)?;
        let (part, n) = (("", Member::MembersOf(&*part)), ("n", Member::Count(3)));
        let members = if is_first { [part, n] } else { [n, part] };
        Box::<RawValue>::object(&members).map(|object| object.to_string())
    }

    #[test]
    fn the_members_of_another_object_are_inserted_before_or_after_a_member() {
        for (part, first, last) in [
            ("{}", r#"{"n":3}"#, r#"{"n":3}"#),
            ("{ }", r#"{"n":3}"#, r#"{"n":3}"#),
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2,"n":3}"#, r#"{"n":3,"a":1,"b":2}"#),
        ] {
            assert_eq!(object_with(part, true).as_deref(), Some(first));
            assert_eq!(object_with(part, false).as_deref(), Some(last));
        }
    }
}
