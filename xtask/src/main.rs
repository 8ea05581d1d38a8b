//! `cargo xtask`: builds, checks, tests and demonstrates Portway.
//!
//! A command installs missing tools once, in a cache outside of the repository. If a tool cannot be installed, the
//! command prints the name of the tool and the way to install the tool.

mod bench;
mod browsers;
mod build;
mod cache;
mod conformance;
mod coverage;
mod debian;
mod demo;
mod environment;
mod fuzz;
mod inspector;
mod invariants;
mod kaiak_bench;
mod kaiak_rules;
mod lexer;
mod limits;
mod lint;
mod notice;
mod npm_install;
mod process;
mod prose;
mod setup;
mod size;
mod soak;
mod subjects;
mod surface;
mod test;
mod toolchain;
mod tools;
mod wasm_module;
mod wasm_std;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::setup::Setup;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "Builds, checks, tests and demonstrates Portway",
    version
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the npm package into pkg/, or the core or the page of the inspector
    Build(build::Arguments),
    /// Build and serve the playground, and print its URL
    Demo(demo::Arguments),
    /// Run every test suite, or some of them
    Test(test::Arguments),
    /// Check formatting, lints, docs, types, limits, the layers of the JavaScript and the words of comments
    Lint(lint::Arguments),
    /// Compare limits.toml with the generated constants, types, README and test data, or write these files
    Limits(limits::Arguments),
    /// Compare the public surface with the lists in tests/surface, or write them
    Surface(surface::Arguments),
    /// Make a million calls over ten minutes, and check that no call is lost and no memory leaks
    Soak(soak::Arguments),
    /// Compare the speed of calls with a bare postMessage and with other libraries
    Bench(bench::Arguments),
    /// Search for inputs that break the library, starting from the corpus in fuzz/
    Fuzz(fuzz::Arguments),
    /// Show the coverage of the library by its tests; fail below the promised coverage
    Coverage(coverage::Arguments),
    /// Show the size of the npm package; fail above its budget
    Size,
    /// Run the official conformance suite of MCP with the client in Rust
    Conformance,
    /// Measure kaiak with rules of Konveyor and their test projects
    KaiakRules(kaiak_rules::Arguments),
    /// Serve the Agent Client Protocol for `bench --only kaiak`
    #[command(hide = true)]
    KaiakAgent(kaiak_bench::agent::Arguments),
    /// Install the toolchain, the browsers, and the tools that most commands need
    Setup,
    /// Print shell lines that put the wasm toolchain and the tools in PATH: eval "$(cargo xtask env)"
    Env,
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one task. Returns `false` if the task has found a fault.
fn run(task: Task) -> Result<bool> {
    if let Task::KaiakAgent(arguments) = &task {
        return kaiak_bench::agent::run(arguments);
    }
    let setup = Setup::new()?;
    match task {
        Task::Build(arguments) => build::build(&setup, &arguments).map(|()| true),
        Task::Demo(arguments) => demo::run(&setup, &arguments),
        Task::Test(arguments) => test::run(&setup, &arguments),
        Task::Lint(arguments) => lint::run(&setup, arguments),
        Task::Limits(arguments) => limits::run(&setup.workspace, &arguments),
        Task::Surface(arguments) => surface::run(&setup, &arguments),
        Task::Soak(arguments) => soak::run(&setup, &arguments),
        Task::Bench(arguments) => bench::run(&setup, &arguments),
        Task::Fuzz(arguments) => fuzz::run(&setup, &arguments),
        Task::Coverage(arguments) => coverage::run(&setup, &arguments),
        Task::Size => size::run(&setup),
        Task::Conformance => conformance::run(&setup),
        Task::KaiakRules(arguments) => kaiak_rules::run(&setup, &arguments),
        Task::KaiakAgent(arguments) => kaiak_bench::agent::run(&arguments),
        Task::Setup => setup.install_all_tools(),
        Task::Env => setup.print_environment(),
    }
}
