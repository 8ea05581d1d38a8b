//! Suite `types`: the TypeScript compiler over each tests/types/tsconfig.*.json. A file passes if it compiles, the
//! errors that it expects included.

use std::path::Path;

use anyhow::Result;

use crate::build;
use crate::process::{self, Outcome, clear};
use crate::test::report::{Counts, Verdict};
use crate::test::{LIMIT, Run};
use crate::workspace::Workspace;

const FOLDER: &str = "tests/types";

pub(super) fn run(suites: &mut Run<'_>) {
    suites.suite("types", "tsc", |setup| {
        build::run(setup)?;
        let workspace = &setup.workspace;
        let environment = setup.node()?;
        let log = workspace.test_log("types");
        clear(&log)?;
        let mut verdict = Verdict { counts: Counts::default(), failures: Vec::new() };
        for project in projects(workspace)? {
            let mut command = environment.command("tsc", &workspace.root)?;
            command.args(["--noEmit", "--pretty", "false", "--listFiles", "-p"]).arg(format!("{FOLDER}/{project}"));
            let one = judge(&process::run(&mut command, &log, LIMIT)?, workspace, &project);
            verdict.counts += one.counts;
            verdict.failures.extend(one.failures);
        }
        Ok(if verdict.counts == Counts::default() {
            Verdict::broken(format!("{FOLDER} has no tests"))
        } else {
            verdict
        })
    });
}

/// The configurations, but for those that others extend.
pub(crate) fn projects(workspace: &Workspace) -> Result<Vec<String>> {
    let mut projects = Vec::new();
    for entry in workspace.path(FOLDER).read_dir().into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("tsconfig") && name.ends_with(".json") && !name.contains("base") {
            projects.push(name);
        }
    }
    projects.sort();
    Ok(projects)
}

/// `--listFiles` names the files that were compiled, and each error line starts with the file that it is in.
fn judge(outcome: &Outcome, workspace: &Workspace, project: &str) -> Verdict {
    let tests: Vec<&str> = outcome.output.lines().filter_map(|line| test_file(line, &workspace.root)).collect();
    let errors: Vec<&str> = outcome.output.lines().filter(|line| line.contains("error TS")).collect();
    let mut verdict = Verdict { counts: Counts::default(), failures: Vec::new() };
    for test in tests {
        let of_test: Vec<&str> = errors.iter().filter(|line| line.starts_with(test)).copied().collect();
        if of_test.is_empty() {
            verdict.counts.passed += 1;
        } else {
            verdict.counts.failed += 1;
            verdict.failures.push(format!("{test} ({project})\n    {}", of_test.join("\n    ")));
        }
    }
    verdict.check(outcome);
    verdict
}

fn test_file<'a>(line: &'a str, root: &Path) -> Option<&'a str> {
    let file = Path::new(line.trim()).strip_prefix(root).ok()?.to_str()?;
    (file.starts_with(FOLDER) && file.ends_with(".ts") && !file.ends_with(".d.ts")).then_some(file)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;
    use crate::process::Ending;

    #[test]
    fn a_file_with_an_error_fails_and_the_others_pass() -> Result<()> {
        let output = "tests/types/client.ts(3,1): error TS2322: no\n/lib/lib.dom.d.ts\n/repo/src/js/portway.d.ts\n\
                      /repo/tests/types/client.ts\n/repo/tests/types/server.ts\n";
        let outcome = Outcome { ending: Ending::Exited(Command::new("false").status()?), output: output.to_owned() };
        let verdict = judge(&outcome, &Workspace { root: PathBuf::from("/repo") }, "tsconfig.dom.json");
        assert_eq!(verdict.counts, Counts { passed: 1, failed: 1, skipped: 0 });
        assert_eq!(
            verdict.failures,
            ["tests/types/client.ts (tsconfig.dom.json)\n    tests/types/client.ts(3,1): error TS2322: no"]
        );
        Ok(())
    }
}
