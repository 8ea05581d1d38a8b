//! `kaiak find`: prints the incidents of rules as JSON lines.

use std::io::{BufWriter, Write};

use kaiak::rules;
use portway::stdio;

use super::report::Report;
use super::{Failure, binary_files, check_files, counted, open};
use crate::arguments::FindArguments;

/// Runs the command.
pub(crate) fn run(arguments: &FindArguments) -> Result<(), Failure> {
    let report = Report::new(arguments.common.quiet);
    report.progress("reading the rules");
    let (rules, workspace) = open(&arguments.common, &report)?;
    report.progress("searching the files");
    let findings = rules::find(&rules, &workspace).map_err(Failure::of)?;
    report.clear();
    for problem in &findings.problems {
        report.warn(problem);
    }
    check_files(findings.files, &report);
    let mut output = BufWriter::new(stdio::stdout());
    for incident in &findings.incidents {
        let line = serde_json::to_string(incident).map_err(Failure::of)?;
        writeln!(output, "{line}")?;
    }
    output.flush()?;
    let (incidents, rules) = (counted(findings.incidents.len(), "incident"), counted(rules.rules().len(), "rule"));
    let (files, binary) = (counted(findings.files, "file"), binary_files(findings.binary_files));
    report.note(&format!("{incidents} of {rules} in {files}{binary}"));
    Ok(())
}
