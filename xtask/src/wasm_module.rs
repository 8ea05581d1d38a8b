//! Builds the wasm modules that are not part of a package. Their build requires only cargo.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::{clear, run_ok, step};
use crate::setup::Setup;
use crate::toolchain::WASM;

/// Maximum time of a build.
const LIMIT: Duration = Duration::from_secs(900);

/// Builds the library of a package of the workspace as wasm, and copies it to `destination`, a path from the root.
pub(crate) fn build(setup: &Setup, package: &str, destination: &str) -> Result<()> {
    let workspace = &setup.workspace;
    let log = workspace.log(package);
    clear(&log)?;
    let mut cargo = setup.wasm()?.command("cargo", &workspace.root)?;
    cargo.args(["build", "--quiet", "--release", "--lib", "--target", WASM, "--package", package]);
    step(&format!("wasm: {package}"), || run_ok(&mut cargo, &log, LIMIT))?;
    let name = format!("{}.wasm", package.replace('-', "_"));
    let built = workspace.wasm_target().join(WASM).join("release").join(name);
    let destination = workspace.path(destination);
    fs::create_dir_all(destination.parent().context("the destination must be in a folder")?)?;
    fs::copy(&built, destination).with_context(|| built.display().to_string())?;
    Ok(())
}
