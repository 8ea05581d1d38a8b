//! Tests of `kaiak serve`: the real program over standard streams and sockets.
//!
//! Some names of tests begin with the numbers of the requirements that the tests check, such as `k7`.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod acp;
mod acp_approvals;
mod acp_copy;
mod acp_ends;
mod command_line;
mod configure;
mod contract;
mod endings;
mod example_agent;
mod example_client;
mod harness;
mod interactions;
mod real_agents;
mod rules_backend;
mod sessions;
mod stream;
mod workspace;
