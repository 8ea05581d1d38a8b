//! Tests of rules, of their fixes and of workspaces, with real files and processes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod command;
mod find;
mod fix;
mod jakarta;
mod load;
mod project;
mod workspace;
mod writes;
