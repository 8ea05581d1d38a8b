//! Limits that `cargo xtask limits --write` generates from limits.toml.

use core::time::Duration;

/// Default timeout of a call.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Default timeout of `connect`.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Default heartbeat: maximum silence of a peer, unless a Web Lock shows that it exists.
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(10_000);
/// Default window of a stream: the maximum number of unread items.
pub(crate) const STREAM_WINDOW: u32 = 16;
/// Maximum nesting of a value that becomes a Rust type, in levels.
pub(crate) const MAX_NESTING: u32 = 128;
/// Maximum length, in characters, of the error text for a value of the wrong type.
pub(crate) const MAX_ERROR_LENGTH: usize = 1_000;
