//! Tests of the connection on virtual time. Most tests use a pair of connections, and a simulated link with latency.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test that panics has failed")]

mod calls;
#[cfg(feature = "codec")]
mod control;
mod invariants;
mod one_by_one;
mod pair;
mod requests;
mod streams;
