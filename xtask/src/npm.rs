//! Node, and the packages that the root lock file names.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cache::lock;
use crate::environment::{Environment, find_in_path};
use crate::process::{capture, run_ok, step};
use crate::workspace::Workspace;

/// Node 20.19 is the first that all the tools in the lock file run on.
const NODE: (u32, u32) = (20, 19);

/// Installs the packages unless they are there, and gives the folder of their programs.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let programs = workspace.path("node_modules/.bin");
    if is_installed(workspace)? {
        return Ok(programs);
    }
    check_node()?;
    let _lock = lock(&workspace.path("target/npm.lock"))?;
    if !is_installed(workspace)? {
        // No package of ours needs its install script, so none of anybody's runs.
        let mut command = Environment::default().command("npm", &workspace.root)?;
        command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        step("npm packages: npm ci", || run_ok(&mut command, &workspace.log("npm"), Duration::from_secs(900)))
            .context("the npm packages could not be installed; does `npm ping` succeed?")?;
    }
    Ok(programs)
}

fn check_node() -> Result<()> {
    let (major, minor) = NODE;
    let how = format!("Node {major}.{minor} or newer, with npm, is needed; get it from https://nodejs.org");
    if find_in_path("npm").is_none() {
        bail!("npm is not in PATH. {how}");
    }
    let version = capture(Command::new("node").arg("--version")).context(how.clone())?;
    if parse_node(&version).is_none_or(|found| found < NODE) {
        bail!("the node in PATH is {version}. {how}");
    }
    Ok(())
}

fn parse_node(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn is_installed(workspace: &Workspace) -> Result<bool> {
    let Ok(installed) = workspace.read("node_modules/.package-lock.json") else { return Ok(false) };
    let wanted = serde_json::from_str(&workspace.read("package-lock.json")?).context("package-lock.json")?;
    Ok(serde_json::from_str(&installed).is_ok_and(|installed| covers(&installed, &wanted)))
}

/// Whether each package of the lock file is installed in its version. Contents are compared, not times: `npm install`
/// writes both files, in an order of its own.
fn covers(installed: &Value, wanted: &Value) -> bool {
    let Some(packages) = wanted.get("packages").and_then(Value::as_object) else { return false };
    packages.iter().filter(|(path, _)| path.starts_with("node_modules/")).all(|(path, package)| {
        let here = installed.get("packages").and_then(|packages| packages.get(path));
        match here {
            Some(here) => here.get("version") == package.get("version"),
            // Left out on machines that it is not for, as the binaries of other systems are.
            None => ["optional", "devOptional", "peer"].iter().any(|key| package.get(key).is_some()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lock_is_covered_when_all_but_optional_packages_are_there() {
        let wanted = json!({ "packages": {
            "": { "name": "root" },
            "node_modules/a": { "version": "1.0.0" },
            "node_modules/b": { "version": "1.0.0", "optional": true },
        }});
        let with_a = json!({ "packages": { "node_modules/a": { "version": "1.0.0" } } });
        let with_old_a = json!({ "packages": { "node_modules/a": { "version": "0.9.0" } } });
        assert!(covers(&with_a, &wanted));
        assert!(!covers(&with_old_a, &wanted));
        assert!(!covers(&json!({}), &wanted));
    }

    #[test]
    fn node_version_is_read() {
        assert_eq!(parse_node("v20.20.2\n"), Some((20, 20)));
        assert_eq!(parse_node("20"), None);
    }
}
