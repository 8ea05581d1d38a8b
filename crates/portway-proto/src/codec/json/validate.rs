//! Validates JSON text.

use alloc::vec::Vec;

use super::envelope::{Envelope, ErrorMembers, kind};
use super::scan::Scanner;
use crate::message::Kind;
use crate::validate::{Options, Report, Subject, check};

/// Validates a message or a batch. Returns `None` if the text is not JSON. An array is a batch.
///
/// If a member is repeated, the last one counts.
///
/// # Examples
///
/// ```
/// use portway_proto::codec::json;
/// use portway_proto::validate::Options;
///
/// let report = json::validate(r#"{"jsonrpc":"2.0","method":1,"id":1}"#, Options::default()).ok_or("not JSON")?;
/// assert_eq!(report.errors(), ["\"method\" field must be a string"]);
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn validate(text: &str, options: Options) -> Option<Report> {
    let mut scanner = Scanner::new(text, usize::MAX);
    let report = if scanner.peek()? == b'[' {
        let mut found = Vec::new();
        scanner.elements(|scanner| {
            found.push(check(subject(scanner)?, options));
            Some(())
        })?;
        Report::batch(found)
    } else {
        Report::single(check(subject(&mut scanner)?, options))
    };
    scanner.is_at_end().then_some(report)
}

/// Reads the next element. Returns `None` if the text is not JSON.
fn subject(scanner: &mut Scanner<'_>) -> Option<Subject> {
    if scanner.peek()? != b'{' {
        let value = scanner.value()?;
        return Some(Subject::not_an_object(kind(Some(value))));
    }
    let envelope = Envelope::scan(scanner)?;
    let error = envelope.error.and_then(ErrorMembers::read).unwrap_or_default();
    Some(Subject {
        item: Kind::Object,
        shape: envelope.shape(usize::MAX),
        error_code: error.code(),
        error_message: kind(error.message),
    })
}
