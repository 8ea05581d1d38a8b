//! Bounds, made from limits.toml by `cargo xtask limits --write`.

use core::time::Duration;

/// Time for running handlers and a child process at the end of a link.
pub(crate) const LINK_GRACE: Duration = Duration::from_millis(2_000);
/// A line of the peer that `portway call` prints whole.
pub(crate) const MAX_SHOWN_LINE: usize = 4_096;
/// Lines about a peer and of its output that `portway call` prints.
pub(crate) const MAX_PEER_LINES: usize = 1_000;
/// Nesting of a result that `portway call` prints with one line per element.
pub(crate) const MAX_INDENTED_DEPTH: usize = 10;
/// Bytes in transit while `portway call` detects the framing.
pub(crate) const MAX_NEGOTIATION_BYTES: usize = 65_536;
