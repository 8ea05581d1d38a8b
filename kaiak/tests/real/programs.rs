//! The programs and packages that the tests use.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the root of the repository.
pub(crate) fn repository() -> PathBuf {
    std::fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
}

/// Returns whether a program is in PATH. With `KAIAK_NEEDS_PROGRAMS`, which `cargo xtask test --only kaiak` sets, a
/// missing program is a failure.
pub(crate) fn has_program(name: &str) -> bool {
    let started = Command::new(name).arg("--version").stdout(Stdio::null()).status();
    is_available(started.is_ok(), &format!("`{name}` is not in PATH"))
}

/// Returns whether `npm ci` in the root of the repository has installed a package.
pub(crate) fn is_installed(package: &str) -> bool {
    let found = repository().join("node_modules").join(package).exists();
    is_available(found, &format!("`npm ci` installs {package}"))
}

fn is_available(is_found: bool, reason: &str) -> bool {
    assert!(is_found || std::env::var_os("KAIAK_NEEDS_PROGRAMS").is_none(), "{reason}");
    if !is_found {
        println!("nothing is tested: {reason}");
    }
    is_found
}

/// Returns the path of the agent that edits files, which uses the SDK of the Agent Client Protocol. The file
/// describes the arguments.
pub(crate) fn sdk_agent() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/agents/editing.mjs")
}

/// Returns the client in `examples/kaiak-client`.
pub(crate) fn example_client() -> PathBuf {
    repository().join("examples/kaiak-client/client.mjs")
}
