//! Limits that `cargo xtask limits --write` generates from limits.toml.

use core::time::Duration;

/// Maximum time that the shutdown of `duet-rpc` waits for a running request and unread answers.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1_200);
/// Maximum time to write the rest of the log of `duet-rpc` at its exit.
pub(crate) const LOG_FLUSH_TIMEOUT: Duration = Duration::from_millis(300);
/// Maximum unwritten bytes of the log of `duet-rpc`.
pub(crate) const MAX_LOG_QUEUE_BYTES: usize = 4_194_304;
/// Maximum bytes of an id in the log of `duet-rpc`.
pub(crate) const MAX_LOGGED_ID_BYTES: usize = 1_024;
/// Maximum bytes of a method name in the log of `duet-rpc`.
pub(crate) const MAX_LOGGED_METHOD_BYTES: usize = 64;
