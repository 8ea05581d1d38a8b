//! Parses a line of the log: `<timestamp> <severity> <message> method=<text> id=<JSON>`. The method and the id are
//! optional.

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) severity: String,
    pub(crate) message: String,
    /// The name of the method, as JSON text.
    pub(crate) method: Option<String>,
    /// The id, as JSON text.
    pub(crate) id: Option<String>,
}

impl Line {
    /// Parses a line. Asserts that the text has the form of a line of the log.
    pub(crate) fn read(text: &str) -> Self {
        let wrong = || panic!("the text is not a line of the log: {text:?}");
        let (timestamp, rest) = text.split_once(' ').unwrap_or_else(wrong);
        assert!(is_timestamp(timestamp), "{text:?}");
        let (severity, rest) = rest.trim_start().split_once(' ').unwrap_or_else(wrong);
        assert!(["debug", "info", "warn", "error"].contains(&severity), "{text:?}");
        let (rest, id) = split_field(rest.trim_start(), " id=");
        let (message, method) = split_field(rest, " method=");
        Self { severity: severity.to_owned(), message: message.to_owned(), method, id }
    }
}

/// Returns the text before a field, and the value of the field. The value is `None` if the line has no such field.
fn split_field<'a>(text: &'a str, name: &str) -> (&'a str, Option<String>) {
    match text.rsplit_once(name) {
        Some((rest, value)) => (rest, Some(value.to_owned())),
        None => (text, None),
    }
}

/// Returns whether a text has the form `2026-01-31T23:59:59.123456Z`, with any number of digits after the point.
fn is_timestamp(text: &str) -> bool {
    let with_zeros: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    with_zeros
        .strip_prefix("0000-00-00T00:00:00.")
        .is_some_and(|rest| rest.ends_with('Z') && rest.trim_end_matches('Z').chars().all(|c| c == '0'))
}
