//! `cargo xtask bench`: compares the calls of Portway with a bare `postMessage` and with other libraries.
//! `--only native`, `--only wipc` and `--only ws` compare Portway with other libraries on byte streams, WIPC frames and
//! WebSockets. `--only mcp` compares the client of MCP with the official SDKs. `--only tap` measures the cost of
//! `portway tap`, and `--only inspector` measures the page of the inspector. `--only kaiak` measures `kaiak`.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::browsers::Engine;
use crate::build;
use crate::environment::Environment;
use crate::inspector;
use crate::kaiak_bench;
use crate::npm_install;
use crate::process::{clear, replace_process, run_ok, step};
use crate::setup::Setup;
use crate::toolchain::cargo;
use crate::wasm_module;

/// The script of the workloads in benches/matrix.mjs.
const SCRIPT: &str = "benches/run.mjs";

/// The workload of byte streams, as an argument of `--only`.
const NATIVE: &str = "native";

/// The workload of WIPC frames, which are decoded natively, as wasm, and in Node.
const WIPC: &str = "wipc";

/// The workload of WebSockets.
const WEBSOCKET: &str = "ws";

/// The workload of `portway tap`.
const TAP: &str = "tap";

/// The workload of clients of MCP.
const MCP: &str = "mcp";

/// The workload of the page of the inspector.
const INSPECTOR: &str = "inspector";

/// The script of the workload `inspector`.
const INSPECTOR_SCRIPT: &str = "benches/inspector/run.mjs";

/// The workload of `kaiak`.
const KAIAK: &str = "kaiak";

/// The script of the workloads `native`, `wipc`, `ws`, `tap` and `mcp`. This script starts a program in Rust.
const NATIVE_SCRIPT: &str = "benches/native/run.mjs";

/// The package of the program that [`NATIVE_SCRIPT`] starts for the workloads `native`, `wipc` and `tap`.
const NATIVE_PACKAGE: &str = "native-bench";

/// The package of the program that [`NATIVE_SCRIPT`] starts for the workload `ws`.
const WEBSOCKET_PACKAGE: &str = "websocket-bench";

/// The package of the program that [`NATIVE_SCRIPT`] starts for the workload `mcp`.
const MCP_PACKAGE: &str = "mcp-bench";

/// The package of the wasm module that decodes WIPC frames.
const WIPC_PACKAGE: &str = "wipc-bench";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The browser engine
    #[arg(long, value_enum, default_value = "chromium")]
    engine: Engine,
    /// Run only these workloads, by their letters or names, such as A,B,loopback. Each of native, wipc, ws, tap, mcp,
    /// inspector and kaiak must be the only workload
    #[arg(long, value_name = "WORKLOADS")]
    only: Option<String>,
    /// Measure only at these boundaries, such as worker,frame
    #[arg(long, value_name = "BOUNDARIES")]
    boundary: Option<String>,
    /// Measure only the baselines and these libraries, such as portway,portway-off
    #[arg(long, value_name = "LIBRARIES")]
    library: Option<String>,
    /// The number of rounds. The default depends on the workload: 11 for most, 50 for sequential calls
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Run a third of the rounds, which is too few for a conclusion. For inspector, the steady stream takes 1 minute
    /// instead of 30 minutes
    #[arg(long)]
    quick: bool,
    /// Print each promised ratio with its threshold, and fail if a ratio misses its threshold
    #[arg(long)]
    check: bool,
    /// Also measure this pkg/ of an older build. The old pkg/ is measured twice: the difference between the two results
    /// shows the noise
    #[arg(long, value_name = "PKG")]
    old: Option<PathBuf>,
    /// Write the table and the plot to the README
    #[arg(long)]
    write: bool,
}

/// Builds benches/rust: the client and the server in Rust that the benchmark compares with the other libraries.
fn build_rust(setup: &Setup) -> Result<()> {
    let workspace = &setup.workspace;
    let log = workspace.log("bench-rust");
    clear(&log)?;
    let mut pack = setup.wasm()?.command("wasm-pack", &workspace.root)?;
    pack.args(["build", "benches/rust", "--mode", "no-install", "--no-pack", "--target", "web", "--out-dir"]);
    pack.arg(workspace.path("target/bench/rust"));
    step("wasm: the benchmark in Rust", || run_ok(&mut pack, &log, Duration::from_secs(900)))?;
    Ok(())
}

/// Runs the workload `plan`: `native`, `wipc`, `ws`, `tap` or `mcp`. Only `ws` requires a browser.
fn run_native(setup: &Setup, plan: &str, arguments: &Arguments) -> Result<bool> {
    let workspace = &setup.workspace;
    let log = workspace.log("bench-native");
    clear(&log)?;
    let package = match plan {
        WEBSOCKET => WEBSOCKET_PACKAGE,
        MCP => MCP_PACKAGE,
        _ => NATIVE_PACKAGE,
    };
    let mut cargo = Environment::default().command(&cargo().to_string_lossy(), &workspace.root)?;
    cargo.args(["build", "--quiet", "--release", "--package", package]);
    if plan == TAP {
        cargo.args(["--package", "portway-cli"]);
    }
    step("native: the benchmark", || run_ok(&mut cargo, &log, Duration::from_secs(900)))?;
    if plan == WIPC {
        build::run(setup)?;
        wasm_module::build(setup, WIPC_PACKAGE, "target/bench/wipc_bench.wasm")?;
    }
    let node = setup.node()?;
    // The workload of WebSockets measures the client in JavaScript, which runs in a page.
    let environment = if plan == WEBSOCKET {
        build::run(setup)?;
        let browser = setup.browser(Engine::Chromium);
        browser.map_err(|missing| anyhow::anyhow!("chromium is missing: {missing}"))?.for_scripts(node)
    } else if plan == MCP {
        // The official client is one of the packages of the suite `peers`.
        node.with("PORTWAY_PEERS", npm_install::peers(workspace, &setup.cache)?)
    } else {
        node
    };
    let mut command = environment.command("node", &workspace.root)?;
    command.args([NATIVE_SCRIPT, "--plan", plan]).arg("--binary").arg(workspace.path("target/release").join(package));
    if plan == TAP {
        command.arg("--portway").arg(workspace.path("target/release/portway"));
    }
    add_options(&mut command, arguments);
    replace_process(command)
}

/// Runs the workload `inspector`, in Chromium.
fn run_inspector(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    inspector::build_page(setup)?;
    let browser = setup.browser(Engine::Chromium);
    let environment =
        browser.map_err(|missing| anyhow::anyhow!("chromium is missing: {missing}"))?.for_scripts(setup.node()?);
    let mut command = environment.command("node", &setup.workspace.root)?;
    command.arg(INSPECTOR_SCRIPT);
    add_options(&mut command, arguments);
    replace_process(command)
}

/// Adds the options `--rounds`, `--quick` and `--check`.
fn add_options(command: &mut Command, arguments: &Arguments) {
    if let Some(rounds) = arguments.rounds {
        command.args(["--rounds", &rounds.to_string()]);
    }
    for (name, is_set) in [("--quick", arguments.quick), ("--check", arguments.check)] {
        if is_set {
            command.arg(name);
        }
    }
}

pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    let must_be_alone = |word: &&str| [NATIVE, WIPC, WEBSOCKET, TAP, MCP, INSPECTOR, KAIAK].contains(word);
    match arguments.only.as_deref() {
        Some(INSPECTOR) => return run_inspector(setup, arguments),
        Some(KAIAK) => return kaiak_bench::run(setup, arguments.rounds, arguments.check),
        Some(only) if must_be_alone(&only) => return run_native(setup, only, arguments),
        Some(only) => {
            if let Some(word) = only.split(',').find(must_be_alone) {
                bail!("{word} must be the only workload");
            }
        }
        None => {}
    }
    build::run(setup)?;
    if arguments.library.as_ref().is_none_or(|libraries| libraries.contains("rust")) {
        build_rust(setup)?;
    }
    let browser = match setup.browser(arguments.engine) {
        Ok(browser) => browser,
        Err(missing) => bail!("{} is missing: {missing}", arguments.engine),
    };
    let environment = browser.for_scripts(setup.node()?);
    let mut words = browser.screen_command().iter().chain(&["node", SCRIPT, "--engine"]);
    let Some(program) = words.next() else { bail!("nothing to run") };
    let mut command = environment.command(program, &setup.workspace.root)?;
    command.args(words).arg(arguments.engine.to_string());
    let lists = [("--only", &arguments.only), ("--boundary", &arguments.boundary), ("--library", &arguments.library)];
    for (name, list) in lists {
        if let Some(list) = list {
            command.args([name, list]);
        }
    }
    add_options(&mut command, arguments);
    if let Some(old) = &arguments.old {
        command.arg("--old").arg(std::path::absolute(old)?);
    }
    if arguments.write {
        command.arg("--write");
    }
    replace_process(command)
}
