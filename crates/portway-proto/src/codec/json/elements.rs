//! Describes the elements of a text, for programs that observe messages and do not handle them.

use alloc::boxed::Box;

use super::decode::read_id;
use super::envelope::{Envelope, ErrorMembers, kind, string};
use super::scan::Scanner;
use crate::message::{Id, Kind};
use crate::validate::Subject;

/// One element of a text: the whole text, or an element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'t> {
    /// The facts that the [validator](crate::validate::check) needs.
    pub subject: Subject,
    /// The JSON text of the member `id`, of any type.
    pub id: Option<&'t str>,
    /// The JSON text of the member `method`, of any type.
    pub method: Option<&'t str>,
}

impl Element<'_> {
    /// Returns the id. Returns `None` if the id is missing, of a wrong type, or a string with a lone surrogate.
    #[must_use]
    pub fn read_id(&self) -> Option<Id> {
        self.id.and_then(read_id)
    }

    /// Returns the method. Returns `None` if the method is missing, is not a string, or has a lone surrogate.
    #[must_use]
    pub fn read_method(&self) -> Option<Box<str>> {
        self.method.and_then(string)
    }
}

/// The structure of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// The text is one element.
    Single,
    /// The text is an array, which may be empty.
    Batch,
}

/// Calls `on_element` with each element of a text, and returns the structure of the text. Returns `None` if the text is
/// not JSON. In this case, `on_element` may already have been called for some elements.
///
/// If a member is repeated, its last value counts.
///
/// # Examples
///
/// ```
/// use portway_proto::codec::json::{self, Structure};
///
/// let mut methods = Vec::new();
/// let structure = json::elements(r#"[{"method":"a"},{"method":"b","id":1}]"#, |element| {
///     methods.extend(element.read_method());
/// });
/// assert_eq!(structure, Some(Structure::Batch));
/// assert_eq!(methods.iter().map(|method| &**method).collect::<Vec<_>>(), ["a", "b"]);
/// ```
pub fn elements<'t>(text: &'t str, mut on_element: impl FnMut(Element<'t>)) -> Option<Structure> {
    let mut scanner = Scanner::new(text, usize::MAX);
    let structure = if scanner.peek()? == b'[' {
        scanner.elements(|scanner| {
            on_element(element(scanner)?);
            Some(())
        })?;
        Structure::Batch
    } else {
        on_element(element(&mut scanner)?);
        Structure::Single
    };
    scanner.is_at_end().then_some(structure)
}

/// Reads the next element. Returns `None` if the text is not JSON.
fn element<'t>(scanner: &mut Scanner<'t>) -> Option<Element<'t>> {
    if scanner.peek()? != b'{' {
        let value = scanner.value()?;
        return Some(Element { subject: Subject::not_an_object(kind(Some(value))), id: None, method: None });
    }
    let envelope = Envelope::scan(scanner)?;
    let error = envelope.error.and_then(ErrorMembers::read).unwrap_or_default();
    let subject = Subject {
        item: Kind::Object,
        shape: envelope.shape(usize::MAX),
        error_code: error.code(),
        error_message: kind(error.message),
    };
    Some(Element { subject, id: envelope.id, method: envelope.method })
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::validate::Code;

    fn read(text: &str) -> (Option<Structure>, Vec<Element<'_>>) {
        let mut found = Vec::new();
        (elements(text, |element| found.push(element)), found)
    }

    #[test]
    fn ids_keep_their_type_and_text() {
        let (structure, found) = read(r#" [{"id":1.0},{"id":"1"},{"id":null},{},{"id":[1]},{"id":"\ud800"}, 7] "#);
        assert_eq!(structure, Some(Structure::Batch));
        let ids: Vec<_> = found.iter().map(Element::read_id).collect();
        let expected = [Id::from_number_text("1.0"), Some("1".into()), Some(Id::Null), None, None, None, None];
        assert_eq!(ids, expected);
        assert_eq!(found.last().map(|element| element.subject.item), Some(Kind::Integer));
    }

    #[test]
    fn an_error_object_is_described_by_its_code_and_the_kind_of_its_message() {
        let (structure, found) = read(r#"{"error":{"code":-3.2e4,"message":""}}"#);
        assert_eq!(structure, Some(Structure::Single));
        let subject = found.first().map(|element| (element.subject.error_code, element.subject.error_message));
        assert_eq!(subject, Some((Code::Integer(-32_000), Kind::EmptyString)));
    }

    #[test]
    fn text_that_is_not_json_has_no_structure() {
        for text in ["", "[", "{}{}", "[1,]", "{\"id\":}", "nul"] {
            assert_eq!(read(text).0, None, "{text}");
        }
        assert_eq!(read("[]"), (Some(Structure::Batch), Vec::new()));
    }
}
