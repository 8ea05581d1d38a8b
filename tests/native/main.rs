//! Clients, servers and peers over real byte streams: pipes, sockets and processes.
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#![allow(clippy::indexing_slicing, reason = "a JSON value gives null for a member that it has not")]

mod batches;
mod calls;
mod endings;
mod forged;
mod framing;
mod limits;
mod listeners;
#[path = "../shared/standard_streams.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "other tests share it; a failed test is a panic"
)]
mod non_blocking;
mod notifications;
mod one_by_one;
mod pressure;
mod process_trees;
mod processes;
mod serving;
mod sockets;
mod standard_streams;
mod starting;
mod stopped;
mod storm;
mod streams;
mod timeouts;
#[path = "../shared/process_trees.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests share it")]
mod trees;
mod turns;
mod unreadable;
mod watched;
mod wire;
