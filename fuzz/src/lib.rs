//! What has to hold for any input. Each target takes any bytes, and panics where something does not hold.
//!
//! `cargo xtask fuzz` searches for such bytes. `tests/corpus.rs` runs what is in `corpus/` in every `cargo test`.

mod connection;
mod frames;
mod json;
mod validate;
mod wipc;
/// What is expected of a stream, which the other tests expect, too.
#[path = "../../tests/common/wipc_any_input.rs"]
#[allow(dead_code)]
mod wipc_any_input;

pub use connection::connection;
pub use frames::{content_length, newline};
pub use json::json;
pub use validate::validate;
pub use wipc::wipc;
