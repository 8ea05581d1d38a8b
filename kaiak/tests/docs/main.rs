//! Runs the commands and the messages of docs/kaiak.md.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

#[path = "../serve/harness.rs"]
#[allow(dead_code, reason = "other tests use the other functions")]
mod harness;
mod messages;
mod page;
#[path = "../real/programs.rs"]
#[allow(dead_code, reason = "other tests use the other functions")]
mod programs;
mod shell;
