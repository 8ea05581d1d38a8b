//! The pause that every command makes if it cannot accept a connection.

use std::time::Duration;

/// The pause after an error that may occur again at once, such as too many open files.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_millis(50);
