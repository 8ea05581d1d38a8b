//! `cargo xtask surface`: compares the public surface of the npm package, of `portway` and of `portway-proto` with the
//! lists in tests/surface. A change of the surface therefore requires a change of a list, so that a reviewer sees the
//! change.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::build;
use crate::environment::Environment;
use crate::process::{clear, run_ok};
use crate::setup::Setup;
use crate::toolchain::{WASM, cargo};
use crate::workspace::Workspace;

/// The version of rustdoc's JSON format that `public-api` reads. xtask/Cargo.toml has the version of `public-api`.
/// rustc 1.93 to 1.95 write this format.
const FORMAT: u64 = 57;

/// Maximum time of rustdoc.
const RUSTDOC_TIMEOUT: Duration = Duration::from_secs(600);

/// The script that lists the surface of pkg/.
const NPM_SCRIPT: &str = "tests/packaging/surface.mjs";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write the lists. By default, they are only compared
    #[arg(long)]
    write: bool,
}

/// A library in Rust, with the target for which its surface is listed.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    Proto,
    Host,
    Wasm,
}

impl Target {
    pub(crate) const ALL: [Self; 3] = [Self::Proto, Self::Host, Self::Wasm];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Proto => "portway-proto",
            Self::Host => "portway on the host",
            Self::Wasm => "portway on wasm32",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Proto => "portway-proto",
            Self::Host | Self::Wasm => "portway",
        }
    }

    fn list(self) -> &'static str {
        match self {
            Self::Proto => "tests/surface/rust-proto.txt",
            Self::Host => "tests/surface/rust-host.txt",
            Self::Wasm => "tests/surface/rust-wasm.txt",
        }
    }
}

/// Compares all lists, or writes them. Returns `false` if a list differs.
pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    let mut is_equal = true;
    for target in Target::ALL {
        if arguments.write {
            fs::write(setup.workspace.path(target.list()), items(setup, target)?)?;
        } else if let Err(difference) = check(setup, target) {
            eprintln!("{difference:#}");
            is_equal = false;
        }
    }
    build::run(setup)?;
    let mut script = setup.node()?.command("node", &setup.workspace.root)?;
    script.arg(NPM_SCRIPT).args(arguments.write.then_some("--write"));
    is_equal &= script.status().context("node")?.success();
    if is_equal {
        println!("surface: {}", if arguments.write { "written to tests/surface" } else { "as in tests/surface" });
    }
    Ok(is_equal)
}

/// The error for a rustdoc that does not write the version [`FORMAT`] of the JSON format. Contains the version that
/// rustdoc writes.
#[derive(Debug)]
struct OtherFormat(Option<u64>);

impl fmt::Display for OtherFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = self.0.map_or_else(|| "none".to_owned(), |format| format.to_string());
        write!(
            f,
            "rustdoc must write JSON of the format {FORMAT}, got {format}; use rustc 1.95, or change the version of \
             `public-api` in xtask/Cargo.toml and `FORMAT` in xtask/src/surface.rs"
        )
    }
}

impl std::error::Error for OtherFormat {}

/// Compares the list of `target` with the public items of its library. An error shows the lines that differ. If rustdoc
/// does not write the format [`FORMAT`], prints that the list is not compared.
pub(crate) fn check(setup: &Setup, target: Target) -> Result<()> {
    let expected = setup.workspace.read(target.list())?;
    let found = match items(setup, target) {
        Err(error) if error.is::<OtherFormat>() => {
            eprintln!("the list {} is not compared: {error}", target.list());
            return Ok(());
        }
        found => found?,
    };
    let differences = differences(&expected, &found);
    if differences.is_empty() {
        return Ok(());
    }
    bail!(
        "the public items of the library differ from {}:\n{}\n  to accept the differences, run `cargo xtask surface --write`",
        target.list(),
        differences.join("\n")
    )
}

/// Returns the public items of the library, one on each line. Omits implementations that the compiler adds.
fn items(setup: &Setup, target: Target) -> Result<String> {
    let Setup { workspace, .. } = setup;
    // Cargo runs build scripts again whenever `RUSTC_BOOTSTRAP` has changed. This build sets the variable, so it has a
    // separate folder. Builds without the variable therefore need not run the build scripts again.
    let folder = workspace.path("target/surface");
    let mut command = rustdoc(setup, target)?;
    command
        .args(["rustdoc", "--quiet", "-p", target.package(), "--lib", "--all-features", "--target-dir"])
        .arg(&folder);
    let file = format!("doc/{}.json", target.package().replace('-', "_"));
    let json = match target {
        Target::Proto | Target::Host => folder.join(file),
        Target::Wasm => {
            command.args(["--target", WASM]);
            folder.join(WASM).join(file)
        }
    };
    command.args(["--", "-Zunstable-options", "--output-format", "json"]).env("RUSTC_BOOTSTRAP", "1");
    let log = workspace.log("surface");
    clear(&log)?;
    run_ok(&mut command, &log, RUSTDOC_TIMEOUT)?;

    let text = fs::read_to_string(&json).with_context(|| json.display().to_string())?;
    let format = serde_json::from_str::<Value>(&text)?.get("format_version").and_then(Value::as_u64);
    if format != Some(FORMAT) {
        return Err(OtherFormat(format).into());
    }
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

fn rustdoc(setup: &Setup, target: Target) -> Result<Command> {
    let Workspace { root, .. } = &setup.workspace;
    match target {
        Target::Proto | Target::Host => Environment::default().command(&cargo().to_string_lossy(), root),
        Target::Wasm => setup.wasm()?.command("cargo", root),
    }
}

/// Compares the lines of two texts without their order. Returns the lines that do not occur equally often in both
/// texts. `- ` marks a line that occurs more often in `expected`, and `+ ` marks a line that occurs more often in
/// `found`.
fn differences(expected: &str, found: &str) -> Vec<String> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for line in expected.lines() {
        *counts.entry(line).or_default() -= 1;
    }
    for line in found.lines() {
        *counts.entry(line).or_default() += 1;
    }
    let signed = |(line, count): (&str, i64)| match count {
        0 => None,
        1.. => Some(format!("  + {line}")),
        _ => Some(format!("  - {line}")),
    };
    counts.into_iter().filter_map(signed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_the_lines_that_only_one_text_has() {
        assert!(differences("a\nb\n", "b\na\n").is_empty());
        assert_eq!(differences("a\nb\nb\n", "b\nc\n"), ["  - a", "  - b", "  + c"]);
    }
}
