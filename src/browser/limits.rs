//! Bounds, made from limits.toml by `cargo xtask limits --write`.

use core::time::Duration;

/// Timeout of a call.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Timeout of `connect`.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Silence of the peer, where no lock shows that it is alive.
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(10_000);
/// Items of a stream in transit.
pub(crate) const STREAM_WINDOW: u32 = 16;
/// Nesting of a value that becomes a Rust type.
pub(crate) const MAX_NESTING: u32 = 128;
/// Characters of the error of a value that does not match its type.
pub(crate) const MAX_ERROR_TEXT: usize = 1_000;
