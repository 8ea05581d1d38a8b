//! `cargo xtask demo`: builds and serves the playground or the inspector. With `--check`, runs the end-to-end check of
//! the playground, and then a part of the check of the inspector.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::browsers::Engine;
use crate::build;
use crate::inspector;
use crate::process::{clear, replace_process, run_ok, step};
use crate::setup::Setup;

/// The end-to-end check of the playground, in Chromium.
pub(crate) const CHECK: &str = "www/check.mjs";

const SERVE: &str = "www/serve.mjs";

/// Without `--inspector`, `cargo xtask demo --check` runs only those steps of the inspector whose names contain this
/// text.
const STORY: &str = "the story";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run the end-to-end check in headless Chromium, print each step, and fail if any step fails. Without
    /// `--inspector`, the check ends with one step of the inspector's check
    #[arg(long)]
    check: bool,
    /// Show the inspector instead of the playground
    #[arg(long)]
    inspector: bool,
    /// The port of the server. Default: a free port
    #[arg(long)]
    port: Option<u16>,
}

pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    if arguments.check {
        return check(setup, arguments.inspector);
    }
    if arguments.inspector {
        inspector::build_page(setup)?;
    } else {
        build_page(setup)?;
    }
    let mut command = setup.node()?.command("node", &setup.workspace.root)?;
    command.arg(SERVE);
    if arguments.inspector {
        command.arg("--inspector");
    }
    if let Some(port) = arguments.port {
        command.args(["--port", &port.to_string()]);
    }
    // The script prints the address.
    replace_process(command)
}

/// Runs the end-to-end check of the playground, and then the steps of the inspector that [`STORY`] selects. If
/// `is_inspector` is true, runs all steps of the inspector instead. Returns whether all steps passed.
fn check(setup: &Setup, is_inspector: bool) -> Result<bool> {
    let browser = match setup.browser(Engine::Chromium) {
        Ok(browser) => browser,
        Err(missing) => bail!("the check needs Chromium: {missing}"),
    };
    if !is_inspector {
        build_page(setup)?;
    }
    inspector::build_page(setup)?;
    let environment = browser.for_scripts(inspector::with_program(setup)?);
    let engine = Engine::Chromium.to_string();
    let scripts: &[&[&str]] =
        if is_inspector { &[&[inspector::CHECK, &engine]] } else { &[&[CHECK], &[inspector::CHECK, &engine, STORY]] };
    let mut all_passed = true;
    for script in scripts {
        // The script prints each step.
        let status = environment.clone().command("node", &setup.workspace.root)?.args(*script).status()?;
        all_passed &= status.success();
    }
    Ok(all_passed)
}

/// Builds the package and the core of the inspector, and then the playground to `www/dist`.
pub(crate) fn build_page(setup: &Setup) -> Result<()> {
    build::run(setup)?;
    inspector::build(setup)?;
    let workspace = &setup.workspace;
    let log = workspace.log("page");
    clear(&log)?;
    let mut vite = setup.node()?.command("vite", &workspace.path("www"))?;
    vite.args(["build", "--logLevel", "warn"]);
    step("playground: vite build", || run_ok(&mut vite, &log, Duration::from_secs(300)))?;
    Ok(())
}
