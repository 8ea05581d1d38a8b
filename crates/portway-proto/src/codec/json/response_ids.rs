//! Finds the ids of responses in a message that cannot be decoded.
//!
//! The text may be incomplete, and may not be JSON. So the scan finds the members only by brackets, quotes, colons and
//! commas. The scan needs one pass and no recursion.

use memchr::memchr2;

use crate::message::Id;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Facts about a message that cannot be decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UndecodableMessage {
    /// Whether the message may be a response whose id is unknown. True for an object, complete or not, in which the
    /// scan found no readable id, no `method` and no `params`. True for an empty text. False for a batch.
    pub may_be_response_without_id: bool,
    /// Whether the message, or a message of the batch, has the member `jsonrpc`.
    pub has_version: bool,
}

/// Scans the text of a message that cannot be decoded, or the beginning of that text. Calls `on_response_id` with each
/// numeric id of a response. A batch may contain several responses.
///
/// # Examples
///
/// ```
/// use portway_proto::codec::json;
///
/// let mut ids = Vec::new();
/// let message = json::find_response_ids(br#"{"jsonrpc":"2.0","id":7,"result":NaN}"#, |id| ids.push(id));
/// assert!(message.has_version && !message.may_be_response_without_id);
/// assert_eq!(ids, [7.into()]);
/// ```
pub fn find_response_ids(text: &[u8], mut on_response_id: impl FnMut(Id)) -> UndecodableMessage {
    let mut reader = Reader(text.strip_prefix(BOM).unwrap_or(text));
    let mut facts = UndecodableMessage::default();
    let is_batch = reader.skip(b'[');
    loop {
        match reader.peek() {
            Some(b'{') => {}
            // The text ends before its first member.
            None if !is_batch => {
                facts.may_be_response_without_id = true;
                return facts;
            }
            _ => return facts,
        }
        let message = reader.message();
        facts.has_version |= message.has_version;
        match message.id {
            _ if message.is_call => {}
            FoundId::Number(id) => on_response_id(id),
            // In a batch, the id of the call may be in another element.
            FoundId::Missing | FoundId::Unclear => facts.may_be_response_without_id = !is_batch,
            FoundId::StringOrNull => {}
        }
        if !is_batch || !reader.skip(b',') {
            return facts;
        }
    }
}

/// The members that show the kind of a message.
#[derive(Debug)]
struct Members {
    id: FoundId,
    is_call: bool,
    has_version: bool,
}

/// The id of a message, as far as the scan can read the id.
#[derive(Debug, PartialEq, Eq)]
enum FoundId {
    Missing,
    /// A number. The ids of outgoing calls are numbers.
    Number(Id),
    /// A string or null. No outgoing call has a string or null as its id.
    StringOrNull,
    /// The id is repeated, incomplete or of a wrong type.
    Unclear,
}

impl FoundId {
    fn read(value: Option<&[u8]>) -> Self {
        match value.map(<[u8]>::trim_ascii) {
            Some(b"null" | [b'"', ..]) => Self::StringOrNull,
            Some(number) => {
                let id = str::from_utf8(number).ok().and_then(Id::from_number_text);
                id.map_or(Self::Unclear, Self::Number)
            }
            None => Self::Unclear,
        }
    }
}

/// The rest of the text.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Returns the next byte that is not whitespace.
    fn peek(&mut self) -> Option<u8> {
        self.0 = self.0.trim_ascii_start();
        self.0.first().copied()
    }

    /// Skips whitespace, and then skips `byte` if it is the next byte. Returns whether `byte` was skipped.
    fn skip(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.0 = self.0.get(1..).unwrap_or_default();
        }
        is_next
    }

    /// Reads an object, up to the end of the object or of the text.
    fn message(&mut self) -> Members {
        let mut members = Members { id: FoundId::Missing, is_call: false, has_version: false };
        self.skip(b'{');
        while let Some(name) = self.string()
            && self.skip(b':')
        {
            let value = self.value();
            match name {
                b"jsonrpc" => members.has_version = true,
                b"method" | b"params" => members.is_call = true,
                b"id" if members.id == FoundId::Missing => members.id = FoundId::read(value),
                b"id" => members.id = FoundId::Unclear,
                _ => {}
            }
            if !self.skip(b',') {
                break;
            }
        }
        self.skip(b'}');
        members
    }

    /// Returns the next string without its quotes. Escapes are not decoded. Returns `None` if the string is missing or
    /// incomplete.
    fn string(&mut self) -> Option<&'a [u8]> {
        if !self.skip(b'"') {
            return None;
        }
        let text = self.0;
        self.0 = after_string(text)?;
        text.get(..text.len() - self.0.len() - 1)
    }

    /// Skips a value and returns its text. The value ends before a comma or closing bracket that is not nested in the
    /// value. Returns `None` if the text ends first.
    fn value(&mut self) -> Option<&'a [u8]> {
        let text = self.0;
        let mut depth = 0_usize;
        loop {
            self.0 = match self.0 {
                [] => return None,
                [b'"', rest @ ..] => after_string(rest).unwrap_or_default(),
                [b',' | b'}' | b']', ..] if depth == 0 => return text.get(..text.len() - self.0.len()),
                [byte, rest @ ..] => {
                    match byte {
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    rest
                }
            };
        }
    }
}

/// Returns the text after a string. `text` begins after the opening quote.
fn after_string(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        let end = memchr2(b'"', b'\\', text)?;
        let is_escape = text.get(end) == Some(&b'\\');
        text = text.get(end + 1 + usize::from(is_escape)..)?;
        if !is_escape {
            return Some(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn ids_and_flag(text: &str) -> (Vec<Id>, bool) {
        let mut ids = Vec::new();
        let facts = find_response_ids(text.as_bytes(), |id| ids.push(id));
        (ids, facts.may_be_response_without_id)
    }

    #[test]
    fn the_id_of_a_response_is_found_at_any_position() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":NaN}"#,
            r#"{"jsonrpc":"2.0","result":-Infinity,"id": 7 }"#,
            r#"{"result":{"id":1,"method":"x","a":["}",{"\"":"\\"}]},"id":7}"#,
            r#"{"id":7,"result":"xxxxxxx"#,
            "\u{feff} {\"id\":7,\"error\":{\"code\":}}",
            r#"{"id":7,"result":[[[[[[[["#,
            r#"{"id":7,"result":'it is'}"#,
        ] {
            assert_eq!(ids_and_flag(text), ([Id::Integer(7)].to_vec(), false), "{text}");
        }
    }

    #[test]
    fn messages_that_cannot_answer_a_call_have_no_response_id() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"method":"x","params":[NaN]}"#,
            r#"{"id":7,"params":{"a":"xxxx"#,
            r#"{"method":"log","params":"#,
            r#"{"id":"7","result":NaN}"#,
            r#"{"id":null,"error":NaN}"#,
        ] {
            assert_eq!(ids_and_flag(text), (Vec::new(), false), "{text}");
        }
    }

    #[test]
    fn only_an_object_or_an_empty_text_may_be_a_response_without_a_readable_id() {
        let unreadable =
            ["", " ", "{", r#"{"jsonrpc"#, r#"{"id":7"#, r#"{"id":"#, r#"{"result":"xxx"#, r#"{"id":[7],"result":1}"#];
        for text in unreadable.iter().chain(&[r#"{"id":7,"id":8,"result":1}"#]) {
            assert_eq!(ids_and_flag(text), (Vec::new(), true), "{text}");
        }
        for text in ["hello", "INFO: {\"id\":7}", "<html>", "NaN", "[", "[1,2"] {
            assert_eq!(ids_and_flag(text), (Vec::new(), false), "{text}");
        }
    }

    #[test]
    fn the_id_of_each_response_in_a_batch_is_found() {
        let text =
            r#"[{"id":1,"result":NaN},{"id":2,"method":"x"},{"id":3,"error":{}},{"result":0},{"id":4,"result":"x"#;
        assert_eq!(ids_and_flag(text), ([1, 3, 4].map(Id::Integer).to_vec(), false));
    }

    #[test]
    fn scanning_any_part_of_a_text_does_not_panic() {
        let text = br#" [ {"a":"\"\\",b:[1,{}],"id":1,,"c":}}]]} ,{"id":2}"#;
        for start in 0..text.len() {
            for end in start..text.len() {
                let _ = find_response_ids(text.get(start..end).unwrap_or_default(), |_| {});
            }
        }
    }
}
