//! The environment of a child process: folders in front of PATH, and variables that are set or removed.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

#[derive(Clone, Default)]
pub(crate) struct Environment {
    /// The folders in front of the inherited PATH.
    path: Vec<PathBuf>,
    set: BTreeMap<String, OsString>,
    /// The names of the variables that are removed.
    removed: Vec<&'static str>,
}

impl Environment {
    pub(crate) fn with_path(mut self, folder: impl Into<PathBuf>) -> Self {
        self.path.push(folder.into());
        self
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.set.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.removed.push(name);
        self
    }

    /// Returns a command that runs `program` in `folder`. The program is looked up in the PATH of this environment.
    pub(crate) fn command(&self, program: &str, folder: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.current_dir(folder);
        // `cargo run` sets variables that describe the package xtask. Without this loop, a cargo process that xtask
        // starts would use these variables for other packages.
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(describes_a_package) {
                command.env_remove(name);
            }
        }
        for name in &self.removed {
            command.env_remove(name);
        }
        command.envs(&self.set).env("PATH", self.search_path()?);
        Ok(command)
    }

    /// Returns the environment as lines for a shell.
    pub(crate) fn to_shell(&self) -> Result<String> {
        let mut lines = String::new();
        for name in &self.removed {
            lines.push_str(&format!("unset {name}\n"));
        }
        for (name, value) in &self.set {
            lines.push_str(&format!("export {name}={}\n", quote(&value.to_string_lossy())));
        }
        lines.push_str(&format!("export PATH={}\n", quote(&self.search_path()?.to_string_lossy())));
        Ok(lines)
    }

    fn search_path(&self) -> Result<OsString> {
        let inherited = env::var_os("PATH").unwrap_or_default();
        let folders = self.path.iter().cloned().chain(env::split_paths(&inherited));
        env::join_paths(folders).context("a folder name in PATH must not contain the separator of PATH")
    }
}

/// Finds `program` in the PATH of this process.
pub(crate) fn find_in_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn describes_a_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"].iter().any(|prefix| variable.starts_with(prefix))
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_in_values_are_escaped_in_shell_lines() -> Result<()> {
        let lines = Environment::default().with("NAME", "it's").without("OTHER").to_shell()?;
        assert!(lines.starts_with("unset OTHER\nexport NAME='it'\\''s'\nexport PATH='"), "{lines}");
        Ok(())
    }
}
