//! Findings put into words, for people and tools.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::{Findings, Rule, Severity, check_empty_batch};

/// Everything that was found in a message or a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order of the elements, and within each in the order of [`Rule::ALL`].
    pub findings: Vec<Finding>,
}

/// One remark on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The place of the element in its batch, from 0; `None` if it came alone.
    pub item: Option<usize>,
    /// What it is about.
    pub rule: Rule,
}

impl Report {
    /// The report on a message that came alone.
    #[must_use]
    pub fn single(findings: Findings) -> Self {
        Self { findings: findings.iter().map(|rule| Finding { item: None, rule: *rule }).collect() }
    }

    /// The report on a batch, given what was found in each element. A batch of none is an error.
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

    /// Whether there is no error. There may be warnings.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.findings.iter().all(|finding| finding.rule.severity() == Severity::Warning)
    }

    /// The texts of what makes the message invalid.
    #[must_use]
    pub fn errors(&self) -> Vec<String> {
        self.texts(Severity::Error)
    }

    /// The texts of what is worth a remark and no more.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.texts(Severity::Warning)
    }

    fn texts(&self, severity: Severity) -> Vec<String> {
        self.findings.iter().filter(|finding| finding.rule.severity() == severity).map(ToString::to_string).collect()
    }
}

/// The text of the rule, after `[Item <index>] ` if the element came in a batch.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.item {
            write!(f, "[Item {index}] ")?;
        }
        f.write_str(self.rule.text())
    }
}
