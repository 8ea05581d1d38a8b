//! Properties that must hold for any input. Each target accepts any bytes, and panics if a property does not hold.
//!
//! `cargo xtask fuzz` searches for such bytes. `tests/corpus.rs` runs the inputs in `corpus/` with every `cargo test`.

mod connection;
mod framing;
mod json;
mod validate;
#[cfg(feature = "websocket")]
mod websocket;
mod wipc;
/// The expected events of a stream, shared with other tests.
#[path = "../../tests/common/wipc_any_input.rs"]
#[allow(dead_code)]
mod wipc_any_input;

pub use connection::connection;
pub use framing::{content_length, newline};
pub use json::json;
pub use validate::validate;
#[cfg(feature = "websocket")]
pub use websocket::websocket;
pub use wipc::wipc;
