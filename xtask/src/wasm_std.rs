//! Builds a standard library for wasm32 from Debian's sources, because Debian's compiler has no standard library for
//! wasm32. The result is a toolchain folder in the cache. The programs and links in this folder refer to the installed
//! compiler. The installed compiler is not changed.

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cache::Cache;
use crate::debian;
use crate::environment::find_in_path;
use crate::process::{capture, run_ok, step};
use crate::toolchain::WASM;
use crate::workspace::Workspace;

/// The packages of Debian with the compiler, its sources, cargo and clippy.
pub(crate) const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-clippy"];

const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";

/// Returns the toolchain folder for the installed compiler, if an earlier run has completed the folder.
pub(crate) fn completed_folder(cache: &Cache) -> Option<PathBuf> {
    let folder = folder(cache).ok()?;
    folder.join("bin/rustc").exists().then_some(folder)
}

/// Installs the compiler if it is missing, builds the standard library and creates the folder.
pub(crate) fn set_up(workspace: &Workspace, cache: &Cache) -> Result<()> {
    if !has_compiler_and_sources() {
        if !debian::can_install() {
            bail!(
                "the wasm compiler of Debian is not installed, and this process cannot install packages (there is no \
                 apt-get, or the user is not root)"
            );
        }
        debian::install("wasm compiler", &PACKAGES, &workspace.log("apt"))?;
    }
    let folder = folder(cache)?;
    // Until the folder is complete, it has a temporary name. So a folder with the final name is always complete.
    let unfinished = folder.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(&unfinished)?;
    let libraries = step("wasm target: build the standard library", || {
        build(&unfinished.join("build"), &workspace.log("wasm-std"))
    })?;
    write_toolchain(&unfinished, &folder, &libraries)?;
    fs::remove_dir_all(unfinished.join("build"))?;
    fs::rename(&unfinished, &folder).context("cannot move the finished toolchain to its place")
}

fn has_compiler_and_sources() -> bool {
    let Ok(sysroot) = capture(Command::new(RUSTC).args(["--print", "sysroot"])) else { return false };
    Path::new(CARGO).exists() && Path::new(&sysroot).join("lib/rustlib/src/rust/library/std/Cargo.toml").exists()
}

/// Returns the toolchain folder for the installed compiler. Each compiler version has a separate folder, since a
/// standard library works only with the compiler version that built the library.
fn folder(cache: &Cache) -> Result<PathBuf> {
    let version = capture(Command::new(RUSTC).arg("--version"))?;
    Ok(cache.path("toolchains").join(folder_name(&version)))
}

/// Returns `rustc-1-96-0-ac68faa20` for `rustc 1.96.0 (ac68faa20 2026-05-25) (built …)`.
fn folder_name(version: &str) -> String {
    let words: Vec<&str> = version.split([' ', '(', ')']).filter(|word| !word.is_empty()).take(3).collect();
    words.join("-").replace('.', "-")
}

/// Builds std for wasm32 as a dependency of an empty crate. Returns the paths of the rlibs.
fn build(stub: &Path, log: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(stub.join("src"))?;
    fs::write(
        stub.join("Cargo.toml"),
        "[package]\nname = \"stub\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n",
    )?;
    fs::write(stub.join("src/lib.rs"), "#![no_std]\n")?;
    let mut command = Command::new(CARGO);
    command
        .current_dir(stub)
        // Crates of derive macros cannot link without `proc_macro`, and test binaries cannot link without `test`.
        .args(["build", "--release", "-Zbuild-std=std,panic_abort,proc_macro,test", "--target", WASM])
        // `-Zbuild-std` is unstable. `RUSTC_BOOTSTRAP` allows it on a stable compiler.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", RUSTC)
        // Link-time optimisation of a cdylib needs the bitcode of std.
        .env("RUSTFLAGS", "-Cembed-bitcode=yes")
        .env("CARGO_TARGET_DIR", stub.join("target"))
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("RUSTUP_TOOLCHAIN");
    run_ok(&mut command, log, Duration::from_secs(1200))?;
    let products = stub.join("target").join(WASM).join("release/deps");
    let mut libraries = Vec::new();
    for entry in products.read_dir()? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".rlib") && !name.starts_with("libstub-") {
            libraries.push(path);
        }
    }
    Ok(libraries)
}

/// Fills `folder` with the libraries, symlinks and scripts of a toolchain. The scripts contain the path `final_folder`,
/// because the caller later renames `folder` to `final_folder`.
fn write_toolchain(folder: &Path, final_folder: &Path, libraries: &[PathBuf]) -> Result<()> {
    let wasm_libraries = folder.join("lib/rustlib").join(WASM).join("lib");
    fs::create_dir_all(&wasm_libraries)?;
    for library in libraries {
        fs::copy(library, wasm_libraries.join(library.file_name().unwrap_or_default()))?;
    }

    let host = host_triple()?;
    let debian_folder =
        PathBuf::from(capture(Command::new(RUSTC).args(["--print", "sysroot"]))?).join("lib/rustlib").join(&host);
    let links = folder.join("lib/rustlib").join(&host);
    fs::create_dir_all(links.join("bin"))?;
    link_entries(&debian_folder, &links, "bin")?;
    link_entries(&debian_folder.join("bin"), &links.join("bin"), "rust-lld")?;
    symlink(linker(&host)?, links.join("bin/rust-lld"))?;

    let programs = folder.join("bin");
    fs::create_dir_all(&programs)?;
    for program in ["rustc", "rustdoc"] {
        let script = format!("#!/bin/sh\nexec /usr/bin/{program} --sysroot '{}' \"$@\"\n", final_folder.display());
        let file = programs.join(program);
        fs::write(&file, script)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    }
    symlink(CARGO, programs.join("cargo"))?;
    Ok(())
}

/// Creates a symlink in `to` for each entry of `from`, except for the entry `excluded`. Does nothing if `from` does not
/// exist.
fn link_entries(from: &Path, to: &Path, excluded: &str) -> Result<()> {
    for entry in from.read_dir().into_iter().flatten() {
        let entry = entry?;
        if entry.file_name() != excluded {
            symlink(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Finds a linker for wasm, because Debian's compiler does not contain one. Searches rustup's toolchain first. If
/// rustup has none, searches PATH for `rust-lld` and `lld`.
fn linker(host: &str) -> Result<PathBuf> {
    let rustup = capture(Command::new("rustc").args(["--print", "sysroot"])).ok().map(PathBuf::from);
    let of_rustup = rustup.map(|sysroot| sysroot.join("lib/rustlib").join(host).join("bin/rust-lld"));
    of_rustup
        .filter(|file| file.exists())
        .or_else(|| find_in_path("rust-lld"))
        .or_else(|| find_in_path("lld"))
        .context("no linker for wasm: install rustup (its toolchains contain rust-lld) or Debian's package lld")
}

fn host_triple() -> Result<String> {
    let verbose = capture(Command::new(RUSTC).arg("-vV"))?;
    let host = verbose.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).with_context(|| format!("{RUSTC} -vV has no line `host:` ({ARCH})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_named_after_version_and_commit() {
        assert_eq!(
            folder_name("rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)"),
            "rustc-1-96-0-ac68faa20"
        );
    }
}
