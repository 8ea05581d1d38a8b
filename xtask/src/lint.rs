//! `cargo xtask lint`: formatting, clippy and docs on both targets with warnings denied, the type declarations, and
//! the layering of the core. Everything is checked before it ends, so that one run shows all there is to mend.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::environment::Environment;
use crate::invariants;
use crate::limits;
use crate::process::{clear, run_ok, step};
use crate::setup::Setup;
use crate::surface::{self, Target};
use crate::toolchain::{WASM, cargo};
use crate::workspace::COMMANDS;

/// The package whose library is the product.
const LIBRARY: &str = "portway";

const LIMIT: Duration = Duration::from_secs(900);

/// Runs every check; `false` if one found something.
pub(crate) fn run(setup: &Setup) -> Result<bool> {
    let workspace = &setup.workspace;
    // All of the set-up comes first: its lines would otherwise stand in the middle of a check's.
    let wasm = setup.wasm()?;
    let wasm_clippy = setup.toolchain()?.clippy(workspace)?;
    let node = setup.node()?;
    let host = Environment::default();
    let cargo = cargo().to_string_lossy().into_owned();
    let log = workspace.log("lint");
    clear(&log)?;

    let on_host = |words: &[&str]| -> Result<Command> {
        let mut command = host.command(&cargo, &workspace.root)?;
        command.args(words).env("RUSTDOCFLAGS", "-Dwarnings");
        Ok(command)
    };
    let without_wasm_only = |mut command: Command| -> Result<Command> {
        command.arg("--workspace");
        for package in workspace.wasm_only_packages()? {
            command.args(["--exclude", &package]);
        }
        Ok(command)
    };
    let mut checks = Checks { failed: 0 };
    checks.check("format: cargo fmt --check", || run_ok(&mut on_host(&["fmt", "--all", "--check"])?, &log, LIMIT));
    checks.check("format and lint: biome", || {
        let mut command = node.command("biome", &workspace.root)?;
        run_ok(command.args(["ci", "--colors=off", "--error-on-warnings"]), &log, LIMIT)
    });
    checks.check("clippy: host", || {
        let mut command = without_wasm_only(on_host(&["clippy", "--quiet", "--all-targets", "--features", COMMANDS])?)?;
        run_ok(command.args(["--", "-Dwarnings"]), &log, LIMIT)
    });
    // One package at a time: in one go they would get each other's features, and the npm package has no `std`.
    let wasm_too = workspace.wasm_too_packages()?;
    for package in [LIBRARY.to_owned()].into_iter().chain(workspace.wasm_only_packages()?).chain(wasm_too.clone()) {
        checks.check(&format!("clippy: wasm32, {package}"), || {
            let Some((program, arguments)) = wasm_clippy.split_first() else { bail!("no clippy") };
            let mut command = wasm.command(&program.to_string_lossy(), &workspace.root)?;
            command.args(arguments).args(["--quiet", "--target", WASM, "-p", &package]);
            if package == LIBRARY {
                // Its other tests are for the host.
                command.args(["--features", "json", "--lib", "--test", "wasm"]);
            } else if wasm_too.contains(&package) {
                // Its programs are for the host.
                command.arg("--lib");
            }
            run_ok(command.args(["--", "-Dwarnings"]), &log, LIMIT)
        });
    }
    checks.check("docs: host", || {
        let mut command = without_wasm_only(on_host(&["doc", "--quiet", "--no-deps", "--features", COMMANDS])?)?;
        run_ok(&mut command, &log, LIMIT)
    });
    checks.check("docs: wasm32", || {
        let mut command = wasm.command("cargo", &workspace.root)?;
        command
            .args(["doc", "--quiet", "--no-deps", "--target", WASM, "-p", LIBRARY, "--features", "json"])
            .env("RUSTDOCFLAGS", "-Dwarnings");
        run_ok(&mut command, &log, LIMIT)
    });
    // Those for the host are run by `cargo xtask test`.
    checks.check("examples in the docs: wasm32", || {
        let mut command = wasm.command("cargo", &workspace.root)?;
        // They are only compiled: cargo has no `--no-run` for them, and stable rustdoc neither.
        command.args(["test", "--doc", "--quiet", "--target", WASM, "-p", LIBRARY, "--features", "json"]);
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "true");
        run_ok(&mut command, &log, LIMIT)
    });
    for target in Target::ALL {
        checks.check(&format!("surface: {}", target.name()), || surface::check(setup, target));
    }
    checks.check("types: tsc over src/js", || {
        let mut files = Vec::new();
        for entry in workspace.path("src/js").read_dir()? {
            let path = entry?.path();
            if path.to_string_lossy().ends_with(".d.ts") {
                files.push(path);
            }
        }
        let mut command = node.command("tsc", &workspace.root)?;
        command.args(["--noEmit", "--ignoreConfig", "--strict", "--exactOptionalPropertyTypes", "--pretty", "false"]);
        command.args(["--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--types", ""]).args(files);
        run_ok(&mut command, &log, LIMIT)
    });
    checks.check("limits: what is made from limits.toml, and its tests", || {
        let problems = limits::check(workspace)?;
        if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("\n")) }
    });
    checks.check("numbers that Rust and JavaScript share", || {
        let mut command = node.command("node", &workspace.root)?;
        run_ok(command.arg("xtask/js/shared-numbers.mjs"), &log, LIMIT)
    });
    checks.check("layering of the core, length of files", || {
        let breaches = invariants::check(workspace)?;
        if breaches.is_empty() { Ok(()) } else { bail!("{}", breaches.join("\n")) }
    });

    match checks.failed {
        0 => println!("lint: nothing found"),
        failed => println!("lint: {failed} checks failed"),
    }
    Ok(checks.failed == 0)
}

struct Checks {
    failed: usize,
}

impl Checks {
    fn check<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) {
        if let Err(error) = step(name, work) {
            self.failed += 1;
            eprintln!("{error:#}");
        }
    }
}
