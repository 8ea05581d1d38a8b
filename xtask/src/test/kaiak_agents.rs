//! Suite `kaiak-agents`: `kaiak` with gemini-cli and qwen-code, and a stub of their models.

use std::time::Duration;

use crate::npm_install;
use crate::process::{self, clear};
use crate::test::Run;
use crate::test::report::Verdict;
use crate::toolchain::cargo;

/// Maximum time of the suite, with its compilation.
const LIMIT: Duration = Duration::from_secs(900);

/// Runs the tests, if `--only` names the suite. A run without `--only` omits the suite, because it would download 150
/// MB of agents.
pub(super) fn run(suites: &Run<'_>) {
    if !suites.is_named {
        return;
    }
    let agents = match npm_install::kaiak_agents(&suites.setup.workspace, &suites.setup.cache) {
        Ok(agents) => agents,
        Err(missing) => return suites.add_missing("kaiak-agents", "host", &format!("{missing:#}")),
    };
    suites.suite("kaiak-agents", "host", suites.setup.node(), |setup, node| {
        let workspace = &setup.workspace;
        let log = workspace.test_log("kaiak-agents");
        clear(&log)?;
        let environment = node.with("KAIAK_AGENTS", agents);
        let mut command = environment.command(&cargo().to_string_lossy(), &workspace.root)?;
        // Only two tests run at a time, because each start of an agent needs several seconds of a processor.
        let arguments = ["test", "--package", "kaiak", "--test", "serve", "real_agents", "--", "--test-threads", "2"];
        command.args(arguments);
        Ok(Verdict::from_cargo(&process::run(&mut command, &log, LIMIT)?))
    });
}
