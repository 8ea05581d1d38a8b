//! Bounds, made from limits.toml by `cargo xtask limits --write`.

use core::time::Duration;

/// Shutdown of `duet-rpc`: a running request, unread answers.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1_300);
/// Write of the rest of the log of `duet-rpc`.
pub(crate) const LOG_FLUSH_TIMEOUT: Duration = Duration::from_millis(500);
/// Unwritten bytes of the log of `duet-rpc`.
pub(crate) const MAX_LOG_QUEUE_BYTES: usize = 4_194_304;
/// Bytes of an id in the log of `duet-rpc`.
pub(crate) const MAX_LOGGED_ID_BYTES: usize = 1_024;
/// Bytes of a method name in the log of `duet-rpc`.
pub(crate) const MAX_LOGGED_METHOD_BYTES: usize = 64;
