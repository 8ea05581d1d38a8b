//! Findings as text, for people and tools.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::{Findings, Rule, Severity, check_empty_batch};

/// All findings about a message or a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings, sorted by element and then in the order of [`Rule::ALL`].
    pub findings: Vec<Finding>,
}

/// One finding about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The index of the element in its batch. `None` for a single message and for an empty batch.
    pub item: Option<usize>,
    /// The rule.
    pub rule: Rule,
}

impl Report {
    /// Creates the report on a single message.
    #[must_use]
    pub fn single(findings: Findings) -> Self {
        Self { findings: findings.iter().map(|rule| Finding { item: None, rule: *rule }).collect() }
    }

    /// Creates the report on a batch from the findings about each element. An empty batch is an error.
    #[must_use]
    pub fn batch(items: impl IntoIterator<Item = Findings>) -> Self {
        let mut items = items.into_iter().enumerate().peekable();
        if items.peek().is_none() {
            return Self::single(check_empty_batch());
        }
        let findings = items
            .flat_map(|(index, findings)| findings.iter().map(move |rule| Finding { item: Some(index), rule: *rule }))
            .collect();
        Self { findings }
    }

    /// Returns whether the report has no errors. The report may have warnings.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.findings.iter().all(|finding| finding.rule.severity() == Severity::Warning)
    }

    /// Returns the texts of the errors.
    #[must_use]
    pub fn errors(&self) -> Vec<String> {
        self.texts(Severity::Error)
    }

    /// Returns the texts of the warnings.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.texts(Severity::Warning)
    }

    fn texts(&self, severity: Severity) -> Vec<String> {
        self.findings.iter().filter(|finding| finding.rule.severity() == severity).map(ToString::to_string).collect()
    }
}

/// Writes the text of the rule. If the element is in a batch, `[Item <index>] ` precedes the text.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.item {
            write!(f, "[Item {index}] ")?;
        }
        f.write_str(self.rule.text())
    }
}
