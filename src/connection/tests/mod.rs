//! The connection against itself, on virtual time: a pair of them with a wire that takes time.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test that panics has failed")]

mod calls;
mod invariants;
mod one_by_one;
mod pair;
mod requests;
