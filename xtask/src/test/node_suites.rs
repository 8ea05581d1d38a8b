//! The suites in Node: `js`, `liveness`, `hostile`, `packaging`, `environments`, `types`, `comparison`, `interop`,
//! `mcp-apps`, `example`, `page`, `soak`, `inspector`. Each is a script that writes its counts to the file that
//! `PORTWAY_REPORT` names.

use std::fs;
use std::thread;

use anyhow::{Error, Result, bail};

use crate::browsers::Engine;
use crate::demo;
use crate::environment::Environment;
use crate::inspector;
use crate::npm_install;
use crate::process::{clear, run};
use crate::setup::Setup;
use crate::soak;
use crate::test::peers;
use crate::test::report::Verdict;
use crate::test::{LIMIT, Run};
use crate::wasm_module;

/// The package of the WIPC guest in Rust.
const GUEST_PACKAGE: &str = "wipc-guest-rust";

/// The path of the built guest, from the root. The specs read this path from `PORTWAY_GUESTS`.
const GUEST: &str = "target/guests/rust.wasm";

/// Tests the JavaScript API of the built package, in every engine and in Node. One of its WIPC guests is a Rust module.
pub(super) fn js(suites: &Run<'_>) {
    let guest = wasm_module::build(suites.setup, GUEST_PACKAGE, GUEST).map_err(|error| format!("{error:#}"));
    let prepare = |suites: &Run<'_>| {
        guest.clone().map_err(Error::msg)?;
        Ok(prepare(suites)?.with("PORTWAY_GUESTS", GUEST))
    };
    everywhere(suites, "js", "tests/web/run.mjs", prepare);
}

/// The minutes for which the suite `liveness` hides a page if `--only` names the suite.
const HIDDEN_MINUTES: &str = "10";

/// Measures the time until the end of a peer is detected, in every engine and in Node. Measures each case five times.
/// If `--only` names the suite, measures each case twenty times, and also hides a page for ten minutes in every engine.
/// A hidden page needs little processor time, so these runs overlap with the runs that measure.
pub(super) fn liveness(suites: &Run<'_>) {
    let script = "tests/liveness/run.mjs";
    let runs = if suites.is_named { "20" } else { "5" };
    let prepare = |suites: &Run<'_>| prepare(suites).map(|node| node.with("PORTWAY_RUNS", runs));
    thread::scope(|threads| {
        for engine in suites.engines.iter().copied().filter(|_| suites.is_named) {
            threads.spawn(move || {
                let arguments = [script, &engine.to_string(), "--hidden", HIDDEN_MINUTES];
                in_browser(suites, "hidden", engine, prepare(suites), &arguments);
            });
        }
        everywhere(suites, "liveness", script, prepare);
    });
}

/// Runs attacks by peers and by other origins, in every engine and in Node. The attacks run in full if `--only` names
/// the suite.
pub(super) fn hostile(suites: &Run<'_>) {
    let full = if suites.is_named { "1" } else { "0" };
    let prepare = |suites: &Run<'_>| prepare(suites).map(|node| node.with("PORTWAY_FULL", full));
    everywhere(suites, "hostile", "tests/hostile/run.mjs", prepare);
}

/// Runs a suite in each engine that `--engine` selects. If `--engine` is absent, also runs the suite in Node.
fn everywhere(suites: &Run<'_>, suite: &str, script: &str, prepare: impl Fn(&Run<'_>) -> Result<Environment>) {
    for engine in suites.engines.clone() {
        in_browser(suites, suite, engine, prepare(suites), &[script, &engine.to_string()]);
    }
    if suites.has_every_engine {
        let prepared = prepare(suites);
        let name = format!("{suite}-node");
        suites.suite(suite, "node", prepared, |setup, node| script_in(setup, node, &[], &name, &[script, "node"]));
    }
}

/// Tests the packed package in bundlers, pages, workers and Node.
pub(super) fn packaging(suites: &Run<'_>) {
    in_browser(suites, "packaging", Engine::Chromium, prepare(suites), &["tests/packaging/run.mjs"]);
}

/// Tests the packed package under test runners, frameworks, bundlers and runtimes, with the code of
/// docs/environments.md.
pub(super) fn environments(suites: &Run<'_>) {
    let installed = npm_install::environments(&suites.setup.workspace, &suites.setup.cache);
    let prepared = installed.and_then(|folder| Ok(prepare(suites)?.with("PORTWAY_ENVIRONMENTS", folder)));
    in_browser(suites, "environments", Engine::Chromium, prepared, &["tests/environments/run.mjs"]);
}

/// Compiles the type declarations, the code of the README and the playground. Checks the package by publint and `attw`.
pub(super) fn types(suites: &Run<'_>) {
    let prepared = prepare(suites);
    let script = ["tests/types/run.mjs"];
    suites.suite("types", "tsc", prepared, |setup, node| script_in(setup, node, &[], "types", &script));
}

/// Compares the package with other libraries, and checks the table of this comparison in the README.
pub(super) fn comparison(suites: &Run<'_>) {
    in_browser(suites, "comparison", Engine::Chromium, prepare(suites), &["tests/comparison/run.mjs"]);
}

/// Compares the package with other libraries when a peer ends, in every engine. The run in Chromium creates a table of
/// the README.
pub(super) fn interop(suites: &Run<'_>) {
    for engine in suites.engines.clone() {
        in_browser(suites, "interop", engine, prepare(suites), &["tests/interop/run.mjs", &engine.to_string()]);
    }
}

/// Tests hosts and views of MCP Apps with the official classes, and with the view of a real server, in every engine.
pub(super) fn mcp_apps(suites: &Run<'_>) {
    let installed =
        npm_install::mcp_apps(&suites.setup.workspace, &suites.setup.cache).map_err(|error| format!("{error:#}"));
    for engine in suites.engines.clone() {
        let prepared = installed
            .clone()
            .map_err(Error::msg)
            .and_then(|folder| Ok(prepare(suites)?.with("PORTWAY_MCP_APPS", folder)));
        let script = ["tests/mcp-apps/run.mjs", &engine.to_string()];
        in_browser(suites, "mcp-apps", engine, prepared, &script);
    }
}

/// Checks programs in `examples`: two programs in Rust that run in Chromium, a host and a view of MCP Apps, and a WIPC
/// guest in Rust that Node calls. Each program has a separate time limit, log and row.
pub(super) fn example(suites: &Run<'_>) {
    let prepared = suites.setup.wasm_and_node();
    in_browser(suites, "rust-worker", Engine::Chromium, prepared, &["examples/rust-worker/check.mjs"]);
    // The page of this example uses the package.
    let prepared = suites.package().and_then(|()| suites.setup.wasm_and_node());
    in_browser(suites, "one-service", Engine::Chromium, prepared, &["examples/one-service/check.mjs"]);
    in_browser(suites, "mcp-app", Engine::Chromium, prepare(suites), &["examples/mcp-app/check.mjs"]);
    let prepared = suites.package().and_then(|()| suites.setup.wasm_and_node());
    let script = ["examples/wipc-guest-rust/check.mjs"];
    suites.suite("wipc-guest", "node", prepared, |setup, node| script_in(setup, node, &[], "wipc-guest", &script));
}

/// Runs the end-to-end check of the playground.
pub(super) fn page(suites: &Run<'_>) {
    let prepared = prepare(suites).and_then(|node| demo::build_page(suites.setup).map(|()| node));
    in_browser(suites, "page", Engine::Chromium, prepared, &[demo::CHECK]);
}

/// Runs a short `cargo xtask soak`.
pub(super) fn soak(suites: &Run<'_>) {
    in_browser(suites, "soak", Engine::Chromium, prepare(suites), &[soak::SCRIPT, "--quick"]);
    if suites.has_every_engine {
        let prepared = prepare(suites);
        let script = [soak::SCRIPT, "--quick", "--engine", "node"];
        suites.suite("soak", "node", prepared, |setup, node| script_in(setup, node, &[], "soak-node", &script));
    }
}

/// Tests the core of the inspector as wasm, with the interface that its page uses. Then tests in every engine the page,
/// its panel in the playground, and the page that the command serves. Then compares the rows of the page with the
/// messages that crossed links of each kind.
pub(super) fn inspector(suites: &Run<'_>) {
    let prepared = inspector::build(suites.setup).and_then(|()| suites.setup.node());
    let script = ["tests/inspector/core.mjs"];
    suites.suite("inspector", "node", prepared, |setup, node| script_in(setup, node, &[], "inspector", &script));
    let page = inspector::build_page(suites.setup).map_err(|error| format!("{error:#}"));
    for engine in suites.engines.clone() {
        let prepared = page.clone().map_err(Error::msg).and_then(|()| inspector::with_program(suites.setup));
        in_browser(suites, "inspector", engine, prepared, &[inspector::CHECK, &engine.to_string()]);
    }
    let playground = demo::build_page(suites.setup).map_err(|error| format!("{error:#}"));
    for engine in suites.engines.clone() {
        let prepared = playground.clone().map_err(Error::msg).and_then(|()| suites.setup.node());
        in_browser(suites, "inspector-panel", engine, prepared, &[inspector::PANEL_CHECK, &engine.to_string()]);
    }
    match peers::python(suites.setup) {
        Err(missing) => {
            let missing = format!("{missing:#}");
            for engine in suites.engines.clone() {
                suites.add_missing("inspector-command", &engine.to_string(), &missing);
            }
            suites.add_missing("inspector-story", "chromium", &missing);
        }
        Ok(python) => {
            // The command contains the built page.
            let prepared = || {
                let environment =
                    page.clone().map_err(Error::msg).and_then(|()| inspector::with_program(suites.setup))?;
                Ok(environment.with("PORTWAY_PYLSP", python.with_file_name("pylsp")))
            };
            for engine in suites.engines.clone() {
                let script = [inspector::COMMAND_CHECK, &engine.to_string()];
                in_browser(suites, "inspector-command", engine, prepared(), &script);
            }
            in_browser(suites, "inspector-story", Engine::Chromium, prepared(), &[inspector::STORY]);
        }
    }
}

/// Prepares the package and Node for these suites.
fn prepare(suites: &Run<'_>) -> Result<Environment> {
    suites.package()?;
    suites.setup.node()
}

/// Runs a script with a browser. If the browser is missing, adds a failed or skipped run to the report instead.
pub(super) fn in_browser(
    suites: &Run<'_>,
    suite: &str,
    engine: Engine,
    prepared: Result<Environment>,
    arguments: &[&str],
) {
    match suites.setup.browser(engine) {
        Err(missing) => suites.add_missing(suite, &engine.to_string(), &missing),
        Ok(browser) => suites.suite(suite, &engine.to_string(), prepared, |setup, node| {
            let name = format!("{suite}-{engine}");
            script_in(setup, browser.for_scripts(node), browser.screen_command(), &name, arguments)
        }),
    }
}

/// Runs `prefix node <arguments>` and reads its report. `name` is the name of the report and of the log.
fn script_in(
    setup: &Setup,
    environment: Environment,
    prefix: &[&str],
    name: &str,
    arguments: &[&str],
) -> Result<Verdict> {
    program_in(setup, environment, name, &[prefix, &["node"], arguments].concat())
}

/// Runs a program and reads its report. `name` is the name of the report and of the log.
pub(super) fn program_in(setup: &Setup, environment: Environment, name: &str, words: &[&str]) -> Result<Verdict> {
    let workspace = &setup.workspace;
    let log = workspace.test_log(name);
    clear(&log)?;
    let report = workspace.path("target/test-logs").join(format!("{name}.json"));
    // Without this removal, a run that writes no report would return the report of an earlier run.
    if report.exists() {
        fs::remove_file(&report)?;
    }
    let Some((program, arguments)) = words.split_first() else { bail!("nothing to run") };
    let mut command = environment.with("PORTWAY_REPORT", &report).command(program, &workspace.root)?;
    command.args(arguments);
    let outcome = run(&mut command, &log, LIMIT)?;
    Verdict::from_node(&outcome, fs::read_to_string(&report).ok().as_deref())
}
