//! `cargo xtask test`: runs every suite in every engine, two suites at a time. Prints a table of counts, and a last
//! line `N passed, N failed`.

mod idle_connections;
pub(crate) mod kaiak;
mod kaiak_agents;
mod mcp;
mod native;
mod node_suites;
pub(crate) mod peers;
mod report;
mod wasm;

use std::env;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::browsers::Engine;
use crate::build;
use crate::process::duration;
use crate::setup::Setup;
use crate::size::Sizes;
use crate::test::report::{Counts, Report, Verdict};

/// Maximum time of one suite in one engine, with its compilation.
const LIMIT: Duration = Duration::from_secs(1_200);

/// The number of suites that run at the same time. One suite keeps about one processor core busy.
const SUITES_AT_A_TIME: usize = 2;

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
    /// The time until the end of a peer is detected, and the bounds in the README
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
    /// Interoperability over byte streams and WebSockets: Emacs, vscode-jsonrpc, language servers, aria2
    Peers,
    /// MCP with official clients and servers
    Mcp,
    /// MCP Apps with the official classes and a real view, in the browser engines
    McpApps,
    /// Programs in the folder examples, which run in Chromium or are called from Node
    Example,
    /// The budget of the package, and the figure in the README
    Size,
    /// The end-to-end check of the playground, in Chromium
    Page,
    /// A short soak in Chromium and in Node
    Soak,
    /// The inspector: its core natively and as wasm, its page, its panel in the playground, the page that the command
    /// serves, and the messages of each kind of link in the page
    Inspector,
    /// `kaiak`, with a JDK, the JARs of Jakarta EE and the migration tool of Tomcat
    Kaiak,
    /// `kaiak` with gemini-cli and qwen-code
    KaiakAgents,
}

impl Suite {
    /// All suites in the order in which they start. `js` is the first, because it takes about as long as all other
    /// suites together.
    const ALL: [Self; 20] = [
        Self::Js,
        Self::Native,
        Self::Wasm,
        Self::Liveness,
        Self::Hostile,
        Self::Packaging,
        Self::Environments,
        Self::Types,
        Self::Comparison,
        Self::Interop,
        Self::Peers,
        Self::Mcp,
        Self::McpApps,
        Self::Example,
        Self::Size,
        Self::Page,
        Self::Soak,
        Self::Inspector,
        Self::Kaiak,
        Self::KaiakAgents,
    ];
}

/// The state of a run. All suites of the run share this state.
struct Run<'a> {
    setup: &'a Setup,
    engines: Vec<Engine>,
    /// Whether `--engine` is absent. With `--engine`, the suites for browsers do not run in Node or natively.
    has_every_engine: bool,
    /// Whether `--only` names the suites. Named suites run in full.
    is_named: bool,
    /// Whether the build of the package has succeeded. The first suite that needs the package sets the value.
    package: OnceLock<bool>,
    report: Mutex<Report>,
}

impl Run<'_> {
    /// Runs `suite` in `engine` and adds its verdict to the report. A suite has failed if it cannot be run, or if
    /// `prepared` is an error.
    fn suite<T>(
        &self,
        suite: &str,
        engine: &str,
        prepared: Result<T>,
        work: impl FnOnce(&Setup, T) -> Result<Verdict>,
    ) {
        eprintln!("  {suite} {engine} ...");
        let start = Instant::now();
        let verdict = prepared.and_then(|prepared| work(self.setup, prepared));
        let verdict = verdict.unwrap_or_else(|error| Verdict::broken(format!("{error:#}")));
        let mut lines = format!("  {suite} {engine}: {}, {}\n", verdict.counts, duration(start.elapsed()));
        for failure in &verdict.failures {
            lines.push_str(&format!("    FAILED {failure}\n"));
        }
        for figure in &verdict.figures {
            lines.push_str(&format!("    {}\n", figure.replace('\n', "\n    ")));
        }
        // One call prints all lines, so that no line of a concurrent suite is between them.
        eprint!("{lines}");
        self.add(suite, engine, verdict);
    }

    /// Builds pkg/ once for all suites that need it. Only the first suite prints the error of a failed build.
    fn package(&self) -> Result<()> {
        let print_error = |error| eprintln!("{error:#}");
        let built = self.package.get_or_init(|| build::run(self.setup).map_err(print_error).is_ok());
        if *built { Ok(()) } else { bail!("the package could not be built, as shown above") }
    }

    /// Reports an engine or another program that cannot be installed. In CI, the suite counts as failed. On other
    /// machines, the suite counts as skipped.
    fn add_missing(&self, suite: &str, engine: &str, reason: &str) {
        let in_ci = env::var("CI").is_ok_and(|value| value == "true" || value == "1");
        let counts =
            if in_ci { Counts { failed: 1, ..Counts::default() } } else { Counts { skipped: 1, ..Counts::default() } };
        eprintln!("  {suite} {engine}: {}: {reason}", if in_ci { "FAILED" } else { "skipped" });
        self.add(suite, engine, Verdict { counts, failures: Vec::new(), figures: Vec::new() });
    }

    fn add(&self, suite: &str, engine: &str, verdict: Verdict) {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).add(suite, engine, verdict);
    }

    /// Runs `suite` in all its engines.
    fn all_of(&self, suite: Suite) {
        match suite {
            Suite::Native => native::run(self),
            Suite::Wasm => wasm::run(self),
            Suite::Js => node_suites::js(self),
            Suite::Liveness => node_suites::liveness(self),
            Suite::Hostile => {
                node_suites::hostile(self);
                native::hostile(self);
            }
            Suite::Packaging => node_suites::packaging(self),
            Suite::Environments => node_suites::environments(self),
            Suite::Types => node_suites::types(self),
            Suite::Comparison => node_suites::comparison(self),
            Suite::Interop => node_suites::interop(self),
            Suite::Peers => peers::run(self),
            Suite::Mcp => mcp::run(self),
            Suite::McpApps => node_suites::mcp_apps(self),
            Suite::Example => node_suites::example(self),
            Suite::Size => size(self),
            Suite::Page => node_suites::page(self),
            Suite::Soak => node_suites::soak(self),
            Suite::Inspector => {
                native::inspector(self);
                node_suites::inspector(self);
            }
            Suite::Kaiak => kaiak::run(self),
            Suite::KaiakAgents => kaiak_agents::run(self),
        }
    }
}

pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    let every_engine = arguments.engine.is_empty();
    let engines = if every_engine { Engine::ALL.to_vec() } else { arguments.engine.clone() };
    let named = !arguments.only.is_empty();
    let run = Run {
        setup,
        engines,
        has_every_engine: every_engine,
        is_named: named,
        package: OnceLock::new(),
        report: Mutex::new(Report::default()),
    };
    let selected = |suite: &Suite| arguments.only.is_empty() || arguments.only.contains(suite);
    let waiting = Mutex::new(Suite::ALL.into_iter().filter(selected));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|threads| {
        for _ in 0..SUITES_AT_A_TIME {
            threads.spawn(|| {
                while let Some(suite) = next() {
                    run.all_of(suite);
                }
            });
        }
    });
    let report = run.report.into_inner().unwrap_or_else(PoisonError::into_inner);
    eprintln!("  the whole output of each suite is in target/test-logs/");
    print!("{report}");
    Ok(report.total().failed == 0)
}

fn size(suites: &Run<'_>) {
    let prepared = suites.package();
    suites.suite("size", "gzip", prepared, |setup, ()| {
        let sizes = Sizes::measure(setup)?;
        let failures = sizes.problems(&setup.workspace.readme()?);
        let failed = failures.len() as u64;
        let counts = Counts { passed: sizes.checks() - failed, failed, ..Counts::default() };
        Ok(Verdict { counts, failures, figures: Vec::new() })
    });
}
