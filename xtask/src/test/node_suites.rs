//! The suites that Node runs: `js`, `packaging`, `types`, `page`. Each is a script that writes its counts to the file named by
//! `PORTWAY_REPORT`.

use std::fs;

use anyhow::{Result, bail};

use crate::browsers::{Browser, Engine};
use crate::build;
use crate::demo;
use crate::environment::Environment;
use crate::process::{clear, run};
use crate::setup::Setup;
use crate::test::report::Verdict;
use crate::test::{LIMIT, Run};

/// The JavaScript API of the built package, in every engine and in Node.
pub(super) fn js(suites: &mut Run<'_>) {
    let script = "tests/web/run.mjs";
    let built = build::run(suites.setup);
    let prepared = |setup: &Setup| match &built {
        Ok(()) => setup.node(),
        Err(error) => bail!("{error:#}"),
    };
    for engine in suites.engines.clone() {
        match suites.setup.browser(engine) {
            Err(missing) => suites.missing("js", engine, &missing),
            Ok(browser) => suites.suite("js", &engine.to_string(), |setup| {
                let environment = browser.for_scripts(prepared(setup)?);
                script_in(setup, &environment, browser.screen(), "js", &[script, &engine.to_string()])
            }),
        }
    }
    if suites.every_engine {
        suites.suite("js", "node", |setup| script_in(setup, &prepared(setup)?, &[], "js", &[script, "node"]));
    }
}

/// The packed package in bundlers, pages, workers and Node.
pub(super) fn packaging(suites: &mut Run<'_>) {
    in_chromium(suites, "packaging", |setup, browser| {
        build::run(setup)?;
        let environment = browser.for_scripts(setup.node()?);
        script_in(setup, &environment, browser.screen(), "packaging", &["tests/packaging/run.mjs"])
    });
}

/// The type declarations, and the package as its consumers' tools see it.
pub(super) fn types(suites: &mut Run<'_>) {
    suites.suite("types", "tsc", |setup| {
        build::run(setup)?;
        script_in(setup, &setup.node()?, &[], "types", &["tests/types/run.mjs"])
    });
}

/// The playground, driven through its whole story.
pub(super) fn page(suites: &mut Run<'_>) {
    in_chromium(suites, "page", |setup, browser| {
        demo::build_page(setup)?;
        let environment = browser.for_scripts(setup.node()?);
        script_in(setup, &environment, browser.screen(), "page", &[demo::CHECK])
    });
}

fn in_chromium(suites: &mut Run<'_>, suite: &str, work: impl FnOnce(&Setup, &Browser) -> Result<Verdict>) {
    match suites.setup.browser(Engine::Chromium) {
        Err(missing) => suites.missing(suite, Engine::Chromium, &missing),
        Ok(browser) => suites.suite(suite, "chromium", |setup| work(setup, &browser)),
    }
}

/// Runs `node <arguments>` behind `prefix` and reads the report that it writes.
fn script_in(
    setup: &Setup,
    environment: &Environment,
    prefix: &[&str],
    suite: &str,
    arguments: &[&str],
) -> Result<Verdict> {
    let workspace = &setup.workspace;
    let name = match arguments.get(1) {
        Some(engine) => format!("{suite}-{engine}"),
        None => suite.to_owned(),
    };
    let log = workspace.test_log(&name);
    clear(&log)?;
    let report = workspace.path("target/test-logs").join(format!("{name}.json"));
    // An old report must not be taken for this run's.
    if report.exists() {
        fs::remove_file(&report)?;
    }
    let mut words = prefix.iter().chain(&["node"]).chain(arguments);
    let Some(program) = words.next() else { bail!("nothing to run") };
    let mut command = environment.clone().with("PORTWAY_REPORT", &report).command(program, &workspace.root)?;
    command.args(words);
    let outcome = run(&mut command, &log, LIMIT)?;
    Verdict::from_node(&outcome, fs::read_to_string(&report).ok().as_deref())
}
