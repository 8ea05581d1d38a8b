//! The report of a run: parses the counts of tests from the output of the runners, adds them up, and prints a table.

use std::fmt;
use std::ops::AddAssign;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process::{Outcome, tail};

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// The beginning of a line with which a test reports that the machine lacks something that the test needs. libtest has
/// no result for a skipped test.
const SKIPPED: &str = "skipped test: ";

/// The result of one suite in one engine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) counts: Counts,
    /// One text for each failure. A text may have several lines.
    pub(crate) failures: Vec<String>,
    /// Measured figures. A text may have several lines.
    pub(crate) figures: Vec<String>,
}

impl Verdict {
    /// Returns the verdict of a suite that could not be run.
    pub(crate) fn broken(reason: String) -> Self {
        Self { counts: Counts { failed: 1, ..Counts::default() }, failures: vec![reason], figures: Vec::new() }
    }

    /// Parses the output of `cargo test` or of wasm-bindgen-test-runner, which prints the same lines.
    pub(crate) fn from_cargo(outcome: &Outcome) -> Self {
        let mut counts = Counts::default();
        for line in outcome.output.lines() {
            if let Some(found) = result_line(line) {
                counts += found;
            }
        }
        // libtest counts these tests as passed.
        let skipped = outcome.output.lines().filter(|line| line.starts_with(SKIPPED)).count() as u64;
        let skipped = skipped.min(counts.passed);
        counts.passed -= skipped;
        counts.skipped += skipped;
        let mut verdict = Self { counts, failures: failed_tests(&outcome.output), figures: Vec::new() };
        verdict.add_unreported_failure(outcome);
        verdict
    }

    /// Parses the report file of a suite in Node. `written` is its text, or `None` if there is no file.
    pub(crate) fn from_node(outcome: &Outcome, written: Option<&str>) -> Result<Self> {
        #[derive(Deserialize)]
        struct Written {
            passed: u64,
            failed: u64,
            #[serde(default)]
            skipped: u64,
            #[serde(default)]
            failures: Vec<Failure>,
            #[serde(default)]
            figures: Vec<String>,
        }
        #[derive(Deserialize)]
        struct Failure {
            name: String,
            #[serde(default)]
            message: String,
        }
        let mut verdict = match written {
            None => Self { counts: Counts::default(), failures: Vec::new(), figures: Vec::new() },
            Some(text) => {
                let written: Written = serde_json::from_str(text).context("cannot parse the report of the suite")?;
                let Written { passed, failed, skipped, failures, figures } = written;
                let show = |Failure { name, message }: Failure| {
                    let message = tail(&message, 12);
                    if message.is_empty() { name } else { format!("{name}\n{message}") }
                };
                let counts = Counts { passed, failed, skipped };
                Self { counts, failures: failures.into_iter().map(show).collect(), figures }
            }
        };
        verdict.add_unreported_failure(outcome);
        Ok(verdict)
    }

    /// Adds a failure that no test has reported: a crash, a timeout, or a suite without tests.
    fn add_unreported_failure(&mut self, outcome: &Outcome) {
        let unexplained = if !outcome.success() && self.counts.failed == 0 {
            format!("the suite has failed ({})\n{}", outcome.describe(), tail(&outcome.output, 30))
        } else if self.counts.passed + self.counts.failed == 0 {
            format!("no test ran\n{}", tail(&outcome.output, 30))
        } else {
            return;
        };
        self.counts.failed += 1;
        self.failures.push(unexplained);
    }
}

/// All suites of a run.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<(String, String, Counts)>,
    /// The suite, the engine and the text of each failure, in the order of their reports.
    failures: Vec<(String, String, String)>,
}

impl Report {
    /// Adds a verdict below the other rows of its suite.
    pub(crate) fn add(&mut self, suite: &str, engine: &str, verdict: Verdict) {
        let position = self.rows.iter().rposition(|(row, ..)| row == suite).map_or(self.rows.len(), |last| last + 1);
        self.rows.insert(position, (suite.to_owned(), engine.to_owned(), verdict.counts));
        for failure in verdict.failures {
            self.failures.push((suite.to_owned(), engine.to_owned(), failure));
        }
    }

    pub(crate) fn total(&self) -> Counts {
        let mut total = Counts::default();
        for (_, _, counts) in &self.rows {
            total += *counts;
        }
        total
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = self.rows.iter().map(|(suite, ..)| suite.len()).max().unwrap_or(0);
        let width = longest.max("suite".len()) + 2;
        writeln!(f, "\n{:<width$}{:<12}{:>8}{:>8}{:>9}", "suite", "engine", "passed", "failed", "skipped")?;
        for (suite, engine, Counts { passed, failed, skipped }) in &self.rows {
            writeln!(f, "{suite:<width$}{engine:<12}{passed:>8}{failed:>8}{skipped:>9}")?;
        }
        // The lines of a failed suite may have scrolled away, so the end of the output repeats the failures.
        for (suite, engine, failure) in &self.failures {
            writeln!(f, "\nFAILED {suite} {engine}: {failure}")?;
        }
        writeln!(f, "\n{}", self.total())
    }
}

/// Parses `test result: ok. 5 passed; 0 failed; 1 ignored; …`.
fn result_line(line: &str) -> Option<Counts> {
    let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
    let count = |name: &str| {
        counts.split(';').find_map(|part| part.trim().strip_suffix(name)?.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    Some(Counts { passed: count("passed"), failed: count("failed"), skipped: count("ignored") })
}

/// Returns the sections `---- name stdout ----` and `---- name output ----` of failed tests. Without such sections,
/// returns the names in lines `test name ... FAILED`.
fn failed_tests(output: &str) -> Vec<String> {
    let mut sections: Vec<(String, Vec<&str>)> = Vec::new();
    let mut in_section = false;
    for line in output.lines() {
        if let Some(name) = line.trim().strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" ----")) {
            let name = name.trim_end_matches(" stdout").trim_end_matches(" output");
            sections.push((name.to_owned(), Vec::new()));
            in_section = true;
        } else if line.trim() == "failures:" || line.starts_with("test result:") {
            in_section = false;
        } else if in_section && let Some((_, lines)) = sections.last_mut() {
            lines.push(line);
        }
    }
    if sections.is_empty() {
        let failed =
            |line: &str| Some(line.trim().strip_prefix("test ")?.strip_suffix("... FAILED")?.trim().to_owned());
        return output.lines().filter_map(failed).collect();
    }
    sections.into_iter().map(|(name, lines)| format!("{name}\n{}", first_lines(&lines, 12))).collect()
}

/// Returns the first `max_lines` non-blank lines. Indents each line.
fn first_lines(lines: &[&str], max_lines: usize) -> String {
    let non_blank = lines.iter().filter(|line| !line.trim().is_empty());
    non_blank.take(max_lines).map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::*;
    use crate::process::Ending;

    /// Returns the outcome of a program that has exited with this output, and with the code 0 if `succeeds`.
    fn exited(output: &str, succeeds: bool) -> Result<Outcome> {
        let status = Command::new(if succeeds { "true" } else { "false" }).status()?;
        Ok(Outcome { ending: Ending::Exited(status), output: output.to_owned() })
    }

    #[test]
    fn results_of_several_test_binaries_are_added() -> Result<()> {
        let output = "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s\n\
                      noise\ntest result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let verdict = Verdict::from_cargo(&exited(output, true)?);
        assert_eq!(verdict.counts, Counts { passed: 12, failed: 0, skipped: 1 });
        assert!(verdict.failures.is_empty());
        Ok(())
    }

    #[test]
    fn a_test_that_reports_that_it_was_skipped_does_not_count_as_passed() -> Result<()> {
        let output = "skipped test: a: it needs root\ntest a ... ok\n\
                      test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n";
        let verdict = Verdict::from_cargo(&exited(output, true)?);
        assert_eq!(verdict.counts, Counts { passed: 4, failed: 0, skipped: 2 });
        Ok(())
    }

    #[test]
    fn a_failed_test_is_shown_with_its_output() -> Result<()> {
        let output = "test a::b ... FAILED\n\nfailures:\n\n---- a::b stdout ----\nthread panicked\n  left: 1\n\n\
                      failures:\n    a::b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\n";
        let verdict = Verdict::from_cargo(&exited(output, false)?);
        assert_eq!(verdict.counts, Counts { passed: 1, failed: 1, skipped: 0 });
        assert_eq!(verdict.failures, ["a::b\n    thread panicked\n      left: 1"]);
        Ok(())
    }

    #[test]
    fn a_suite_without_tests_has_failed() -> Result<()> {
        let verdict = Verdict::from_cargo(&exited("test result: ok. 0 passed; 0 failed; 0 ignored\n", true)?);
        assert_eq!(verdict.counts.failed, 1);
        assert!(verdict.failures.iter().any(|failure| failure.starts_with("no test ran")));
        Ok(())
    }

    #[test]
    fn a_crash_after_passing_tests_is_a_failure() -> Result<()> {
        let verdict = Verdict::from_cargo(&exited("test result: ok. 3 passed; 0 failed; 0 ignored\nSIGSEGV\n", false)?);
        assert_eq!(verdict.counts, Counts { passed: 3, failed: 1, skipped: 0 });
        Ok(())
    }

    #[test]
    fn a_time_out_is_a_failure_that_shows_the_end_of_the_output() -> Result<()> {
        let outcome = Outcome { ending: Ending::TimedOut(Duration::from_secs(600)), output: "waiting\n".to_owned() };
        let verdict = Verdict::from_node(&outcome, None)?;
        assert_eq!(verdict.failures, ["the suite has failed (stopped after the limit of 10 min 0 s)\n    waiting"]);
        Ok(())
    }

    #[test]
    fn the_report_file_of_a_suite_in_node_is_parsed() -> Result<()> {
        let written = r#"{"passed":2,"failed":1,"failures":[{"name":"ports close","message":"expected 1"}]}"#;
        let verdict = Verdict::from_node(&exited("", false)?, Some(written))?;
        assert_eq!(verdict.counts, Counts { passed: 2, failed: 1, skipped: 0 });
        assert_eq!(verdict.failures, ["ports close\n    expected 1"]);
        assert!(Verdict::from_node(&exited("", true)?, Some("{")).is_err());
        Ok(())
    }

    #[test]
    fn the_last_line_is_the_total() {
        let mut report = Report::default();
        let verdict = |passed, skipped| Verdict {
            counts: Counts { passed, failed: 0, skipped },
            failures: Vec::new(),
            figures: Vec::new(),
        };
        report.add("native", "host", verdict(3, 0));
        report.add("js", "node", verdict(4, 0));
        assert_eq!(report.to_string().lines().last(), Some("7 passed, 0 failed"));
        report.add("js", "webkit", verdict(0, 1));
        assert_eq!(report.to_string().lines().last(), Some("7 passed, 0 failed, 1 skipped"));
    }

    #[test]
    fn the_failures_are_repeated_between_the_table_and_the_total() {
        let mut report = Report::default();
        report.add("js", "webkit", Verdict::broken("ports close".to_owned()));
        let text = report.to_string();
        let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.get(2..), Some(&["FAILED js webkit: ports close", "0 passed, 1 failed"][..]));
    }

    #[test]
    fn the_rows_of_a_suite_are_together() {
        let mut report = Report::default();
        for (suite, engine) in [("js", "chromium"), ("native", "host"), ("js", "firefox")] {
            report.add(suite, engine, Verdict::broken(String::new()));
        }
        let engines: Vec<_> = report.rows.iter().map(|(_, engine, _)| engine.as_str()).collect();
        assert_eq!(engines, ["chromium", "firefox", "host"]);
    }
}
