//! `cargo xtask demo`: builds the playground, then serves it or, with `--check`, drives it through its whole story.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::browsers::Engine;
use crate::build;
use crate::process::{clear, run_ok, step, take_over};
use crate::setup::Setup;

/// The script that drives the playground in Chromium.
pub(crate) const CHECK: &str = "www/check.mjs";

const SERVE: &str = "www/serve.mjs";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Drive the playground in headless Chromium, print each step, and fail if one fails
    #[arg(long)]
    check: bool,
    /// The port to serve on; without it, the system chooses a free one
    #[arg(long)]
    port: Option<u16>,
}

pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    let workspace = &setup.workspace;
    build_page(setup)?;
    let mut environment = setup.node()?;
    let script = if arguments.check { CHECK } else { SERVE };
    if arguments.check {
        match setup.browser(Engine::Chromium) {
            Ok(browser) => environment = browser.for_scripts(environment),
            Err(missing) => bail!("the check needs Chromium: {missing}"),
        }
    }
    let mut command = environment.command("node", &workspace.root)?;
    command.arg(script);
    if let Some(port) = arguments.port.filter(|_| !arguments.check) {
        command.args(["--port", &port.to_string()]);
    }
    // The script speaks for itself: the address, or each step of the story.
    take_over(command)
}

/// Builds the package, then the page around it into www/dist.
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
