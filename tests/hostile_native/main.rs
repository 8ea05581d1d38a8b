//! Hostile peers of the native library. Each test attacks a separate process over a socket or a pipe. So the test can
//! measure the memory of this process, and the delay of other connections. The attacks of pages and workers are in
//! tests/hostile.
//!
//! With `PORTWAY_FULL=1`, the tests send more messages.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod amplification;
mod connection;
mod process;
mod requests;
mod sockets;
mod wipc;
