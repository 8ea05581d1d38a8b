//! `kaiak fix`: fixes the incidents that have a mechanical fix, and prints the changes as a unified diff.

use std::io::{BufWriter, Write};

use kaiak::rules::{FixOptions, FixPlan, Rule};
use portway::stdio;

use super::report::Report;
use super::{Failure, open};
use crate::arguments::FixArguments;

/// Runs the command. A file that cannot be written is an error after all other files were written.
pub(crate) fn run(arguments: &FixArguments) -> Result<(), Failure> {
    let report = Report::new(arguments.common.quiet);
    report.progress("reading the rules");
    let (rules, workspace) = open(&arguments.common, &report)?;
    if !rules.rules().any(Rule::has_fix) {
        let message = "the rules have no mechanical fix. A file `fixes.yaml` beside the rules can define fixes";
        return Err(Failure::Message(message.to_owned()));
    }
    report.progress("searching the files");
    let options = FixOptions { mixed_wildcards: arguments.mixed_wildcards };
    let plan = FixPlan::of_all_rules(&rules, &workspace, options).map_err(Failure::of)?;
    report.clear();
    for problem in &plan.problems {
        report.warn(problem);
    }
    for left in &plan.left {
        report.warn(left);
    }
    let mut output = BufWriter::new(stdio::stdout());
    let mut failed = 0;
    let count = plan.proposals.len();
    for (index, proposal) in plan.proposals.iter().enumerate() {
        if !arguments.dry_run {
            report.progress(&format!("writing file {} of {count}: {}", index + 1, proposal.file_path));
            if let Err(error) = workspace.apply(proposal) {
                failed += 1;
                report.warn(&error);
                continue;
            }
        }
        output.write_all(proposal.diff.as_bytes())?;
    }
    output.flush()?;
    report.clear();
    let done = if arguments.dry_run { "would change" } else { "changed" };
    report.note(&format!("{done} {} files, left {} places", count - failed, plan.left.len()));
    match failed {
        0 => Ok(()),
        1 => Err(Failure::Message("one file was not written".to_owned())),
        _ => Err(Failure::Message(format!("{failed} files were not written"))),
    }
}
