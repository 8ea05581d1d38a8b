//! Hostile peers of the native library. Most tests attack a separate process over a socket or a pipe. So a test can
//! measure the memory of the attacked process, and the delay of other connections. tests/hostile has the attacks of
//! pages and workers.
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
