//! `cargo xtask build`: creates pkg/, the npm package, with wasm-pack, wasm-opt and xtask/js/npm-package.mjs.
//! With `--only inspector`, builds only the core of the inspector. With `--only page`, builds the page of the
//! inspector.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use crate::cache::lock;
use crate::environment::Environment;
use crate::inspector;
use crate::notice;
use crate::process::{clear, run_ok, step};
use crate::setup::Setup;
use crate::toolchain::cargo;
use crate::workspace::{NpmConfig, Workspace};

/// The inputs of the package. A change in any of these files causes a new build.
const INPUTS: &[&str] = &[
    "crates/portway-proto",
    "crates/portway-web",
    "npm",
    "xtask/js",
    "xtask/src/build.rs",
    "xtask/src/notice.rs",
    "Cargo.toml",
    "Cargo.lock",
    "package-lock.json",
    "wasm-pack.toml",
    "README.md",
    "docs",
    "PROTOCOL.md",
    "SECURITY.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];

/// Maximum time of each command of a build.
const LIMIT: Duration = Duration::from_secs(900);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Build only this part
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<Part>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Part {
    /// The npm package, in pkg/
    Package,
    /// The core of the inspector, in www/inspector/core
    Inspector,
    /// The page of the inspector, in crates/portway-cli/page; a later build of `portway` contains it
    Page,
}

/// Builds the selected part. Without a selection, builds the npm package.
pub(crate) fn build(setup: &Setup, arguments: &Arguments) -> Result<()> {
    match arguments.only.unwrap_or(Part::Package) {
        Part::Package => {
            run(setup)?;
            println!("the npm package is in pkg/");
        }
        Part::Inspector => {
            inspector::build(setup)?;
            println!("the core of the inspector is in {}/", inspector::FOLDER);
        }
        Part::Page => {
            inspector::build_page(setup)?;
            println!("the page of the inspector is in {}/", inspector::EMBEDDED);
        }
    }
    Ok(())
}

/// Builds a native program of a package. Returns the path of the program.
pub(crate) fn program(setup: &Setup, package: &str, name: &str) -> Result<PathBuf> {
    let workspace = &setup.workspace;
    let log = workspace.log(&format!("build-{name}"));
    clear(&log)?;
    let mut command = Environment::default().command(&cargo().to_string_lossy(), &workspace.root)?;
    command.args(["build", "--package", package]);
    step(&format!("{package}: build {name}"), || run_ok(&mut command, &log, LIMIT))?;
    Ok(workspace.path("target/debug").join(name))
}

/// Builds pkg/ unless it is up to date.
pub(crate) fn run(setup: &Setup) -> Result<()> {
    let workspace = &setup.workspace;
    let config = workspace.npm_config()?;
    let _lock = lock(&workspace.path("target/build.lock"))?;
    let inputs = fingerprint(workspace, INPUTS)?;
    let stamp = workspace.path("target/pkg.stamp");
    let complete = config.entry.iter().all(|entry| workspace.path("pkg").join(&entry.output).exists());
    if complete && fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == inputs) {
        return Ok(());
    }

    let environment = setup.wasm()?;
    let node = setup.node()?;
    let log = workspace.log("build");
    clear(&log)?;
    let build = &config.build;
    let modules = [(&build.krate, "portway", "target/pkg-raw"), (&build.mcp_crate, "mcp", "target/pkg-raw-mcp")];
    for (krate, name, raw) in modules {
        let raw = workspace.path(raw);
        remove_folder(&raw)?;
        let mut pack = environment.command("wasm-pack", &workspace.root)?;
        // With `no-install`, wasm-pack downloads no tools. Its downloads would ignore the lock file. xtask has
        // installed all tools.
        pack.args(["build", krate, "--mode", "no-install", "--no-opt", "--no-pack"]);
        pack.args(["--target", &build.target, "--profile", &build.profile, "--out-name", name, "--out-dir"]).arg(&raw);
        // With the default feature `start`, the library would start as soon as the module is loaded. Without this
        // feature, the loader of the package starts the library.
        pack.args(["--", "--no-default-features"]);
        step(&format!("wasm: wasm-pack build {krate}"), || run_ok(&mut pack, &log, LIMIT))?;

        // wasm-opt removes the sections with names and producers. The linker must not remove these sections, because
        // the linker would also remove the custom sections that wasm-bindgen needs.
        let wasm = raw.join(format!("{name}_bg.wasm"));
        let mut opt = node.command("wasm-opt", &workspace.root)?;
        opt.args(&build.wasm_opt).arg(&wasm).arg("-o").arg(&wasm);
        step(&format!("wasm: wasm-opt {name}"), || run_ok(&mut opt, &log, LIMIT))?;
    }

    let notice = step("package: the licences of the crates in the wasm", || {
        let crates = modules.map(|(krate, ..)| krate.as_str());
        notice::of_wasm(workspace, &environment, &crates, &setup.toolchain()?.rustc_version)
    })?;
    let plan = write_plan(workspace, &config, &notice)?;
    let mut package = node.command("node", &workspace.root)?;
    package.arg("xtask/js/npm-package.mjs").arg(&plan);
    step("package: bundle the modules into pkg/", || run_ok(&mut package, &log, LIMIT))?;

    fs::write(stamp, inputs)?;
    Ok(())
}

/// Writes the plan of npm-package.mjs. Returns the path of the file.
fn write_plan(workspace: &Workspace, config: &NpmConfig, notice: &str) -> Result<PathBuf> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        workspace: Inherited,
        package: Package,
    }
    #[derive(serde::Deserialize)]
    struct Inherited {
        package: Shared,
    }
    #[derive(serde::Deserialize)]
    struct Shared {
        version: String,
        license: String,
    }
    #[derive(serde::Deserialize)]
    struct Package {
        description: String,
        #[serde(default)]
        keywords: Vec<String>,
        repository: Option<String>,
    }
    let manifest: Manifest = toml::from_str(&workspace.read("Cargo.toml")?).context("Cargo.toml")?;
    let shared = manifest.workspace.package;
    let plan = json!({
        "root": workspace.root,
        "raw": workspace.path("target/pkg-raw"),
        "rawMcp": workspace.path("target/pkg-raw-mcp"),
        "out": workspace.path("pkg"),
        "entries": config.entry,
        "notice": notice,
        "features": config.build.wasm_opt.iter().filter(|flag| flag.starts_with("--enable-")).collect::<Vec<_>>(),
        "package": {
            "version": shared.version,
            "license": shared.license,
            "description": manifest.package.description,
            "keywords": manifest.package.keywords,
            "repository": manifest.package.repository,
        },
    });
    let file = workspace.path("target/package-plan.json");
    fs::write(&file, serde_json::to_string_pretty(&plan)?)?;
    Ok(file)
}

/// Returns a hash of the contents of the inputs. The hash does not depend on file times, so that a fresh checkout of
/// the same commit causes no new build.
pub(crate) fn fingerprint(workspace: &Workspace, inputs: &[&str]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for input in inputs {
        let mut files = Vec::new();
        files_below(&workspace.path(input), &mut files)?;
        files.sort();
        for file in files {
            file.strip_prefix(&workspace.root)?.hash(&mut hasher);
            fs::read(&file)?.hash(&mut hasher);
        }
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// Adds the file `path`, or all files below the folder `path`. Adds nothing if `path` does not exist.
pub(crate) fn files_below(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        for entry in path.read_dir()? {
            files_below(&entry?.path(), files)?;
        }
    } else if path.exists() {
        files.push(path.to_path_buf());
    }
    Ok(())
}

fn remove_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}
