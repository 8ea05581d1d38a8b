//! Hosts and guests of WIPC: as real processes, and on streams inside the test.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod blocking;
mod calls;
mod channels;
mod guests;
mod hosts;
mod lengths;
mod non_blocking;
#[path = "../common/non_blocking_streams.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests share it")]
mod non_blocking_streams;
#[path = "../common/program_trees.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests share it")]
mod program_trees;
