//! `kaiak fix`: fixes the incidents that have a mechanical fix, and prints the changes as a unified diff.

use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use kaiak::rules::{FixOptions, FixPlan, Proposal, Rule};
use kaiak::workspace::{Workspace, WorkspaceError};
use portway::stdio;

use super::report::Report;
use super::{Failure, binary_files, check_files, counted, open};
use crate::arguments::FixArguments;

/// The number of threads that write files.
const WRITERS: usize = 16;

/// Runs the command. If a file cannot be written, the command writes all other files, and then fails.
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
    check_files(plan.files, &report);
    for left in &plan.left {
        report.warn(left);
    }
    for blocked in &plan.blocked {
        report.warn(blocked);
    }
    let count = plan.proposals.len();
    let written = if arguments.dry_run {
        plan.proposals.iter().map(|_| Ok(())).collect()
    } else {
        apply(&plan.proposals, &workspace, &report)
    };
    let mut output = BufWriter::new(stdio::stdout());
    let mut failed = 0;
    let blocked = plan.blocked.len();
    for (proposal, written) in plan.proposals.iter().zip(written) {
        match written {
            Ok(()) => output.write_all(proposal.diff.as_bytes())?,
            Err(error) => {
                failed += 1;
                report.warn(&error);
            }
        }
    }
    output.flush()?;
    report.clear();
    let done = if arguments.dry_run { "would change" } else { "changed" };
    let binary = binary_files(plan.binary_files);
    let (changed, left) = (counted(count - failed, "file"), counted(plan.left.len(), "place"));
    report.note(&format!("{done} {changed}, left {left}{binary}"));
    match failed + blocked {
        0 => Ok(()),
        failed => {
            let action = if arguments.common.quiet {
                "omit `--quiet` to see the reasons"
            } else {
                "the warnings have the reasons"
            };
            Err(Failure::Message(format!("cannot write {}; {action}", counted(failed, "file"))))
        }
    }
}

/// Applies the proposals on several threads, because each write waits for the disk. Returns the results in the order of
/// the proposals.
fn apply(proposals: &[Proposal], workspace: &Workspace, report: &Report) -> Vec<Result<(), WorkspaceError>> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // The index of the file that the progress names. A file with a lower index does not replace it.
    let shown = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..WRITERS.min(proposals.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(proposal) = proposals.get(index) else { break };
                    let path = &proposal.file_path;
                    let mut last = shown.lock().unwrap_or_else(PoisonError::into_inner);
                    if index >= *last {
                        report.progress(&format!("writing file {} of {}: {path}", index + 1, proposals.len()));
                        *last = index;
                    }
                    drop(last);
                    let result = workspace.apply(proposal);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    // The diff follows, perhaps on the same terminal.
    report.clear();
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
