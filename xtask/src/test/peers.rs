//! Suite `peers`: interoperability with third-party programs. Over byte streams, Emacs and the npm package
//! `vscode-jsonrpc` connect to the daemon `duet-rpc`. The client and the server in Rust connect to language servers, to
//! `vscode-jsonrpc`, and to the npm package of this repository. Over WebSockets, the clients and servers in JavaScript
//! and Rust connect to aria2, ganache, websocketd, pylsp, and the libraries `ws`, `websockets` and `jsonrpsee`. In
//! workers of each browser engine, a client and a language server in JavaScript connect to the libraries of VS Code.
//! The suite `mcp` has the peers of MCP.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::browsers::Engine;
use crate::build;
use crate::debian;
use crate::environment::{Environment, find_in_path};
use crate::npm_install;
use crate::process::{self, clear, run_ok, step};
use crate::setup::Setup;
use crate::test::node_suites::{in_browser, program_in};
use crate::test::report::Verdict;
use crate::test::{LIMIT, Run};
use crate::toolchain::cargo;

/// The features of the library for the tests in `tests/peers`.
pub(super) const FEATURES: &str = "portway/mcp-http,portway/websocket";

/// The beginning of the names of the modules in `tests/peers` that belong to the suite `mcp`.
pub(super) const MCP_TESTS: &str = "mcp_";

const REQUIREMENTS: &str = "tests/peers/requirements.txt";

pub(super) fn run(suites: &Run<'_>) {
    let node = suites.package().and_then(|()| suites.setup.node());
    let daemon = node.and_then(|node| Ok(node.with("DUET_RPC", build::program(suites.setup, "duet-rpc", "duet-rpc")?)));
    let prepared = || match &daemon {
        Ok(environment) => Ok(environment.clone()),
        Err(error) => bail!("{error:#}"),
    };
    match emacs(suites.setup) {
        Err(missing) => suites.add_missing("peers", "emacs", &format!("{missing:#}")),
        Ok(()) => suites.suite("peers", "emacs", prepared(), |setup, environment| {
            let words = ["emacs", "--batch", "-Q", "-l", "tests/peers/emacs/session.el"];
            program_in(setup, environment, "peers-emacs", &words)
        }),
    }
    suites.suite("peers", "node", prepared(), |setup, environment| {
        program_in(setup, environment, "peers-node", &["node", "tests/peers/node/duet.mjs"])
    });
    let monaco = || npm_install::monaco(&suites.setup.workspace, &suites.setup.cache);
    for engine in suites.engines.clone() {
        let script = ["tests/peers/language-workers/run.mjs", &engine.to_string()];
        let environment = prepared().and_then(|node| Ok(node.with("PORTWAY_MONACO", monaco()?)));
        in_browser(suites, "peers-language-workers", engine, environment, &script);
    }
    let aria2 = debian_program(suites.setup, "aria2c", "aria2");
    let peers = npm_install::peers(&suites.setup.workspace, &suites.setup.cache);
    match &aria2 {
        Err(missing) => suites.add_missing("peers", "aria2", &format!("{missing:#}")),
        Ok(aria2) => node_part(suites, "aria2", prepared().map(|node| node.with("PORTWAY_ARIA2", aria2))),
    }
    match &peers {
        Err(missing) => suites.add_missing("peers", "ganache", &format!("{missing:#}")),
        Ok(folder) => {
            let ganache = folder.join("node_modules/ganache/dist/node/cli.js");
            node_part(suites, "ganache", prepared().map(|node| node.with("PORTWAY_GANACHE", ganache)));
        }
    }
    let cli = prepared().and_then(|_| build::program(suites.setup, "portway-cli", "portway"));
    let with_cli = || -> Result<Environment> {
        match &cli {
            Ok(cli) => Ok(prepared()?.with("PORTWAY_CLI", cli)),
            Err(error) => bail!("{error:#}"),
        }
    };
    match debian_program(suites.setup, "websocketd", "websocketd") {
        Err(missing) => suites.add_missing("peers", "websocketd", &format!("{missing:#}")),
        Ok(websocketd) => {
            node_part(suites, "websocketd", with_cli().map(|node| node.with("PORTWAY_WEBSOCKETD", websocketd)));
        }
    }
    match python(suites.setup) {
        Err(missing) => {
            for part in ["rust", "language-server", "libraries"] {
                suites.add_missing("peers", part, &format!("{missing:#}"));
            }
        }
        Ok(python) => {
            let environment = with_cli().map(|node| node.with("PORTWAY_PYLSP", python.with_file_name("pylsp")));
            let script = ["examples/language-server-page/check.mjs"];
            in_browser(suites, "peers-language-server", Engine::Chromium, environment, &script);
            node_part(suites, "libraries", prepared().map(|node| node.with("PORTWAY_PYTHON", &python)));
            let aria2 = aria2.ok();
            let with_server = with_cli().map(|node| node.with("PORTWAY_PYLSP", python.with_file_name("pylsp")));
            suites.suite("peers", "rust", with_server, |setup, environment| {
                let environment = aria2.iter().fold(environment, |all, aria2| all.with("PORTWAY_ARIA2", aria2));
                native(setup, environment, &python)
            });
        }
    }
}

/// Runs a test in `tests/peers/websocket`.
fn node_part(suites: &Run<'_>, part: &str, prepared: Result<Environment>) {
    let script = format!("tests/peers/websocket/{part}.mjs");
    suites.suite("peers", part, prepared, |setup, environment| {
        program_in(setup, environment, &format!("peers-{part}"), &["node", &script])
    });
}

/// Installs the programs of the suite.
pub(crate) fn set_up(setup: &Setup) -> Result<()> {
    setup.node()?;
    npm_install::peers(&setup.workspace, &setup.cache)?;
    emacs(setup)?;
    debian_program(setup, "aria2c", "aria2")?;
    debian_program(setup, "websocketd", "websocketd")?;
    python(setup)?;
    Ok(())
}

/// Runs the tests of the client and the server in Rust.
fn native(setup: &Setup, environment: Environment, python: &Path) -> Result<Verdict> {
    let workspace = &setup.workspace;
    let log = workspace.test_log("peers-rust");
    clear(&log)?;
    let node = find_in_path("node").context("node is not in PATH")?;
    let server = workspace.path("node_modules/.bin/vscode-json-language-server");
    let environment = environment
        .with("PORTWAY_NODE", node)
        .with("PORTWAY_JSON_LANGUAGE_SERVER", server)
        .with("PORTWAY_PYGLS_PYTHON", python);
    let mut command = environment.command(&cargo().to_string_lossy(), &workspace.root)?;
    command.args(["test", "--package", "portway", "--features", FEATURES, "--test", "peers"]);
    command.args(["--package", "jsonrpsee-peer", "--test", "jsonrpsee", "--no-fail-fast", "--", "--skip", MCP_TESTS]);
    Ok(Verdict::from_cargo(&process::run(&mut command, &log, LIMIT)?))
}

/// Installs Emacs if it is missing.
fn emacs(setup: &Setup) -> Result<()> {
    if find_in_path("emacs").is_none() {
        let how = "emacs is not in PATH; install Emacs 28 or newer (Debian: emacs-nox)";
        install("Emacs", &["emacs-nox"], setup).context(how)?;
    }
    Ok(())
}

/// Installs a program of Debian if it is missing. Returns its path.
fn debian_program(setup: &Setup, program: &str, package: &str) -> Result<PathBuf> {
    let how = || format!("{program} is not in PATH; install {package} (Debian: {package})");
    if find_in_path(program).is_none() {
        install(package, &[package], setup).with_context(how)?;
    }
    find_in_path(program).with_context(how)
}

/// Returns the path of Python in a virtual environment that has the required packages.
pub(super) fn python(setup: &Setup) -> Result<PathBuf> {
    let required = setup.workspace.read(REQUIREMENTS)?;
    let folder = setup.cache.path("python");
    let python = folder.join("bin/python");
    // After the installation, the requirements are copied to this path. If the copy is missing or differs, the
    // environment is not complete.
    let installed = folder.join("requirements.txt");
    let is_complete = || fs::read_to_string(&installed).is_ok_and(|installed| installed == required) && python.exists();
    if is_complete() {
        return Ok(python);
    }
    let _lock = setup.cache.lock()?;
    if is_complete() {
        return Ok(python);
    }
    let log = setup.workspace.log("python");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let limit = Duration::from_secs(600);
    let make = || run_ok(Command::new("python3").args(["-m", "venv"]).arg(&folder), &log, limit);
    if make().is_err() {
        let how = "python3 or its module venv is missing; install it (Debian: python3-venv)";
        install("Python", &["python3-venv"], setup).context(how)?;
        make()?;
    }
    step("python packages: pip install", || {
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "install", "--disable-pip-version-check", "--requirement"]);
        run_ok(command.arg(setup.workspace.path(REQUIREMENTS)), &log, limit)
    })?;
    fs::write(&installed, required)?;
    Ok(python)
}

/// Installs packages of Debian. Fails if this process cannot install packages.
fn install(purpose: &str, packages: &[&str], setup: &Setup) -> Result<()> {
    if !debian::can_install() {
        bail!("this process cannot install packages");
    }
    debian::install(purpose, packages, &setup.workspace.log("install-peers"))
}
