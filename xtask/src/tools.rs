//! The Rust programs that builds and tests call: wasm-bindgen, wasm-pack, geckodriver, cargo-tarpaulin. A program in
//! PATH is used if its version is suitable. Otherwise, cargo installs the program into the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::cache::Cache;
use crate::environment::{Environment, find_in_path};
use crate::process::{Outcome, capture, run, step, tail};
use crate::toolchain::cargo;
use crate::workspace::Workspace;

pub(crate) struct Tool {
    /// The crate of the tool.
    krate: &'static str,
    /// The programs of the crate. The option `--version` of the first program prints the version.
    programs: &'static [&'static str],
    version: String,
    /// Whether a newer version is accepted.
    accepts_newer: bool,
}

impl Tool {
    /// Returns wasm-bindgen in the version of Cargo.lock, because the program and the library must have equal versions.
    pub(crate) fn wasm_bindgen(workspace: &Workspace) -> Result<Self> {
        Ok(Self {
            krate: "wasm-bindgen-cli",
            programs: &["wasm-bindgen", "wasm-bindgen-test-runner"],
            version: workspace.locked_version("wasm-bindgen")?,
            accepts_newer: false,
        })
    }

    pub(crate) fn wasm_pack(workspace: &Workspace) -> Result<Self> {
        let version = workspace.npm_config()?.tools.wasm_pack;
        Ok(Self { krate: "wasm-pack", programs: &["wasm-pack"], version, accepts_newer: true })
    }

    pub(crate) fn geckodriver(workspace: &Workspace) -> Result<Self> {
        let version = workspace.npm_config()?.tools.geckodriver;
        Ok(Self { krate: "geckodriver", programs: &["geckodriver"], version, accepts_newer: true })
    }

    pub(crate) fn tarpaulin(workspace: &Workspace) -> Result<Self> {
        let version = workspace.npm_config()?.tools.cargo_tarpaulin;
        Ok(Self { krate: "cargo-tarpaulin", programs: &["cargo-tarpaulin"], version, accepts_newer: true })
    }

    /// Installs the programs if they are missing, and returns their folder.
    pub(crate) fn folder(&self, workspace: &Workspace, cache: &Cache) -> Result<PathBuf> {
        if let Some(folder) = self.in_path() {
            return Ok(folder);
        }
        let root = cache.path(format!("tools/{}-{}", self.krate, self.version));
        let folder = root.join("bin");
        if self.is_complete(&folder) {
            return Ok(folder);
        }
        let _lock = cache.lock()?;
        if !self.is_complete(&folder) {
            step(&format!("{} {}: cargo install", self.krate, self.version), || self.install(workspace, cache, &root))?;
        }
        Ok(folder)
    }

    fn is_complete(&self, folder: &Path) -> bool {
        self.programs.iter().all(|program| folder.join(program).is_file())
    }

    /// Returns the folder in PATH with the programs, if their version is suitable.
    fn in_path(&self) -> Option<PathBuf> {
        let folder = find_in_path(self.programs.first()?)?.parent()?.to_path_buf();
        let output = capture(Command::new(folder.join(self.programs.first()?)).arg("--version")).ok()?;
        let found = version_in(&output)?;
        let is_suitable = found == self.version || (self.accepts_newer && numbers(found) > numbers(&self.version));
        (is_suitable && self.is_complete(&folder)).then_some(folder)
    }

    fn install(&self, workspace: &Workspace, cache: &Cache, root: &Path) -> Result<()> {
        let log = workspace.log(&format!("install-{}", self.krate));
        let outcome = install_with(|dependencies| {
            if dependencies == Dependencies::Newest {
                eprintln!("  {}: a version of its lock file is not in the registry; trying newer versions", self.krate);
            }
            run(&mut self.install_command(cache, root, dependencies)?, &log, Duration::from_secs(1500))
        })?;
        if outcome.success() {
            return Ok(());
        }
        bail!(
            "`cargo install {} --version {} --locked` failed ({})\n{}\n  the whole output is in {}",
            self.krate,
            self.version,
            outcome.describe(),
            tail(&outcome.output, 40),
            log.display()
        )
    }

    fn install_command(&self, cache: &Cache, root: &Path, dependencies: Dependencies) -> Result<Command> {
        // All tools share a folder of build products, since they share many dependencies.
        let products = cache.path("tools/build");
        let mut command = Environment::default()
            .with("CARGO_TARGET_DIR", &products)
            // The tools run only for seconds, but each new machine builds them. So a fast build is more important than
            // fast code.
            .with("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .with("CARGO_PROFILE_RELEASE_LTO", "off")
            .with("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .with("CARGO_PROFILE_RELEASE_DEBUG", "0")
            .command(&cargo().to_string_lossy(), cache.root())?;
        command.args(["install", self.krate, "--version", &self.version, "--root"]).arg(root);
        if dependencies == Dependencies::Locked {
            command.arg("--locked");
        }
        Ok(command)
    }
}

/// The versions of a tool's dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dependencies {
    /// The versions in the lock file of the tool. The authors of the tool have tested these versions. Every tool has a
    /// lock file.
    Locked,
    /// The newest compatible versions.
    Newest,
}

/// Installs a tool with the versions in its lock file. If the registry lacks one of these versions, as a mirror may,
/// cargo uses the newest versions. The newest versions are safe, because no package of this repository contains the
/// tool.
fn install_with(mut attempt: impl FnMut(Dependencies) -> Result<Outcome>) -> Result<Outcome> {
    let outcome = attempt(Dependencies::Locked)?;
    if outcome.success() || !lacks_locked_version(&outcome.output) {
        Ok(outcome)
    } else {
        attempt(Dependencies::Newest)
    }
}

/// Returns whether cargo has failed because the registry lacks a version of the lock file.
fn lacks_locked_version(output: &str) -> bool {
    output.contains("failed to select a version for the requirement") && output.contains("(locked to ")
}

/// Removes the build products of `cargo install`. The products are not used after all tools are installed.
pub(crate) fn remove_build_products(cache: &Cache) -> Result<()> {
    let products = cache.path("tools/build");
    if products.exists() {
        fs::remove_dir_all(&products)?;
    }
    Ok(())
}

/// Returns the first word of `text` that looks like a version.
fn version_in(text: &str) -> Option<&str> {
    text.split([' ', '\n', '(', ')']).find(|word| word.contains('.') && numbers(word).is_some())
}

/// Returns the numbers of a version, without a pre-release and build metadata.
fn numbers(version: &str) -> Option<Vec<u32>> {
    let release = version.split(['-', '+']).next()?;
    release.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Ending;

    #[test]
    fn a_version_is_found_in_the_output_of_programs() {
        assert_eq!(version_in("wasm-bindgen 0.2.130"), Some("0.2.130"));
        assert_eq!(version_in("geckodriver 0.36.0 (c3ae2f2f1e51 2026-02-25)\n\nThe source"), Some("0.36.0"));
        assert_eq!(version_in("no version here."), None);
    }

    #[test]
    fn a_tool_is_installed_with_or_without_its_lock_file() -> Result<()> {
        let tool =
            Tool { krate: "some-tool", programs: &["some-tool"], version: "1.2.3".to_owned(), accepts_newer: false };
        let cache = Cache::open()?;
        let arguments = |dependencies| -> Result<Vec<_>> {
            let command = tool.install_command(&cache, Path::new("tools"), dependencies)?;
            Ok(command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect())
        };
        let without_lock_file = ["install", "some-tool", "--version", "1.2.3", "--root", "tools"];
        assert_eq!(arguments(Dependencies::Newest)?, without_lock_file);
        assert_eq!(arguments(Dependencies::Locked)?, [&without_lock_file[..], &["--locked"]].concat());
        Ok(())
    }

    #[test]
    fn only_a_missing_version_disables_the_lock_file() -> Result<()> {
        let attempts = |program: &str, output: &str| -> Result<Vec<_>> {
            let mut attempts = Vec::new();
            let status = Command::new(program).status()?;
            install_with(|dependencies| {
                attempts.push(dependencies);
                Ok(Outcome { ending: Ending::Exited(status), output: output.to_owned() })
            })?;
            Ok(attempts)
        };
        let missing =
            "error: failed to select a version for the requirement `webpki-roots = \"^1.0.10\"` (locked to 1.0.11)";
        assert_eq!(attempts("true", missing)?, [Dependencies::Locked]);
        assert_eq!(attempts("false", missing)?, [Dependencies::Locked, Dependencies::Newest]);
        for output in [
            "error: failed to select a version for the requirement `webpki-roots = \"^9\"`",
            "error: checksum for `webpki-roots v1.0.11` changed between lock files",
            "error[E0425]: cannot find value `x` in this scope",
        ] {
            assert_eq!(attempts("false", output)?, [Dependencies::Locked], "{output}");
        }
        Ok(())
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(numbers("0.10.0") > numbers("0.9.9"));
        assert_eq!(numbers("1.2.0-rc.1"), numbers("1.2.0"));
    }
}
