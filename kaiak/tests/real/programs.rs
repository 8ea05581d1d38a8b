//! The programs and packages that the tests use.

use std::path::{Path, PathBuf};

use crate::harness::{has_node, is_available};

/// Returns the root of the repository.
pub(crate) fn repository() -> PathBuf {
    std::fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
}

/// Returns true if `npm ci` in the root of the repository has installed `package`, and if Node can be started.
fn is_installed(package: &str) -> bool {
    let found = repository().join("node_modules").join(package).exists();
    has_node() && is_available(found, &format!("`npm ci` installs {package}"))
}

/// Returns whether [`sdk_agent`] can be started.
pub(crate) fn has_sdk_agent() -> bool {
    is_installed("@agentclientprotocol/sdk")
}

/// Returns whether [`example_client`] can be started.
pub(crate) fn has_example_client() -> bool {
    is_installed("vscode-jsonrpc")
}

/// Returns the path of an agent that edits files, and that uses the SDK of the Agent Client Protocol. A comment in the
/// file of the agent describes its arguments.
pub(crate) fn sdk_agent() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/agents/editing.mjs")
}

/// Returns the client in `examples/kaiak-client`.
pub(crate) fn example_client() -> PathBuf {
    repository().join("examples/kaiak-client/client.mjs")
}
