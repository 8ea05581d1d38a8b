//! Bounds, made from limits.toml by `cargo xtask limits --write`.

use core::time::Duration;

/// Time for a running request and unread replies at the end of `duet-rpc`.
pub(crate) const DAEMON_GRACE: Duration = Duration::from_millis(1_300);
/// Time for the rest of the log of `duet-rpc`.
pub(crate) const LOG_FLUSH: Duration = Duration::from_millis(500);
/// Bytes of the log of `duet-rpc` that wait to be written.
pub(crate) const MAX_LOG_QUEUE: usize = 4_194_304;
/// Bytes of an id in the log of `duet-rpc`.
pub(crate) const MAX_LOGGED_ID: usize = 1_024;
/// Bytes of a method name in the log of `duet-rpc`.
pub(crate) const MAX_LOGGED_METHOD: usize = 64;
