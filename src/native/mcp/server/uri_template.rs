//! URI templates (RFC 6570) of resources: literals, `{name}` for one segment of a path, and `{+name}` for any text.

use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct UriTemplate(Vec<Part>);

#[derive(Debug)]
enum Part {
    Literal(String),
    Variable { name: String, may_have_slash: bool },
}

impl UriTemplate {
    pub(super) fn parse(template: &str) -> Result<Self, String> {
        let invalid = || format!("the template {template:?} must have only the variables {{name}} and {{+name}}");
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((literal, after)) = rest.split_once('{') {
            let (variable, after) = after.split_once('}').ok_or_else(invalid)?;
            let (name, may_have_slash) = match variable.strip_prefix('+') {
                Some(name) => (name, true),
                None => (variable, false),
            };
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !is_name || literal.contains('}') {
                return Err(invalid());
            }
            if literal.is_empty() && matches!(parts.last(), Some(Part::Variable { .. })) {
                return Err(format!("the template {template:?} must have text between its variables"));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.into()));
            }
            parts.push(Part::Variable { name: name.into(), may_have_slash });
            rest = after;
        }
        if rest.contains('}') {
            return Err(invalid());
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.into()));
        }
        Ok(Self(parts))
    }

    /// Returns the values of the variables, or `None` if the URI does not match. A variable ends at the first
    /// occurrence of the text that follows it.
    pub(super) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut values = BTreeMap::new();
        let mut rest = uri;
        let mut parts = self.0.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable { name, may_have_slash } => {
                    let end = match parts.peek() {
                        // The last literal is the end of the URI.
                        Some(Part::Literal(literal)) if self.is_last(literal) => rest.strip_suffix(&**literal)?.len(),
                        Some(Part::Literal(literal)) => rest.find(literal.as_str())?,
                        _ => rest.len(),
                    };
                    let (value, after) = rest.split_at(end);
                    if value.is_empty() || (!may_have_slash && value.contains('/')) {
                        return None;
                    }
                    values.insert(name.clone(), decode(value)?);
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(values)
    }

    fn is_last(&self, literal: &String) -> bool {
        matches!(self.0.last(), Some(Part::Literal(last)) if std::ptr::eq(last, literal))
    }
}

/// Decodes the escapes of a URI. Returns `None` if an escape is invalid, or if the bytes are not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
            u8::try_from(high << 4 | low).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(template: &str, uri: &str) -> Option<String> {
        let values = UriTemplate::parse(template).ok()?.matches(uri)?;
        Some(values.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn variables_get_the_text_of_the_uri() {
        for (template, uri, expected) in [
            ("test://template/{id}/data", "test://template/123/data", Some("id=123")),
            ("test://template/{id}/data", "test://template/a%20%C3%A9/data", Some("id=a é")),
            ("test://template/{id}/data", "test://template/a/b/data", None),
            ("test://template/{id}/data", "test://template//data", None),
            ("test://template/{id}/data", "test://template/1/data/", None),
            ("test://template/{id}/data", "test://template/%4/data", None),
            ("test://template/{id}/data", "test://template/%ff/data", None),
            ("file:///{+path}", "file:///a/b.txt", Some("path=a/b.txt")),
            ("file:///{+path}.txt", "file:///a.txt.txt", Some("path=a.txt")),
            ("a:{x}-{y}", "a:1-2-3", Some("x=1 y=2-3")),
            ("a:b", "a:b", Some("")),
            ("a:b", "a:c", None),
        ] {
            assert_eq!(values(template, uri).as_deref(), expected, "{template} {uri}");
        }
    }

    #[test]
    fn other_templates_are_refused() {
        for template in ["a:{", "a:}", "a:{}", "a:{?q}", "a:{a,b}", "a:{a*}", "a:{a}{b}", "a:}{a}", "a:{a}}"] {
            assert!(UriTemplate::parse(template).is_err(), "{template}");
        }
    }
}
