//! The members of a message that a line of `--print` shows.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Request,
    Notification,
    Result,
    Error,
    /// A message that is not JSON-RPC, or bytes that are not a message.
    Invalid,
}

/// The members of a message. The text of the message may be cut, so the last members may be missing.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Members<'a> {
    pub(super) method: Option<String>,
    /// The JSON text of the id.
    pub(super) id: Option<&'a str>,
    /// The JSON text of the params, the result or the error. `None` if the text is cut within this member.
    pub(super) value: Option<&'a str>,
    has_result: bool,
    has_error: bool,
}

impl<'a> Members<'a> {
    /// Reads the members up to the end of the text, which may be cut.
    pub(super) fn read(text: &'a str) -> Self {
        let mut members = Self::default();
        // An error means that the text is cut, or is not an object. The members before the error are known.
        let _ = serde_json::Deserializer::from_str(text).deserialize_map(Reader(&mut members));
        members
    }

    pub(super) const fn kind(&self) -> Kind {
        match (&self.method, self.id, self.has_result, self.has_error) {
            (Some(_), Some(_), false, false) => Kind::Request,
            (Some(_), None, false, false) => Kind::Notification,
            (None, _, true, false) => Kind::Result,
            (None, _, false, true) => Kind::Error,
            _ => Kind::Invalid,
        }
    }
}

struct Reader<'m, 'a>(&'m mut Members<'a>);

impl<'a> Visitor<'a> for Reader<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "method" => self.0.method = map.next_value::<Option<String>>()?,
                "id" => self.0.id = Some(map.next_value::<&RawValue>()?.get()),
                "result" => {
                    self.0.has_result = true;
                    self.0.value = Some(map.next_value::<&RawValue>()?.get());
                }
                "error" => {
                    self.0.has_error = true;
                    self.0.value = Some(map.next_value::<&RawValue>()?.get());
                }
                "params" => self.0.value = Some(map.next_value::<&RawValue>()?.get()),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the texts of the messages of a batch, up to the end of the text, which may be cut.
pub(super) fn batch(text: &str) -> Vec<&str> {
    struct Elements<'m, 'a>(&'m mut Vec<&'a str>);

    impl<'a> Visitor<'a> for Elements<'_, 'a> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<(), A::Error> {
            while let Some(element) = elements.next_element::<&RawValue>()? {
                self.0.push(element.get());
            }
            Ok(())
        }
    }

    let mut messages = Vec::new();
    let _ = serde_json::Deserializer::from_str(text).deserialize_seq(Elements(&mut messages));
    messages
}

/// The code and the message of an error object.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ErrorMembers {
    #[serde(default)]
    pub(super) code: Option<i64>,
    #[serde(default)]
    pub(super) message: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_follows_from_the_members() {
        for (text, kind, method, id) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}"#, Kind::Request, Some("a"), Some("1")),
            (r#"{"id":null,"method":"a"}"#, Kind::Request, Some("a"), Some("null")),
            (r#"{"method":"a\u0062","params":{}}"#, Kind::Notification, Some("ab"), None),
            (r#"{"result":null,"id":"x"}"#, Kind::Result, None, Some("\"x\"")),
            (r#"{"id":1,"error":{"code":1,"message":"m"}}"#, Kind::Error, None, Some("1")),
            (r#"{"id":1,"result":["cut"#, Kind::Result, None, Some("1")),
            (r#"{"method":"a","id":7,"params":{"a":"#, Kind::Request, Some("a"), Some("7")),
            (r#"{"notification":"tick"}"#, Kind::Invalid, None, None),
            (r#"{"id":1,"result":1,"error":{}}"#, Kind::Invalid, None, Some("1")),
            ("17", Kind::Invalid, None, None),
            ("", Kind::Invalid, None, None),
        ] {
            let members = Members::read(text);
            assert_eq!((members.kind(), members.method.as_deref(), members.id), (kind, method, id), "{text}");
        }
    }

    #[test]
    fn the_complete_messages_of_a_cut_batch_are_returned() {
        assert_eq!(batch(r#"[{"a":1}, 2 ,{"b"#), [r#"{"a":1}"#, "2"]);
        assert_eq!(batch("[]"), [""; 0]);
        assert_eq!(batch("{}"), [""; 0]);
    }
}
