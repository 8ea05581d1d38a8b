//! Bounds, made from limits.toml by `cargo xtask limits --write`.

use core::time::Duration;

/// Wait for an answer.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Wait for the peer of `connect`.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Silence of the peer, where no lock shows that it lives.
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(10_000);
/// Items of a stream on their way.
pub(crate) const STREAM_WINDOW: u32 = 16;
/// Nesting of a value that becomes a Rust type.
pub(crate) const MAX_NESTING: u32 = 128;
/// Characters of the error of a value that is not of its type.
pub(crate) const MAX_ERROR_TEXT: usize = 1_000;
