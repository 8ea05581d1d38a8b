//! `cargo xtask soak`: makes a million calls, opens and closes links, and reloads iframes. During the run, the memory
//! and the handles in use must not grow.

use anyhow::{Result, bail};

use crate::browsers::Engine;
use crate::build;
use crate::process::replace_process;
use crate::setup::Setup;

/// The script of the soak.
pub(crate) const SCRIPT: &str = "tests/soak/run.mjs";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The browser engine that makes the calls, or Node
    #[arg(long, value_enum, default_value = "chromium")]
    engine: Platform,
    /// The duration in minutes, at 100 000 calls a minute
    #[arg(long, default_value_t = 10.0, value_name = "N")]
    minutes: f64,
    /// Run a short soak, as `cargo xtask test` does
    #[arg(long, conflicts_with = "minutes")]
    quick: bool,
    /// The seed of an earlier run. The soak repeats the calls of that run
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Platform {
    Chromium,
    Firefox,
    Webkit,
    Node,
}

impl Platform {
    fn browser(self) -> Option<Engine> {
        match self {
            Self::Chromium => Some(Engine::Chromium),
            Self::Firefox => Some(Engine::Firefox),
            Self::Webkit => Some(Engine::Webkit),
            Self::Node => None,
        }
    }
}

pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    build::run(setup)?;
    let mut environment = setup.node()?;
    let (mut engine_name, mut screen) = ("node".to_owned(), &[][..]);
    if let Some(engine) = arguments.engine.browser() {
        let browser = match setup.browser(engine) {
            Ok(browser) => browser,
            Err(missing) => bail!("{engine} is missing: {missing}"),
        };
        environment = browser.for_scripts(environment);
        (engine_name, screen) = (engine.to_string(), browser.screen_command());
    }
    let mut words = screen.iter().chain(&["node", SCRIPT, "--engine"]);
    let Some(program) = words.next() else { bail!("nothing to run") };
    let mut command = environment.command(program, &setup.workspace.root)?;
    command.args(words).arg(engine_name);
    if arguments.quick {
        command.arg("--quick");
    } else {
        command.args(["--minutes", &arguments.minutes.to_string()]);
    }
    if let Some(seed) = arguments.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    replace_process(command)
}
