//! `cargo xtask lint`: checks the formatting, clippy, docs, types, limits, the public surface, the layers of the code,
//! the words of comments and the subjects of commits. Warnings are errors. If a check fails, the next checks still run,
//! so that one run shows all faults.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::environment::Environment;
use crate::invariants;
use crate::limits;
use crate::process::{clear, run_ok, short_step};
use crate::prose;
use crate::setup::Setup;
use crate::subjects;
use crate::surface::{self, Target};
use crate::toolchain::{self, WASM, WINDOWS, WITHOUT_STD, cargo};
use crate::workspace::Workspace;

/// The package of the sans-IO core.
const CORE: &str = "portway-proto";

/// The package of the sans-IO core of the inspector.
const INSPECTOR: &str = "portway-inspector";

/// The package of the library.
const LIBRARY: &str = "portway";

/// The package of the browser driver.
const BROWSER: &str = "portway-web";

/// Maximum time of each command.
const LIMIT: Duration = Duration::from_secs(900);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only the checks whose names contain this text
    #[arg(long, value_name = "PART")]
    only: Option<String>,
}

/// Runs every check, or the checks that `--only` selects. Returns `false` if a check has failed.
pub(crate) fn run(setup: &Setup, arguments: Arguments) -> Result<bool> {
    let workspace = &setup.workspace;
    // The toolchain is set up first, so that the output of the set-up is not between the lines of the checks.
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
        command.args(["--workspace", "--features", "portway/mcp-http"]);
        for package in workspace.wasm_only_packages()? {
            command.args(["--exclude", &package]);
        }
        Ok(command)
    };
    let mut checks = Checks { only: arguments.only.unwrap_or_default(), run: 0, failed: 0 };
    checks.check("format: cargo fmt --check", || run_ok(&mut on_host(&["fmt", "--all", "--check"])?, &log, LIMIT));
    checks.check("format and lint: biome", || {
        let mut command = node.command("biome", &workspace.root)?;
        run_ok(command.args(["ci", "--colors=off", "--error-on-warnings"]), &log, LIMIT)
    });
    checks.check("clippy: host", || {
        let mut command = without_wasm_only(on_host(&["clippy", "--quiet", "--all-targets"])?)?;
        run_ok(command.args(["--", "-Dwarnings"]), &log, LIMIT)
    });
    // Packages are checked one by one. If one command checked all packages, cargo would compile a shared dependency
    // with the features that any package requires, such as `std`. The npm package must compile without `std`.
    let wasm_too = workspace.wasm_too_packages()?;
    for package in
        [LIBRARY, BROWSER].map(str::to_owned).into_iter().chain(workspace.wasm_only_packages()?).chain(wasm_too.clone())
    {
        checks.check(&format!("clippy: wasm32, {package}"), || {
            let Some((program, arguments)) = wasm_clippy.split_first() else { bail!("no clippy") };
            let mut command = wasm.command(&program.to_string_lossy(), &workspace.root)?;
            command.args(arguments).args(["--quiet", "--target", WASM, "-p", &package]);
            if package == LIBRARY {
                // The other tests run only on the host.
                command.args(["--all-features", "--lib", "--test", "wasm"]);
            } else if package == BROWSER {
                command.args(["--all-features", "--lib"]);
            } else if wasm_too.contains(&package) {
                // The programs of such a package run only on the host.
                command.args(["--all-features", "--lib"]);
            }
            run_ok(command.args(["--", "-Dwarnings"]), &log, LIMIT)
        });
    }
    checks.check("windows: cargo check", || {
        for features in [&[][..], &["--no-default-features"]] {
            if !check_on_target(workspace, "check", WINDOWS, LIBRARY, features)? {
                // The next set of features needs the same missing target, so one warning is enough.
                break;
            }
        }
        Ok(())
    });
    checks.check("without std: cargo build of the cores", || {
        check_on_target(workspace, "build", WITHOUT_STD, CORE, &["--features", "codec,mcp"])?;
        check_on_target(workspace, "build", WITHOUT_STD, INSPECTOR, &[]).map(|_| ())
    });
    checks.check("docs: host", || {
        let mut command = without_wasm_only(on_host(&["doc", "--quiet", "--no-deps"])?)?;
        run_ok(&mut command, &log, LIMIT)
    });
    checks.check("docs: wasm32", || {
        let mut command = wasm.command("cargo", &workspace.root)?;
        command
            .args(["doc", "--quiet", "--no-deps", "--target", WASM, "-p", LIBRARY, "-p", BROWSER, "--all-features"])
            .env("RUSTDOCFLAGS", "-Dwarnings");
        run_ok(&mut command, &log, LIMIT)
    });
    // This check covers only wasm32, because `cargo xtask test` runs the examples on the host.
    checks.check("examples in the docs: wasm32", || {
        let mut command = wasm.command("cargo", &workspace.root)?;
        // Cargo and stable rustdoc cannot compile examples without running them. The runner `true` does nothing, so
        // the examples are only compiled.
        command.args(["test", "--doc", "--quiet", "--target", WASM, "-p", LIBRARY, "--all-features"]);
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "true");
        run_ok(&mut command, &log, LIMIT)
    });
    checks.check("packages: cargo publish --dry-run", || {
        // This check does not build the packages, because the other checks build the same sources.
        run_ok(&mut on_host(&["publish", "--workspace", "--dry-run", "--no-verify", "--allow-dirty"])?, &log, LIMIT)
    });
    for target in Target::ALL {
        checks.check(&format!("surface: {}", target.name()), || surface::check(setup, target));
    }
    checks.check("types: tsc over the declarations", || {
        let mut files = Vec::new();
        for entry in workspace.path("crates/portway-web/types").read_dir()? {
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
    checks.check("types: tsc over the JavaScript, and its exports as declared", || {
        let mut command = node.command("tsc", &workspace.root)?;
        run_ok(command.args(["--project", "tests/types/source", "--pretty", "false"]), &log, LIMIT)
    });
    checks.check("limits: files generated from limits.toml, and tests", || {
        let problems = limits::check(workspace)?;
        if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("\n")) }
    });
    checks.check("numbers that Rust and JavaScript share", || {
        let mut command = node.command("node", &workspace.root)?;
        run_ok(command.arg("xtask/js/shared-numbers.mjs"), &log, LIMIT)
    });
    checks.check("layers of the JavaScript, length of files", || {
        let breaches = invariants::check(workspace)?;
        if breaches.is_empty() { Ok(()) } else { bail!("{}", breaches.join("\n")) }
    });
    checks.check("columns of lines, words of comments", || {
        let breaches = prose::check(workspace)?;
        if breaches.is_empty() { Ok(()) } else { bail!("{}", breaches.join("\n")) }
    });
    checks.check("subjects of commits", || {
        let Some(breaches) = subjects::check(workspace)? else {
            eprint!("not checked without the git history ");
            return Ok(());
        };
        if breaches.is_empty() { Ok(()) } else { bail!("{}", breaches.join("\n")) }
    });

    if checks.run == 0 {
        bail!("no check has \"{}\" in its name", checks.only);
    }
    match checks.failed {
        0 => println!("lint: all checks passed"),
        failed => println!("lint: {failed} checks failed"),
    }
    Ok(checks.failed == 0)
}

/// Runs a command such as `cargo check` on the library of a package for `target`, with warnings as errors. Skips the
/// command and returns `false` if the active toolchain does not have the target and the target cannot be added.
fn check_on_target(
    workspace: &Workspace,
    command: &str,
    target: &str,
    package: &str,
    features: &[&str],
) -> Result<bool> {
    if let Err(reason) = toolchain::ensure_target(workspace, target) {
        eprintln!(
            "  SKIPPED: {package} was not checked for {target}, which the active toolchain does not have: {reason:#}. \
             Install the target with `rustup target add {target}` (rustup: https://rustup.rs)."
        );
        return Ok(false);
    }
    let mut cargo = Environment::default().command(&cargo().to_string_lossy(), &workspace.root)?;
    cargo.args([command, "--quiet", "--lib", "--target", target, "--package", package]).args(features);
    run_ok(cargo.env("RUSTFLAGS", "-Dwarnings"), &workspace.log("lint"), LIMIT)?;
    Ok(true)
}

struct Checks {
    /// A text that the name of a check must contain. The other checks do not run.
    only: String,
    /// The number of checks that were run.
    run: usize,
    /// The number of checks that failed.
    failed: usize,
}

impl Checks {
    fn check<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) {
        if !name.contains(&self.only) {
            return;
        }
        self.run += 1;
        // The checks run one by one, and most of them take only a second, so no line is printed at their start.
        if let Err(error) = short_step(name, work) {
            self.failed += 1;
            eprintln!("{error:#}");
        }
    }
}
