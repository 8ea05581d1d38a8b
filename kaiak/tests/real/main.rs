//! Tests of the program with real clients, agents, terminals and files, and with processes that are killed.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod agent_killed;
mod client_killed;
mod command_line;
mod example_client;
mod frames;
mod hard_links;
#[path = "../serve/harness.rs"]
#[allow(dead_code, reason = "other tests use the other functions")]
mod harness;
mod processes;
mod programs;
mod sdk_agent;
mod terminal;
