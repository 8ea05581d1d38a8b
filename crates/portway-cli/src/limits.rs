//! Limits that `cargo xtask limits --write` generates from limits.toml.

use core::time::Duration;

/// Default grace at the end of a link: the time for running handlers and a child process to end.
pub(crate) const LINK_GRACE: Duration = Duration::from_millis(2_000);
/// Maximum bytes of a line of the peer that `portway call` prints whole.
pub(crate) const MAX_PRINTED_LINE_BYTES: usize = 4_096;
/// Maximum number of lines about a peer, and lines of its output, that `portway call` prints.
pub(crate) const MAX_PEER_LINES: usize = 1_000;
/// Maximum nesting of a result that `portway call` prints with a line for each element.
pub(crate) const MAX_INDENTED_DEPTH: usize = 10;
/// Maximum bytes that `portway call` buffers while it detects the framing.
pub(crate) const MAX_NEGOTIATION_BYTES: usize = 65_536;
/// Maximum number of processes that `portway serve` runs at a time.
pub(crate) const MAX_PROCESSES: usize = 64;
