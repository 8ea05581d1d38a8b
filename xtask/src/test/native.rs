//! Suite `native`: `cargo test` on this machine, without the packages that only build for wasm. This module also has
//! the native parts of the suites `hostile` and `inspector`.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::bail;

use crate::environment::Environment;
use crate::process::{self, clear};
use crate::test::Run;
use crate::test::report::Verdict;
use crate::toolchain::cargo;

/// Maximum time of each `cargo test`. The suite `native` compiles more code than any other suite, and one of its tests
/// takes half a minute.
const LIMIT: Duration = Duration::from_secs(2_400);

pub(super) fn run(suites: &Run<'_>) {
    suites.suite("native", "host", Ok(()), |setup, ()| {
        let workspace = &setup.workspace;
        let log = workspace.test_log("native");
        clear(&log)?;
        let cargo = cargo();
        let words = [&*cargo.to_string_lossy()];
        let words: Vec<&str> = default_signals().iter().chain(&words).copied().collect();
        let Some((program, arguments)) = words.split_first() else { bail!("the command of cargo is empty") };
        let mut command = Environment::default().command(program, &workspace.root)?;
        command.args(arguments).args(["test", "--workspace", "--features", "portway/mcp-http", "--no-fail-fast"]);
        for package in workspace.wasm_only_packages()? {
            command.args(["--exclude", &package]);
        }
        Ok(Verdict::from_cargo(&process::run(&mut command, &log, LIMIT)?))
    });
}

/// Returns a command prefix that resets the handling of signals. The tests need some signals that a background job or a
/// job of nohup ignores. Without the prefix, the tests would also ignore these signals.
fn default_signals() -> &'static [&'static str] {
    const WORDS: [&str; 2] = ["env", "--default-signal=HUP,INT,TERM"];
    let works = Command::new(WORDS[0]).args([WORDS[1], "true"]).stderr(Stdio::null()).status();
    if works.is_ok_and(|status| status.success()) { &WORDS } else { &[] }
}

/// Runs the attacks on the native library in full, if `--only` names the suite `hostile` and `--engine` is absent.
/// Without `--only`, the suite `native` runs these attacks with smaller counts.
pub(super) fn hostile(suites: &Run<'_>) {
    if !suites.is_named || !suites.has_every_engine {
        return;
    }
    suites.suite("hostile", "native", Ok(()), |setup, ()| {
        let workspace = &setup.workspace;
        let log = workspace.test_log("hostile-native");
        clear(&log)?;
        let environment = Environment::default().with("PORTWAY_FULL", "1");
        let mut command = environment.command(&cargo().to_string_lossy(), &workspace.root)?;
        // The time limits of the tests are for an optimised build.
        command.args(["test", "--release", "--test", "hostile_native", "--no-fail-fast"]);
        Ok(Verdict::from_cargo(&process::run(&mut command, &log, LIMIT)?))
    });
}

/// Tests the core of the inspector, if `--only` names the suite `inspector`. Without `--only`, the suite `native` runs
/// these tests.
pub(super) fn inspector(suites: &Run<'_>) {
    if !suites.is_named {
        return;
    }
    suites.suite("inspector", "native", Ok(()), |setup, ()| {
        let workspace = &setup.workspace;
        let log = workspace.test_log("inspector-native");
        clear(&log)?;
        let mut command = Environment::default().command(&cargo().to_string_lossy(), &workspace.root)?;
        command.args(["test", "--package", "portway-inspector", "--no-fail-fast"]);
        Ok(Verdict::from_cargo(&process::run(&mut command, &log, LIMIT)?))
    });
}
