//! `cargo xtask test`: every suite in every engine, a table of counts, and one last line `N passed, N failed`.

mod idle_connections;
mod native;
mod node_suites;
pub(crate) mod peers;
mod report;
mod wasm;

use std::cell::OnceCell;
use std::env;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::browsers::Engine;
use crate::build;
use crate::process::duration;
use crate::setup::Setup;
use crate::size::Sizes;
use crate::test::report::{Counts, Report, Verdict};

/// The time limit of one suite in one engine, with its compilation.
const LIMIT: Duration = Duration::from_secs(600);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only these suites
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SUITE")]
    only: Vec<Suite>,
    /// Run browser suites only in these engines
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ENGINE")]
    engine: Vec<Engine>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Suite {
    /// cargo test on this machine
    Native,
    /// The Rust API in the browser engines
    Wasm,
    /// The JavaScript API of the built package, in the browser engines and in Node
    Js,
    /// The time until the end of a peer is noticed, and the limits in the README
    Liveness,
    /// Attacks by peers and by other origins, in pages, in Node and natively
    Hostile,
    /// The packed npm package in bundlers, pages, workers and Node
    Packaging,
    /// The packed npm package under test runners, frameworks, bundlers and runtimes
    Environments,
    /// The type declarations
    Types,
    /// The comparison with other libraries, and its table in the README
    Comparison,
    /// The comparison with other libraries when a peer ends, in the browser engines
    Interop,
    /// Interoperability over byte streams: Emacs, vscode-jsonrpc, language servers
    Peers,
    /// Programs that use the Rust API, built by wasm-pack and run in Chromium
    Example,
    /// The budget of the package, and the figure in the README
    Size,
    /// The end-to-end check of the playground, in Chromium
    Page,
    /// A short soak in Chromium and in Node
    Soak,
}

impl Suite {
    const ALL: [Self; 15] = [
        Self::Native,
        Self::Wasm,
        Self::Js,
        Self::Liveness,
        Self::Hostile,
        Self::Packaging,
        Self::Environments,
        Self::Types,
        Self::Comparison,
        Self::Interop,
        Self::Peers,
        Self::Example,
        Self::Size,
        Self::Page,
        Self::Soak,
    ];
}

/// The state of a run, for its suites.
struct Run<'a> {
    setup: &'a Setup,
    engines: Vec<Engine>,
    /// Whether all engines were selected, including those that are not browsers.
    every_engine: bool,
    /// Whether the suites were named, and run in full.
    named: bool,
    /// Whether the package is up to date, once a suite has needed it.
    package: OnceCell<bool>,
    report: Report,
}

impl Run<'_> {
    /// Runs `suite` in `engine` and adds its verdict to the report. A suite that cannot be run, or is not `prepared`,
    /// has failed.
    fn suite<T>(
        &mut self,
        suite: &str,
        engine: &str,
        prepared: Result<T>,
        work: impl FnOnce(&Setup, T) -> Result<Verdict>,
    ) {
        eprint!("  {suite} {engine} ... ");
        let start = Instant::now();
        let verdict = prepared.and_then(|prepared| work(self.setup, prepared));
        let verdict = verdict.unwrap_or_else(|error| Verdict::broken(format!("{error:#}")));
        eprintln!("{}, {}", verdict.counts, duration(start.elapsed()));
        for failure in &verdict.failures {
            eprintln!("    FAILED {failure}");
        }
        for figure in &verdict.figures {
            eprintln!("    {}", figure.replace('\n', "\n    "));
        }
        self.report.add(suite, engine, verdict);
    }

    /// Builds pkg/ for the suites that need it. An error is printed once.
    fn package(&self) -> Result<()> {
        let shown = |error| eprintln!("{error:#}");
        let built = self.package.get_or_init(|| build::run(self.setup).map_err(shown).is_ok());
        if *built { Ok(()) } else { bail!("the package could not be built, as shown above") }
    }

    /// Reports an engine or another program that cannot be installed: as skipped on a developer's machine, as a failure
    /// in CI.
    fn missing(&mut self, suite: &str, engine: &str, reason: &str) {
        let in_ci = env::var("CI").is_ok_and(|value| value == "true" || value == "1");
        let counts =
            if in_ci { Counts { failed: 1, ..Counts::default() } } else { Counts { skipped: 1, ..Counts::default() } };
        eprintln!("  {suite} {engine} ... {}: {reason}", if in_ci { "FAILED" } else { "skipped" });
        self.report.add(suite, engine, Verdict { counts, failures: Vec::new(), figures: Vec::new() });
    }
}

pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    let every_engine = arguments.engine.is_empty();
    let engines = if every_engine { Engine::ALL.to_vec() } else { arguments.engine.clone() };
    let named = !arguments.only.is_empty();
    let mut run = Run { setup, engines, every_engine, named, package: OnceCell::new(), report: Report::default() };
    for suite in Suite::ALL.into_iter().filter(|suite| arguments.only.is_empty() || arguments.only.contains(suite)) {
        match suite {
            Suite::Native => native::run(&mut run),
            Suite::Wasm => wasm::run(&mut run),
            Suite::Js => node_suites::js(&mut run),
            Suite::Liveness => node_suites::liveness(&mut run),
            Suite::Hostile => {
                node_suites::hostile(&mut run);
                native::hostile(&mut run);
            }
            Suite::Packaging => node_suites::packaging(&mut run),
            Suite::Environments => node_suites::environments(&mut run),
            Suite::Types => node_suites::types(&mut run),
            Suite::Comparison => node_suites::comparison(&mut run),
            Suite::Interop => node_suites::interop(&mut run),
            Suite::Peers => peers::run(&mut run),
            Suite::Example => node_suites::example(&mut run),
            Suite::Size => size(&mut run),
            Suite::Page => node_suites::page(&mut run),
            Suite::Soak => node_suites::soak(&mut run),
        }
    }
    eprintln!("  the whole output of each suite is in target/test-logs/");
    print!("{}", run.report);
    Ok(run.report.total().failed == 0)
}

fn size(suites: &mut Run<'_>) {
    let prepared = suites.package();
    suites.suite("size", "gzip", prepared, |setup, ()| {
        let failures = Sizes::measure(setup)?.problems(&setup.workspace.readme()?);
        let failed = failures.len() as u64;
        let counts = Counts { passed: Sizes::CHECKS - failed, failed, ..Counts::default() };
        Ok(Verdict { counts, failures, figures: Vec::new() })
    });
}
