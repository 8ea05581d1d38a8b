//! Tests of Portway with programs of other authors, over standard streams, sockets and WebSockets.
//!
//! `cargo xtask test --only peers,mcp` installs the programs and names them in environment variables. If a variable is
//! not set, the tests of its program pass, and print that they have tested nothing.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

#[cfg(feature = "websocket")]
mod aria2;
mod json_language_server;
mod language_client;
#[cfg(feature = "mcp-http")]
mod mcp_clients;
mod mcp_docs;
#[cfg(feature = "mcp-http")]
mod mcp_eras;
#[cfg(feature = "mcp-http")]
mod mcp_servers;
mod portway_js;
mod pygls;
mod tapped_pylsp;
mod vscode_jsonrpc;
#[cfg(feature = "websocket")]
mod websocket_libraries;

use std::env;
use std::path::{Path, PathBuf};

/// Returns the program that an environment variable names, or `None` if the variable is not set.
fn program(variable: &str) -> Option<PathBuf> {
    let found = env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        println!("nothing is tested: {variable} names no program; `cargo xtask test --only peers,mcp` sets it");
    }
    found
}

/// Returns the path of a file in the folder of this file.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}
