//! Suite `wasm`: the tests of the Rust API, compiled for wasm32, in each browser engine.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::browsers::Browser;
use crate::environment::Environment;
use crate::process::{self, Outcome, clear, run_ok, step};
use crate::setup::Setup;
use crate::test::idle_connections::IdleConnections;
use crate::test::report::Verdict;
use crate::test::{LIMIT, Run};
use crate::toolchain::WASM;

pub(super) fn run(suites: &Run<'_>) {
    let compiled = compile(suites.setup).map_err(|error| eprintln!("{error:#}")).ok();
    for engine in suites.engines.clone() {
        let prepared = || compiled.clone().context("the tests do not compile, as shown above");
        match suites.setup.browser(engine) {
            Err(missing) => suites.add_missing("wasm", &engine.to_string(), &missing),
            Ok(browser) => suites.suite("wasm", &engine.to_string(), prepared(), |setup, environment| {
                run_in(setup, environment, &browser, &engine.to_string())
            }),
        }
    }
}

/// Compiles the tests once for all engines, so that the time of an engine does not include the compilation.
fn compile(setup: &Setup) -> Result<Environment> {
    let workspace = &setup.workspace;
    let environment = setup.wasm()?;
    let log = workspace.test_log("wasm-compile");
    clear(&log)?;
    let mut command = cargo_test(setup, &environment, &[])?;
    command.arg("--no-run");
    step("wasm: compile the tests", || run_ok(&mut command, &log, LIMIT))?;
    Ok(environment)
}

fn run_in(setup: &Setup, environment: Environment, browser: &Browser, engine: &str) -> Result<Verdict> {
    let workspace = &setup.workspace;
    let log = workspace.test_log(&format!("wasm-{engine}"));
    let capabilities = workspace.path(&format!("target/webdriver-{engine}.json"));
    fs::write(&capabilities, serde_json::to_string_pretty(&browser.capabilities())?)?;
    let environment = browser
        .for_runner(environment, &capabilities)
        // The defaults, 5 s for the driver and 20 s for the tests, are too short on two busy cores.
        .with("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "60")
        .with("WASM_BINDGEN_TEST_TIMEOUT", "300");
    let attempt = || -> Result<Outcome> {
        clear(&log)?;
        let connections = IdleConnections::new()?;
        let environment = environment.clone().with("WASM_BINDGEN_TEST_ADDRESS", connections.address());
        let mut command = cargo_test(setup, &environment, browser.screen_command())?;
        process::run(&mut command, &log, LIMIT)
    };
    let mut outcome = attempt()?;
    // Under load, a browser may fail to start. So a failed run is repeated once, unless its output shows that the tests
    // have started.
    if !outcome.success()
        && !outcome.output.contains("Loading page elements")
        && !outcome.output.contains("test result")
    {
        outcome = attempt()?;
    }
    Ok(Verdict::from_cargo(&outcome))
}

/// Returns the command `cargo test` for wasm. `prefix` is a command that provides a screen for a browser.
fn cargo_test(setup: &Setup, environment: &Environment, prefix: &[&str]) -> Result<Command> {
    let mut words = prefix.iter().chain(&["cargo", "test", "--target", WASM, "--features", "codec", "--test", "wasm"]);
    let program = words.next().context("a command has at least one word")?;
    let mut command = environment.command(program, &setup.workspace.root)?;
    command.args(words);
    Ok(command)
}
