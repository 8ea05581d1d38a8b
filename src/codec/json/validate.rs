//! Text → what is wrong with it.

use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::member::{Envelope, ErrorMembers, kind, read_elements};
use crate::message::Kind;
use crate::validate::{Options, Report, Subject, check};

/// Validates a message or a batch; `None` if the text is not JSON. An array is a batch.
///
/// Of a member that comes twice, the last one counts.
///
/// # Examples
///
/// ```
/// use portway::codec::json;
/// use portway::validate::Options;
///
/// let report = json::validate(r#"{"jsonrpc":"2.0","method":1,"id":1}"#, Options::default()).ok_or("not JSON")?;
/// assert_eq!(report.errors(), ["\"method\" field must be a string"]);
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn validate(text: &str, options: Options) -> Option<Report> {
    let message: &RawValue = serde_json::from_str(text).ok()?;
    if kind(Some(message)) != Kind::Array {
        return Some(Report::single(check(subject(message), options)));
    }
    let mut found = Vec::new();
    read_elements(message.get(), |element| found.push(check(subject(element), options)));
    Some(Report::batch(found))
}

fn subject(element: &RawValue) -> Subject {
    let Some(envelope) = Envelope::read(element) else { return Subject::no_object(kind(Some(element))) };
    let error = envelope.error.and_then(ErrorMembers::read).unwrap_or_default();
    Subject {
        item: Kind::Object,
        shape: envelope.shape(),
        error_code: error.code(),
        error_message: kind(error.message),
    }
}
