//! Properties that must hold for any input. Each target accepts any bytes, and panics if a property does not hold.
//!
//! `cargo xtask fuzz` searches for bytes that cause a panic. `tests/corpus.rs` runs the inputs in `corpus/` with every
//! `cargo test`.

mod connection;
mod framing;
mod json;
#[cfg(feature = "mcp")]
mod mcp_headers;
mod sse;
/// Reads streams of server-sent events. Other tests use the same file.
#[path = "../../tests/common/sse_events.rs"]
mod sse_events;
mod validate;
#[cfg(feature = "websocket")]
mod websocket;
mod wipc;
/// Computes the expected events of a stream. Other tests use the same file.
#[path = "../../tests/common/wipc_any_input.rs"]
#[allow(dead_code)]
mod wipc_any_input;

pub use connection::connection;
pub use framing::{content_length, newline};
pub use json::json;
#[cfg(feature = "mcp")]
pub use mcp_headers::mcp_headers;
pub use sse::sse;
pub use validate::validate;
#[cfg(feature = "websocket")]
pub use websocket::websocket;
pub use wipc::wipc;
