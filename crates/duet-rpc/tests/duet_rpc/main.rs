//! Tests of the built daemon `duet-rpc` with real arguments, pipes and signals.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod daemon;
mod frames;
mod log;
#[path = "../../../../tests/common/non_blocking_streams.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests share it")]
mod non_blocking_streams;

mod command_line;
mod content_type;
mod envelope;
mod framing;
mod ids;
mod json;
mod lifecycle;
mod limits;
mod log_fields;
mod log_levels;
mod log_sinks;
mod methods;
mod ordering;
mod params;
mod resynchronise;
mod signals;
mod standard_streams;
mod time_out;
