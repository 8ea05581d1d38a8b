//! `cargo xtask build --only inspector`: builds the core of the inspector as wasm, in the folder from which the page
//! imports the wasm. `cargo xtask build --only page` also builds the page, and copies the page to [`EMBEDDED`].

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::build::{self as package, files_below, fingerprint};
use crate::cache::lock;
use crate::environment::Environment;
use crate::process::{clear, run_ok, step};
use crate::setup::Setup;
use crate::toolchain::WASM;
use crate::workspace::Workspace;

/// The package of the core.
const PACKAGE: &str = "portway-inspector";

/// The folder of the built module, its wasm and its declarations.
pub(crate) const FOLDER: &str = "www/inspector/core";

/// The names of the built files.
const FILES: [&str; 3] = ["inspector.js", "inspector_bg.wasm", "inspector.d.ts"];

/// The declarations of the module.
const DECLARATIONS: &str = "crates/portway-inspector/api.d.ts";

/// The inputs of the module. A change in any of these files causes a new build.
const INPUTS: &[&str] = &[
    "crates/portway-proto",
    "crates/portway-inspector",
    "xtask/src/inspector.rs",
    "Cargo.toml",
    "Cargo.lock",
    "package-lock.json",
    "wasm-pack.toml",
];

/// The built page.
const PAGE: &str = "www/inspector/dist";

/// The folder whose files the build script of `portway-cli` embeds in the command `portway`.
pub(crate) const EMBEDDED: &str = "crates/portway-cli/page";

/// The only file of [`EMBEDDED`] that is in the repository. All other files belong to the built page.
const NOT_OF_THE_PAGE: &str = "README.md";

/// The end-to-end check of the page.
pub(crate) const CHECK: &str = "www/inspector/check.mjs";

/// The end-to-end check of the page that the command serves.
pub(crate) const COMMAND_CHECK: &str = "www/inspector/command-check.mjs";

/// The end-to-end check of the panel in the playground.
pub(crate) const PANEL_CHECK: &str = "www/inspector/panel-check.mjs";

/// The test that compares the rows of the page with the messages that crossed links of each kind.
pub(crate) const STORY: &str = "tests/inspector/story.mjs";

/// Maximum time of each command.
const LIMIT: Duration = Duration::from_secs(900);

/// Builds the npm package and the core, and then the page of the inspector to [`PAGE`]. Copies the page to
/// [`EMBEDDED`].
pub(crate) fn build_page(setup: &Setup) -> Result<()> {
    package::run(setup)?;
    build(setup)?;
    let workspace = &setup.workspace;
    let log = workspace.log("inspector-page");
    clear(&log)?;
    let mut vite = setup.node()?.command("vite", &workspace.path("www/inspector"))?;
    vite.args(["build", "--logLevel", "warn"]);
    step("inspector: vite build", || run_ok(&mut vite, &log, Duration::from_secs(300)))?;
    embed(workspace)
}

/// Makes the files in [`EMBEDDED`] equal to the built page. Does not write a file that is already equal, because each
/// write causes a new build of the command `portway`.
fn embed(workspace: &Workspace) -> Result<()> {
    let _lock = lock(&workspace.path("target/inspector.lock"))?;
    let (page, folder) = (workspace.path(PAGE), workspace.path(EMBEDDED));
    let (mut built, mut before) = (Vec::new(), Vec::new());
    files_below(&page, &mut built)?;
    files_below(&folder, &mut before)?;
    for file in before {
        let name = file.strip_prefix(&folder)?;
        if name != Path::new(NOT_OF_THE_PAGE) && !page.join(name).exists() {
            fs::remove_file(&file).with_context(|| file.display().to_string())?;
        }
    }
    for file in built {
        let copy = folder.join(file.strip_prefix(&page)?);
        let content = fs::read(&file).with_context(|| file.display().to_string())?;
        if fs::read(&copy).is_ok_and(|before| before == content) {
            continue;
        }
        if let Some(parent) = copy.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&copy, content).with_context(|| copy.display().to_string())?;
    }
    Ok(())
}

/// Builds the command `portway`, which the check of the page starts. Returns the environment of the check.
pub(crate) fn with_program(setup: &Setup) -> Result<Environment> {
    let portway = package::program(setup, "portway-cli", "portway")?;
    Ok(setup.node()?.with("PORTWAY_CLI", portway))
}

/// Builds the core unless it is up to date.
pub(crate) fn build(setup: &Setup) -> Result<()> {
    let workspace = &setup.workspace;
    let _lock = lock(&workspace.path("target/inspector.lock"))?;
    let inputs = fingerprint(workspace, INPUTS)?;
    let stamp = workspace.path("target/inspector.stamp");
    let folder = workspace.path(FOLDER);
    let is_complete = FILES.iter().all(|file| folder.join(file).exists());
    if is_complete && fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == inputs) {
        return Ok(());
    }

    let wasm = setup.wasm()?;
    let node = setup.node()?;
    let log = workspace.log("inspector");
    clear(&log)?;
    let mut cargo = wasm.command("cargo", &workspace.root)?;
    // The crate type is not in the manifest, because a cdylib for the host would need the standard library.
    cargo.args(["rustc", "--quiet", "--release", "--lib", "--crate-type", "cdylib", "--target", WASM]);
    cargo.args(["--package", PACKAGE, "--features", "wasm"]);
    step("inspector: cargo rustc", || run_ok(&mut cargo, &log, LIMIT))?;

    let built = workspace.wasm_target().join(WASM).join("release").join("portway_inspector.wasm");
    let mut bindgen = wasm.command("wasm-bindgen", &workspace.root)?;
    bindgen.args(["--target", "web", "--no-typescript", "--remove-name-section", "--remove-producers-section"]);
    bindgen.args(["--out-name", "inspector", "--out-dir"]).arg(&folder).arg(&built);
    step("inspector: wasm-bindgen", || run_ok(&mut bindgen, &log, LIMIT))?;

    // The page needs speed more than a small module, so the flags of the npm package for a small module are not used.
    let config = workspace.npm_config()?;
    let features = config.build.wasm_opt.iter().filter(|flag| flag.starts_with("--enable-"));
    let module = folder.join("inspector_bg.wasm");
    let mut opt = node.command("wasm-opt", &workspace.root)?;
    opt.arg("-O3").args(features).arg(&module).arg("-o").arg(&module);
    step("inspector: wasm-opt", || run_ok(&mut opt, &log, LIMIT))?;

    let declarations = workspace.path(DECLARATIONS);
    fs::copy(&declarations, folder.join("inspector.d.ts")).with_context(|| declarations.display().to_string())?;
    fs::write(stamp, inputs)?;
    Ok(())
}
