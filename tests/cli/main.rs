//! The command `portway`, from outside: the built binary, with real sockets, programs and pipes.
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#![allow(clippy::indexing_slicing, reason = "a JSON value gives null for a member that it has not")]

mod broken_pipes;
#[path = "../common/busy_socket.rs"]
mod busy_socket;
mod call;
mod command;
mod decode;
mod failures;
mod fixtures;
mod framings;
mod help;
mod invalid_responses;
#[path = "../common/standard_streams.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "other tests share it; a failed test is a panic"
)]
mod non_blocking;
mod programs;
mod sockets;
mod standard_streams;
mod streaming;
mod terminal;
#[path = "../common/process_trees.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests share it")]
mod trees;
mod validate;
mod wipc;
