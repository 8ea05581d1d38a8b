//! Finds a Rust toolchain that can build for wasm32. The first attempt is the active toolchain. The second attempt is a
//! toolchain that an earlier run has completed in the cache. The third attempt is the active toolchain after rustup has
//! added the target. The last attempt is the compiler of Debian, with a standard library that xtask builds.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::cache::Cache;
use crate::debian;
use crate::environment::{Environment, find_in_path};
use crate::process::{capture, run, step, tail};
use crate::wasm_std;
use crate::workspace::Workspace;

/// The target of the npm package and of the tests in browsers.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// The target of the check for Windows.
pub(crate) const WINDOWS: &str = "x86_64-pc-windows-msvc";

/// A target without the standard library.
pub(crate) const WITHOUT_STD: &str = "thumbv7em-none-eabihf";

/// A toolchain that builds for wasm32.
pub(crate) struct Toolchain {
    kind: Kind,
    pub(crate) rustc_version: String,
}

enum Kind {
    /// The toolchain that runs xtask.
    Active,
    /// A folder of [`wasm_std`] that refers to the compiler of Debian.
    Debian { folder: PathBuf },
}

impl Toolchain {
    pub(crate) fn for_wasm(workspace: &Workspace, cache: &Cache) -> Result<Self> {
        let active = || -> Result<Option<Self>> {
            let rustc_version = capture(rustc().arg("--version"))?;
            Ok(has_target(&mut rustc(), WASM)?.then_some(Self { kind: Kind::Active, rustc_version }))
        };
        if let Some(toolchain) = active()? {
            return Ok(toolchain);
        }
        let _lock = cache.lock()?;
        if let Some(toolchain) = Self::debian(cache)? {
            return Ok(toolchain);
        }
        let rustup_result = add_target_with_rustup(workspace, WASM);
        if rustup_result.is_ok()
            && let Some(toolchain) = active()?
        {
            return Ok(toolchain);
        }
        if let Err(error) = &rustup_result {
            eprintln!("  wasm target: rustup cannot add the target ({error:#}); trying Debian's compiler");
        }
        let debian_result = wasm_std::set_up(workspace, cache);
        if debian_result.is_ok()
            && let Some(toolchain) = Self::debian(cache)?
        {
            return Ok(toolchain);
        }
        let reason = |result: Result<()>| match result {
            Ok(()) => "the installation succeeded, but the target is still missing".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        bail!(
            "no installed toolchain builds for {WASM}\n\
             - the active toolchain is {}, which does not have the target\n\
             - `rustup target add {WASM}`: {}\n\
             - Debian's compiler: {}\n\
             Install rustup (https://rustup.rs), and run `rustup target add {WASM}`. On Debian, you can run \
             `apt-get install {}` as root instead. Then run this command again.",
            capture(rustc().arg("--version"))?,
            reason(rustup_result),
            reason(debian_result),
            wasm_std::PACKAGES.join(" "),
        )
    }

    /// Returns the toolchain with Debian's compiler, if [`wasm_std`] has completed its folder in the cache.
    fn debian(cache: &Cache) -> Result<Option<Self>> {
        let Some(folder) = wasm_std::completed_folder(cache) else { return Ok(None) };
        let rustc_version = capture(Command::new(folder.join("bin/rustc")).arg("--version"))?;
        Ok(Some(Self { kind: Kind::Debian { folder }, rustc_version }))
    }

    /// Describes the toolchain for the output of `setup`.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            Kind::Active => format!("{} (the active toolchain)", self.rustc_version),
            Kind::Debian { folder } => format!("{} (Debian's, with std in {})", self.rustc_version, folder.display()),
        }
    }

    /// Returns the environment in which `cargo` and `rustc` use this toolchain.
    pub(crate) fn environment(&self, workspace: &Workspace) -> Environment {
        let environment = Environment::default().with("CARGO_TARGET_DIR", workspace.wasm_target());
        match &self.kind {
            Kind::Active => environment,
            Kind::Debian { folder } => environment
                .with_path(folder.join("bin"))
                .with("CARGO", folder.join("bin/cargo"))
                .with("RUSTC", folder.join("bin/rustc"))
                .with("RUSTDOC", folder.join("bin/rustdoc"))
                // clippy-driver is a separate compiler, which finds the standard library by this variable.
                .with("SYSROOT", folder)
                // `cargo run` sets these variables to the libraries of the toolchain that runs xtask.
                .without("LD_LIBRARY_PATH")
                .without("RUSTUP_TOOLCHAIN"),
        }
    }

    /// Returns the program and the first argument of a clippy command. If clippy is missing, the error describes its
    /// installation.
    pub(crate) fn clippy(&self, workspace: &Workspace) -> Result<Vec<OsString>> {
        match &self.kind {
            Kind::Active => {
                if capture(Command::new(cargo()).args(["clippy", "--version"])).is_err() {
                    bail!("the active toolchain has no clippy; install it with `rustup component add clippy`");
                }
                Ok(vec![cargo(), "clippy".into()])
            }
            Kind::Debian { .. } => {
                // The full path is necessary, because `cargo clippy` would find rustup's proxy in ~/.cargo/bin first.
                let program = Path::new("/usr/bin/cargo-clippy");
                if !program.exists() && debian::can_install() {
                    debian::install("clippy for wasm", &["rust-web-clippy"], &workspace.log("apt"))?;
                }
                if !program.exists() {
                    bail!(
                        "clippy of Debian's compiler is missing; install it as root with `apt-get install rust-web-clippy`"
                    );
                }
                Ok(vec![program.into(), "clippy".into()])
            }
        }
    }
}

/// Returns the cargo that runs xtask.
pub(crate) fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Returns a command for the compiler in `RUSTC`, or else for `rustc` in PATH.
pub(crate) fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// Adds a target to the active toolchain, unless it has the target.
///
/// # Errors
/// If the target cannot be added.
pub(crate) fn ensure_target(workspace: &Workspace, target: &str) -> Result<()> {
    if has_target(&mut rustc(), target)? {
        return Ok(());
    }
    add_target_with_rustup(workspace, target)?;
    if has_target(&mut rustc(), target)? {
        return Ok(());
    }
    bail!("the active toolchain must have the target {target}, but rustup has added it to another toolchain")
}

/// Returns whether the sysroot of a compiler has `std` for a target, or `core` for a target without `std`.
fn has_target(rustc: &mut Command, target: &str) -> Result<bool> {
    let folder = PathBuf::from(capture(rustc.args(["--print", "target-libdir", "--target", target]))?);
    let Ok(entries) = folder.read_dir() else { return Ok(false) };
    let library = if target.contains("-none-") { "libcore-" } else { "libstd-" };
    Ok(entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(library)))
}

fn add_target_with_rustup(workspace: &Workspace, target: &str) -> Result<()> {
    if find_in_path("rustup").is_none() {
        bail!("rustup is not installed");
    }
    let log = workspace.log("rustup");
    step(&format!("rustup target add {target}"), || {
        let outcome = run(Command::new("rustup").args(["target", "add", target]), &log, Duration::from_secs(180))?;
        if !outcome.success() {
            bail!("{} ({})", tail(&outcome.output, 1).trim(), outcome.describe());
        }
        Ok(())
    })
}
