//! Fuzzes the validator.

use portway::codec::json;
use portway::validate::{Expect, Finding, Options, Report, Rule};
use serde_json::Value;
use serde_json::value::RawValue;

/// Validates the text with all options. Compares the report with the reports on equivalent texts.
pub fn validate(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let elements = serde_json::from_str::<Vec<&RawValue>>(text).ok();
    for expect in [Expect::Either, Expect::Request, Expect::Response] {
        for null_params_are_absent in [false, true] {
            let options = Options { expect, null_params_are_absent };
            let Some(report) = json::validate(text, options) else {
                assert!(serde_json::from_str::<&RawValue>(text).is_err(), "JSON text has no report");
                return;
            };
            check(text, elements.as_deref(), &report, options);
        }
    }
    let either = |null_params_are_absent| {
        let options = Options { expect: Expect::Either, null_params_are_absent };
        json::validate(text, options).unwrap_or_default().findings
    };
    let without_params = |mut findings: Vec<Finding>| {
        findings.retain(|finding| finding.rule != Rule::ParamsNotStructured);
        findings
    };
    assert_eq!(without_params(either(true)), without_params(either(false)), "the option changes another rule");
    assert!(either(true).len() <= either(false).len());
}

/// Compares a report with the reports on equivalent texts.
fn check(text: &str, elements: Option<&[&RawValue]>, report: &Report, options: Options) {
    assert_eq!(report.is_valid(), report.errors().is_empty());
    assert_eq!(report.errors().len() + report.warnings().len(), report.findings.len());
    // `value.to_string()` is the same message without whitespace, escapes and repeated members. If a member is
    // repeated, its last value counts.
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        assert_eq!(json::validate(&value.to_string(), options).as_ref(), Some(report), "{value}");
    }
    // The report on a batch consists of the reports on its elements.
    match elements {
        Some([]) => assert_eq!(report.findings, [Finding { item: None, rule: Rule::EmptyBatch }]),
        Some(elements) => {
            let expected = elements.iter().enumerate().flat_map(|(index, element)| {
                // An array inside a batch is an invalid element, like the number 0. As a single text, it would be a
                // batch.
                let text = if element.get().starts_with('[') { "0" } else { element.get() };
                let findings = json::validate(text, options).unwrap_or_default().findings;
                findings.into_iter().map(move |finding| Finding { item: Some(index), ..finding })
            });
            assert_eq!(report.findings, expected.collect::<Vec<_>>());
        }
        None => assert!(report.findings.iter().all(|finding| finding.item.is_none())),
    }
}
