//! Bounds, made from limits.toml by `cargo xtask limits --write`.

use core::time::Duration;

/// Default timeout of a call.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Default timeout of `connect`.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Default heartbeat: the maximum silence of a peer, where no lock shows that it is alive.
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(10_000);
/// Default window of a stream: the maximum number of unread items.
pub(crate) const STREAM_WINDOW: u32 = 16;
/// Maximum nesting of a value that becomes a Rust type, in levels.
pub(crate) const MAX_NESTING: u32 = 128;
/// Maximum characters of the error of a value that does not match its type.
pub(crate) const MAX_ERROR_TEXT: usize = 1_000;
