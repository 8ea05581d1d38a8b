//! Finds the places in a workspace that a migration must change, and fixes them by rules or by an agent.
//!
//! In this crate, the *contract* is the interface of `kaiak serve` for its clients. docs/kaiak.md describes it.

#[cfg(not(unix))]
compile_error!("kaiak needs Unix, since it opens the files of a workspace relative to file descriptors");

mod acp;
mod backend;
mod client;
mod config;
mod fault;
mod fields;
mod interaction;
mod limits;
mod permission;
mod protocol;
pub mod rules;
mod run;
pub mod serve;
mod server;
mod session;
mod stream;
mod time;
pub mod workspace;
