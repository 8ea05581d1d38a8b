//! `cargo xtask demo`: builds the playground or the inspector, and then serves it. With `--check`, runs its end-to-end
//! check instead.

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

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run the end-to-end check in headless Chromium, print each step, and fail if any step fails
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
    let workspace = &setup.workspace;
    if arguments.inspector {
        inspector::build_page(setup)?;
    } else {
        build_page(setup)?;
    }
    let mut environment = setup.node()?;
    let script = match (arguments.check, arguments.inspector) {
        (true, true) => inspector::CHECK,
        (true, false) => CHECK,
        (false, _) => SERVE,
    };
    if arguments.check {
        match setup.browser(Engine::Chromium) {
            Ok(browser) => environment = browser.for_scripts(environment),
            Err(missing) => bail!("the check needs Chromium: {missing}"),
        }
    }
    let mut command = environment.command("node", &workspace.root)?;
    command.arg(script);
    if arguments.inspector && !arguments.check {
        command.arg("--inspector");
    }
    if let Some(port) = arguments.port.filter(|_| !arguments.check) {
        command.args(["--port", &port.to_string()]);
    }
    // The script prints the address, or each step of the check.
    replace_process(command)
}

/// Builds the package, and then the playground to `www/dist`.
pub(crate) fn build_page(setup: &Setup) -> Result<()> {
    build::run(setup)?;
    let workspace = &setup.workspace;
    let log = workspace.log("page");
    clear(&log)?;
    let mut vite = setup.node()?.command("vite", &workspace.path("www"))?;
    vite.args(["build", "--logLevel", "warn"]);
    step("playground: vite build", || run_ok(&mut vite, &log, Duration::from_secs(300)))?;
    Ok(())
}
