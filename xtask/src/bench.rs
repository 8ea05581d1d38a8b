//! `cargo xtask bench`: how fast calls are beside a bare `postMessage` and beside other libraries; and with
//! `--only native` or `wipc`, byte streams beside other libraries.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::browsers::Engine;
use crate::build;
use crate::environment::Environment;
use crate::process::{clear, run_ok, step, take_over};
use crate::setup::Setup;
use crate::toolchain::cargo;
use crate::wasm_module;

/// The script that does it.
const SCRIPT: &str = "benches/run.mjs";

/// The script for byte streams, the program that it runs, and its name among the workloads.
const NATIVE_SCRIPT: &str = "benches/native/run.mjs";
const NATIVE_PACKAGE: &str = "native-bench";
const NATIVE: &str = "native";

/// Frames of WIPC, which are decoded natively, as wasm, and in Node.
const WIPC: &str = "wipc";
const WIPC_PACKAGE: &str = "wipc-bench";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where
    #[arg(long, value_enum, default_value = "chromium")]
    engine: Engine,
    /// Some of the workloads: A,B,E,loopback; or, by itself, what needs no browser: native, wipc
    #[arg(long, value_name = "WORKLOADS")]
    only: Option<String>,
    /// Some of the boundaries: worker,frame
    #[arg(long, value_name = "BOUNDARIES")]
    boundary: Option<String>,
    /// Some of the subjects, and what they are compared with: portway,portway-off
    #[arg(long, value_name = "SUBJECTS")]
    subject: Option<String>,
    /// Instead of 11, or 50 for calls one after the other
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// A third of the rounds: enough to work by, too few to judge by
    #[arg(long)]
    quick: bool,
    /// Print each promised ratio with its bound, and fail when one is missed
    #[arg(long)]
    check: bool,
    /// The pkg/ of an older build, which is measured twice beside the new one
    #[arg(long, value_name = "PKG")]
    old: Option<PathBuf>,
    /// Put the table and the plot in the README
    #[arg(long)]
    write: bool,
}

/// The subject that is written in Rust; cargo knows whether there is anything to do.
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

/// Byte streams, sockets and memory: no package and no browser is needed.
fn run_native(setup: &Setup, plan: &str, arguments: &Arguments) -> Result<bool> {
    let workspace = &setup.workspace;
    let log = workspace.log("bench-native");
    clear(&log)?;
    let mut cargo = Environment::default().command(&cargo().to_string_lossy(), &workspace.root)?;
    cargo.args(["build", "--quiet", "--release", "--package", NATIVE_PACKAGE]);
    step("native: the benchmark", || run_ok(&mut cargo, &log, Duration::from_secs(900)))?;
    if plan == WIPC {
        build::run(setup)?;
        wasm_module::build(setup, WIPC_PACKAGE, "target/bench/wipc_bench.wasm")?;
    }
    let mut command = setup.node()?.command("node", &workspace.root)?;
    command
        .args([NATIVE_SCRIPT, "--plan", plan])
        .arg("--binary")
        .arg(workspace.path("target/release").join(NATIVE_PACKAGE));
    add_how(&mut command, arguments);
    take_over(command)
}

/// How many rounds there are, and what is made of them.
fn add_how(command: &mut Command, arguments: &Arguments) {
    if let Some(rounds) = arguments.rounds {
        command.args(["--rounds", &rounds.to_string()]);
    }
    for (name, given) in [("--quick", arguments.quick), ("--check", arguments.check)] {
        if given {
            command.arg(name);
        }
    }
}

pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    let is_native = |word: &&str| [NATIVE, WIPC].contains(word);
    match arguments.only.as_deref() {
        Some(only) if is_native(&only) => return run_native(setup, only, arguments),
        Some(only) => {
            if let Some(word) = only.split(',').find(is_native) {
                bail!("{word} is run by itself");
            }
        }
        None => {}
    }
    build::run(setup)?;
    if arguments.subject.as_ref().is_none_or(|subjects| subjects.contains("rust")) {
        build_rust(setup)?;
    }
    let browser = match setup.browser(arguments.engine) {
        Ok(browser) => browser,
        Err(missing) => bail!("{} is missing: {missing}", arguments.engine),
    };
    let environment = browser.for_scripts(setup.node()?);
    let mut words = browser.screen().iter().chain(&["node", SCRIPT, "--engine"]);
    let Some(program) = words.next() else { bail!("nothing to run") };
    let mut command = environment.command(program, &setup.workspace.root)?;
    command.args(words).arg(arguments.engine.to_string());
    let lists = [("--only", &arguments.only), ("--boundary", &arguments.boundary), ("--subject", &arguments.subject)];
    for (name, list) in lists {
        if let Some(list) = list {
            command.args([name, list]);
        }
    }
    add_how(&mut command, arguments);
    if let Some(old) = &arguments.old {
        command.arg("--old").arg(std::path::absolute(old)?);
    }
    if arguments.write {
        command.arg("--write");
    }
    take_over(command)
}
