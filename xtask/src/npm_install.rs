//! Checks the version of Node, and installs the packages of the lock files. One lock file is in the root of the
//! repository. The suites `environments`, `peers`, `mcp-apps`, `kaiak-agents` and `conformance` have one lock file
//! each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cache::{Cache, lock};
use crate::environment::{Environment, find_in_path};
use crate::process::{capture, run_ok, step};
use crate::workspace::Workspace;

/// The oldest Node that all tools in the lock file support.
const NODE: (u32, u32) = (20, 19);

/// Maximum time of `npm ci`.
const NPM_TIMEOUT: Duration = Duration::from_secs(900);

/// Installs the packages of the lock file in the root, unless they are installed. Returns the folder of their programs.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let programs = workspace.path("node_modules/.bin");
    if is_installed(workspace)? {
        return Ok(programs);
    }
    check_node()?;
    let _lock = lock(&workspace.path("target/npm.lock"))?;
    if !is_installed(workspace)? {
        step("npm packages: npm ci", || install(&workspace.root, "ci", &workspace.log("npm")))?;
    }
    Ok(programs)
}

/// Installs the packages of the suite `environments` into the cache, unless they are installed. Returns their folder.
pub(crate) fn environments(workspace: &Workspace, cache: &Cache) -> Result<PathBuf> {
    into_cache(workspace, cache, "environments", "ci")
}

/// Installs the packages of the suite `peers` into the cache, unless they are installed. Returns their folder.
pub(crate) fn peers(workspace: &Workspace, cache: &Cache) -> Result<PathBuf> {
    into_cache(workspace, cache, "peers", "ci")
}

/// Installs the editor Monaco for the suite `peers` into the cache, unless it is installed. Returns its folder.
pub(crate) fn monaco(workspace: &Workspace, cache: &Cache) -> Result<PathBuf> {
    into_cache(workspace, cache, "monaco", "ci")
}

/// Installs the packages of the suite `mcp-apps` into the cache, unless they are installed. Returns their folder.
pub(crate) fn mcp_apps(workspace: &Workspace, cache: &Cache) -> Result<PathBuf> {
    into_cache(workspace, cache, "mcp-apps", "ci")
}

/// Installs the conformance suite of MCP into the cache, unless it is installed. Returns its folder.
pub(crate) fn conformance(workspace: &Workspace, cache: &Cache) -> Result<PathBuf> {
    into_cache(workspace, cache, "conformance", "ci")
}

/// Installs the packages of the suite `kaiak-agents` into the cache, unless they are installed. Returns their folder.
pub(crate) fn kaiak_agents(workspace: &Workspace, cache: &Cache) -> Result<PathBuf> {
    // Some packages for foreign systems are not in the registry, so the lock file omits these packages. `npm ci`
    // refuses a lock file that omits packages.
    into_cache(workspace, cache, "kaiak-agents", "install")
}

/// Installs the packages of the lock file in `tests/<suite>` by a command of npm: `ci` or `install`.
fn into_cache(workspace: &Workspace, cache: &Cache, suite: &str, npm_command: &str) -> Result<PathBuf> {
    let required = workspace.read(&format!("tests/{suite}/package-lock.json"))?;
    let folder = cache.path(suite);
    // After the installation, the lock file is copied to this path. If the copy is missing or differs, the installation
    // is not complete.
    let installed = folder.join("installed.json");
    let is_complete = || fs::read_to_string(&installed).is_ok_and(|installed| installed == required);
    if is_complete() {
        return Ok(folder);
    }
    check_node()?;
    let _lock = cache.lock()?;
    if !is_complete() {
        fs::create_dir_all(&folder)?;
        for file in ["package.json", "package-lock.json"] {
            fs::copy(workspace.path("tests").join(suite).join(file), folder.join(file))?;
        }
        let log = workspace.log(&format!("npm-{suite}"));
        let title = format!("npm packages of the suite {suite}: npm {npm_command}");
        step(&title, || install(&folder, npm_command, &log))?;
        fs::write(&installed, required)?;
    }
    Ok(folder)
}

/// Installs the packages of the lock file in `folder`. Install scripts are disabled, because no package needs them.
fn install(folder: &Path, npm_command: &str, log: &Path) -> Result<()> {
    let mut command = Environment::default().command("npm", folder)?;
    command.args([npm_command, "--ignore-scripts", "--no-audit", "--no-fund"]);
    run_ok(&mut command, log, NPM_TIMEOUT)
        .context("the npm packages could not be installed; does `npm ping` succeed?")?;
    Ok(())
}

fn check_node() -> Result<()> {
    let (major, minor) = NODE;
    let advice = format!("Install Node {major}.{minor} or newer with npm from https://nodejs.org");
    if find_in_path("npm").is_none() {
        bail!("npm is not in PATH. {advice}");
    }
    let version = capture(Command::new("node").arg("--version")).context(advice.clone())?;
    if parse_node(&version).is_none_or(|found| found < NODE) {
        bail!("the node in PATH is {version}. {advice}");
    }
    Ok(())
}

fn parse_node(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn is_installed(workspace: &Workspace) -> Result<bool> {
    let Ok(installed) = workspace.read("node_modules/.package-lock.json") else { return Ok(false) };
    let required = serde_json::from_str(&workspace.read("package-lock.json")?).context("package-lock.json")?;
    Ok(serde_json::from_str(&installed).is_ok_and(|installed| covers(&installed, &required)))
}

/// Returns whether the packages of the lock file `required` are installed, each in the version that `required` names.
/// `installed` is the lock file that npm writes to node_modules. The times of the two files are not compared, because
/// `npm install` may write either file first.
fn covers(installed: &Value, required: &Value) -> bool {
    let Some(packages) = required.get("packages").and_then(Value::as_object) else { return false };
    packages.iter().filter(|(path, _)| path.starts_with("node_modules/")).all(|(path, package)| {
        let found = installed.get("packages").and_then(|packages| packages.get(path));
        match found {
            Some(found) => found.get("version") == package.get("version"),
            // Optional packages and peer dependencies may be missing, such as a binary for a foreign system.
            None => ["optional", "devOptional", "peer"].iter().any(|key| package.get(key).is_some()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_optional_packages_may_be_missing() {
        let required = json!({ "packages": {
            "": { "name": "root" },
            "node_modules/a": { "version": "1.0.0" },
            "node_modules/b": { "version": "1.0.0", "optional": true },
        }});
        let with_a = json!({ "packages": { "node_modules/a": { "version": "1.0.0" } } });
        let with_old_a = json!({ "packages": { "node_modules/a": { "version": "0.9.0" } } });
        assert!(covers(&with_a, &required));
        assert!(!covers(&with_old_a, &required));
        assert!(!covers(&json!({}), &required));
    }

    #[test]
    fn node_version_is_read() {
        assert_eq!(parse_node("v20.20.2\n"), Some((20, 20)));
        assert_eq!(parse_node("20"), None);
    }
}
