//! What has to hold for any input. Each target takes any bytes, and panics where something does not hold.
//!
//! `cargo xtask fuzz` searches for such bytes. `tests/corpus.rs` runs what is in `corpus/` in every `cargo test`.

mod connection;
mod frames;
mod json;
mod validate;

pub use connection::connection;
pub use frames::{content_length, newline};
pub use json::json;
pub use validate::validate;
