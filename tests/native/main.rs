//! Clients, servers and peers over real byte streams: pipes, sockets and processes.
#![cfg(unix)]
#![allow(clippy::indexing_slicing, reason = "indexing a JSON value returns null for a missing member")]

mod backpressure;
mod batches;
mod blocked;
#[path = "../common/busy_socket.rs"]
mod busy_socket;
mod calls;
mod disconnects;
mod fairness;
mod forged_responses;
mod framing;
mod invalid_responses;
mod limits;
mod listeners;
mod messages;
#[path = "../common/non_blocking_streams.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "other tests share it; a failed test is a panic"
)]
mod non_blocking_streams;
mod notifications;
mod portability;
#[path = "../common/portable.rs"]
mod portable;
mod process_trees;
mod processes;
#[path = "../common/program_trees.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests share it")]
mod program_trees;
mod relays;
mod sequential;
mod services;
mod serving;
mod sockets;
mod standard_streams;
mod starting;
mod stream_vectors;
mod streams;
mod stress;
mod supervised_processes;
mod taps;
mod timeouts;
mod wire;
