//! Portway and programs that others have written, over the streams that they speak on.
//!
//! `cargo xtask test --only peers` gets the programs and names them in the environment. Without them these tests pass
//! with a note that they have tested nothing.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod json_language_server;
mod language_client;
mod portway_js;
mod pygls;
mod vscode_jsonrpc;

use std::env;
use std::path::{Path, PathBuf};

/// The program that a variable names.
fn program(variable: &str) -> Option<PathBuf> {
    let found = env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        println!("nothing is tested: {variable} names no program; `cargo xtask test --only peers` sets it");
    }
    found
}

/// A file beside this one.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}
