//! The paths of the repository, and its manifests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::environment::Environment;
use crate::process::capture;
use crate::toolchain::cargo;

/// The repository. `root` is its root folder.
#[derive(Clone)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
}

impl Workspace {
    /// Finds the repository that contains the source code of this program.
    pub(crate) fn find() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.parent().context("xtask is not inside a workspace")?;
        Ok(Self { root: root.to_path_buf() })
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    pub(crate) fn readme(&self) -> Result<String> {
        fs::read_to_string(self.path("README.md")).context("README.md")
    }

    /// Returns the folder of build products for wasm. The folder is separate, because the toolchain for wasm may differ
    /// from the toolchain for the host. Two compilers in one folder invalidate each other's products.
    pub(crate) fn wasm_target(&self) -> PathBuf {
        self.path("target/wasm")
    }

    /// Returns the log file of one step of a command.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.path("target/logs").join(format!("{name}.log"))
    }

    /// Returns the log file of one test suite.
    pub(crate) fn test_log(&self, name: &str) -> PathBuf {
        self.path("target/test-logs").join(format!("{name}.log"))
    }

    pub(crate) fn read(&self, relative: &str) -> Result<String> {
        fs::read_to_string(self.path(relative)).with_context(|| format!("cannot read {relative}"))
    }

    /// Returns the workspace members that only build for wasm32: the npm package, and members with `wasm-only = true`
    /// in `[package.metadata.xtask]`.
    pub(crate) fn wasm_only_packages(&self) -> Result<Vec<String>> {
        let package_of_npm = self.path(&self.npm_config()?.build.krate).join("Cargo.toml");
        self.packages(|package| {
            let manifest = package.get("manifest_path").and_then(Value::as_str).map(Path::new);
            has_flag(package, "wasm-only") || manifest == Some(&package_of_npm)
        })
    }

    /// Returns the workspace members whose library builds for the host and for wasm32. They have `wasm-too = true` in
    /// `[package.metadata.xtask]`.
    pub(crate) fn wasm_too_packages(&self) -> Result<Vec<String>> {
        self.packages(|package| has_flag(package, "wasm-too"))
    }

    /// Returns the names of the workspace members for which `is_wanted` returns true.
    fn packages(&self, is_wanted: impl Fn(&Value) -> bool) -> Result<Vec<String>> {
        let mut command = Environment::default().command(&cargo().to_string_lossy(), &self.root)?;
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata: Value = serde_json::from_str(&capture(&mut command)?).context("cargo metadata")?;
        let name = |package: &Value| Some(package.get("name")?.as_str()?.to_owned());
        let packages =
            metadata.get("packages").and_then(Value::as_array).context("cargo metadata lists no packages")?;
        Ok(packages.iter().filter(|package| is_wanted(package)).filter_map(name).collect())
    }

    /// Parses wasm-pack.toml.
    pub(crate) fn npm_config(&self) -> Result<NpmConfig> {
        toml::from_str(&self.read("wasm-pack.toml")?).context("cannot parse wasm-pack.toml")
    }

    /// Returns the version of `name` in Cargo.lock.
    pub(crate) fn locked_version(&self, name: &str) -> Result<String> {
        locked_version(&self.read("Cargo.lock")?, name)?.with_context(|| format!("Cargo.lock has no package `{name}`"))
    }
}

/// The contents of wasm-pack.toml.
#[derive(Deserialize)]
pub(crate) struct NpmConfig {
    pub(crate) build: Build,
    pub(crate) entry: Vec<Entry>,
    pub(crate) size: Size,
    pub(crate) tools: Tools,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Build {
    #[serde(rename = "crate")]
    pub(crate) krate: String,
    pub(crate) mcp_crate: String,
    pub(crate) profile: String,
    pub(crate) target: String,
    pub(crate) wasm_opt: Vec<String>,
}

#[derive(Deserialize, serde::Serialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) output: String,
    pub(crate) platform: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Size {
    pub(crate) files: Vec<String>,
    pub(crate) gzip_budget: u64,
    #[serde(default)]
    pub(crate) addition: Vec<Addition>,
}

/// A module `file` that pages load in addition to the module `to`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Addition {
    pub(crate) file: String,
    pub(crate) to: String,
    pub(crate) gzip_budget: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Tools {
    pub(crate) wasm_pack: String,
    pub(crate) geckodriver: String,
    pub(crate) cargo_tarpaulin: String,
}

/// Returns whether the manifest of a package has `name = true` in `[package.metadata.xtask]`.
fn has_flag(package: &Value, name: &str) -> bool {
    package.pointer(&format!("/metadata/xtask/{name}")).and_then(Value::as_bool) == Some(true)
}

fn locked_version(lock: &str, name: &str) -> Result<Option<String>> {
    #[derive(Deserialize)]
    struct Lock {
        #[serde(default)]
        package: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let lock: Lock = toml::from_str(lock).context("cannot parse Cargo.lock")?;
    Ok(lock.package.into_iter().find(|package| package.name == name).map(|package| package.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_package_is_found_by_its_exact_name() -> Result<()> {
        let lock = "version = 4\n[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"1.0.0\"\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\n";
        assert_eq!(locked_version(lock, "wasm-bindgen")?.as_deref(), Some("0.2.130"));
        assert_eq!(locked_version(lock, "wasm")?, None);
        Ok(())
    }

    #[test]
    fn wasm_pack_toml_of_the_repository_is_parsed() -> Result<()> {
        let config = Workspace::find()?.npm_config()?;
        assert!(config.size.gzip_budget > 0);
        assert!(config.entry.iter().any(|entry| entry.output == "portway.js"));
        Ok(())
    }
}
