//! Suite `mcp`: the peers of MCP. Over a `MessageChannel`, the dialect `mcp` connects to the official client and
//! server. `portway/mcp`, and the client and the server in Rust, connect to official servers and clients over HTTP and
//! standard streams. If `--only` names this suite, it also runs the tests of MCP from the suites `native` and `js`.

use std::path::Path;

use anyhow::{Context, Error, Result};

use crate::build;
use crate::environment::{Environment, find_in_path};
use crate::npm_install;
use crate::process::{self, clear, run_ok};
use crate::setup::Setup;
use crate::test::node_suites::{in_browser, program_in};
use crate::test::peers::{self, FEATURES, MCP_TESTS};
use crate::test::report::Verdict;
use crate::test::{LIMIT, Run};
use crate::toolchain::cargo;

/// Connects `portway/mcp` to official servers.
const HTTP: &str = "tests/peers/mcp-http/run.mjs";

/// The specs of the JavaScript API.
const SPECS: &str = "tests/web/run.mjs";

pub(super) fn run(suites: &Run<'_>) {
    let prepared = prepare(suites).map_err(|error| format!("{error:#}"));
    let prepared = || prepared.clone().map_err(Error::msg);
    if suites.is_named {
        suites.suite("mcp", "native", Ok(()), |setup, ()| units(setup));
    }
    for engine in suites.engines.clone() {
        in_browser(suites, "mcp-http", engine, prepared(), &[HTTP, &engine.to_string()]);
        if suites.is_named {
            in_browser(suites, "mcp-specs", engine, prepared(), &[SPECS, &engine.to_string(), "mcp"]);
        }
    }
    if !suites.has_every_engine {
        return;
    }
    suites.suite("mcp-http", "node", prepared(), |setup, environment| {
        program_in(setup, environment, "mcp-http-node", &["node", HTTP, "node"])
    });
    if suites.is_named {
        suites.suite("mcp-specs", "node", prepared(), |setup, environment| {
            program_in(setup, environment, "mcp-specs-node", &["node", SPECS, "node", "mcp"])
        });
    }
    suites.suite("mcp", "sdk", prepared(), |setup, environment| {
        program_in(setup, environment, "mcp-sdk", &["node", "tests/peers/mcp/sdk.mjs"])
    });
    suites.suite("mcp", "rust", prepared(), with_peers);
}

/// Prepares the package, and the variables that name the peers.
fn prepare(suites: &Run<'_>) -> Result<Environment> {
    suites.package()?;
    let setup = suites.setup;
    let python = peers::python(setup)?;
    let node = setup.node()?;
    let environment = node
        .with("PORTWAY_PEERS", npm_install::peers(&setup.workspace, &setup.cache)?)
        .with("PORTWAY_PYTHON", &python)
        .with("PORTWAY_PYGLS_PYTHON", &python)
        .with("PORTWAY_CLI", build::program(setup, "portway-cli", "portway")?)
        .with("PORTWAY_NODE", find_in_path("node").context("node is not in PATH")?);
    if suites.is_named {
        return Ok(environment.with("PORTWAY_CONFORMANCE", npm_install::conformance(&setup.workspace, &setup.cache)?));
    }
    Ok(environment)
}

/// Runs the tests of MCP in Rust that need no third-party peer.
fn units(setup: &Setup) -> Result<Verdict> {
    let log = setup.workspace.test_log("mcp-native");
    clear(&log)?;
    let mut command = Environment::default().command(&cargo().to_string_lossy(), &setup.workspace.root)?;
    let words = ["test", "--package", "portway", "--features", FEATURES, "--test", "mcp", "--no-fail-fast"];
    Ok(Verdict::from_cargo(&process::run(command.args(words), &log, LIMIT)?))
}

/// Runs the tests of the client and the server in Rust with third-party peers.
fn with_peers(setup: &Setup, environment: Environment) -> Result<Verdict> {
    let workspace = &setup.workspace;
    let log = workspace.test_log("mcp-rust");
    clear(&log)?;
    let server = Path::new("target/debug/examples/mcp-conformance-server");
    let mut command = environment.command(&cargo().to_string_lossy(), &workspace.root)?;
    command.args(["build", "--package", "portway", "--features", FEATURES, "--example", "mcp-conformance-server"]);
    run_ok(&mut command, &log, LIMIT)?;
    let environment = environment.with("PORTWAY_MCP_SERVER", workspace.root.join(server));
    let mut command = environment.command(&cargo().to_string_lossy(), &workspace.root)?;
    command.args(["test", "--package", "portway", "--features", FEATURES, "--test", "peers", "--no-fail-fast"]);
    Ok(Verdict::from_cargo(&process::run(command.args(["--", MCP_TESTS]), &log, LIMIT)?))
}
