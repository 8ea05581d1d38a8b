//! Hostile peers of the native library: each attack is made on a process of its own, over a socket or a pipe, so that
//! its memory can be read and its neighbours can be timed. The attacks of pages and workers are in tests/hostile.
//!
//! With `PORTWAY_FULL=1` more is sent.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod amplification;
mod connection;
mod process;
mod requests;
mod sockets;
mod wipc;
