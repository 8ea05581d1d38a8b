//! Validates JSON text.

use alloc::vec::Vec;

use super::elements::{Structure, elements};
use super::scan::Scanner;
use crate::validate::{Findings, Options, Report, check};

/// Validates a message or a batch. Returns `None` if the text is not JSON. An array is a batch.
///
/// If a member is repeated, its last value counts.
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
    let mut found = Vec::new();
    let structure = elements(text, |element| found.push(check(element.subject, options)))?;
    Some(match structure {
        Structure::Batch => Report::batch(found),
        Structure::Single => Report::single(found.first().copied().unwrap_or(Findings::NONE)),
    })
}

/// Returns whether a text is one JSON value of any kind and depth (RFC 8259). A number may be too large for a double,
/// and a string may have lone surrogates.
///
/// # Examples
///
/// ```
/// use portway_proto::codec::json;
///
/// assert!(json::is_json(" [1e400, {}] "));
/// assert!(!json::is_json("[1] 2"));
/// ```
#[must_use]
pub fn is_json(text: &str) -> bool {
    let mut scanner = Scanner::new(text, usize::MAX);
    scanner.value().is_some() && scanner.is_at_end()
}
