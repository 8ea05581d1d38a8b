//! Tests of the built command `portway` with real sockets, programs and pipes.
#![cfg(unix)]
#![allow(clippy::indexing_slicing, reason = "indexing a JSON value returns null for a missing member")]

mod broken_pipes;
#[path = "../../../../tests/common/busy_socket.rs"]
mod busy_socket;
mod call;
mod command;
mod decode;
mod failures;
mod fixtures;
mod framings;
mod help;
mod inspect;
mod inspect_programs;
mod inspect_records;
mod inspecting;
mod invalid_responses;
mod mcp;
mod non_blocking;
#[path = "../../../../tests/common/non_blocking_streams.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "other tests share it; a failed test is a panic"
)]
mod non_blocking_streams;
#[path = "../../../../tests/common/program_trees.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests share it")]
mod program_trees;
mod programs;
mod random;
mod serve;
mod serve_mcp;
mod sockets;
mod streaming;
mod tap;
mod tap_print;
mod tap_sockets;
mod terminal;
mod validate;
mod wipc;
