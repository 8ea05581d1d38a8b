//! The codecs of byte streams: accepted and refused frames, and resynchronization after bytes outside of frames.
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod any_input;
mod bodies;
mod events;
mod framing;
mod headers;
mod memory;
mod newline;
mod oversize;
mod resynchronisation;
mod server_sent_events;
#[path = "../common/sse_events.rs"]
#[allow(unreachable_pub, reason = "other tests share it")]
mod sse_events;
mod time_outs;
mod usual_requests;
mod wipc;
#[path = "../common/wipc_any_input.rs"]
#[allow(unreachable_pub, reason = "other tests share it")]
mod wipc_any_input;
mod wipc_vectors;
