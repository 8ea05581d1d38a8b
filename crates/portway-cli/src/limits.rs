//! Bounds, made from limits.toml by `cargo xtask limits --write`.

use core::time::Duration;

/// Time for running handlers and a child process at the end of a link.
pub(crate) const LINK_GRACE: Duration = Duration::from_millis(2_000);
/// Bytes of a line of the peer that `portway call` prints whole.
pub(crate) const MAX_PRINTED_LINE_BYTES: usize = 4_096;
/// Lines about a peer and lines of its output that `portway call` prints.
pub(crate) const MAX_PEER_LINES: usize = 1_000;
/// Nesting of a result that `portway call` prints with a line for each element.
pub(crate) const MAX_INDENTED_DEPTH: usize = 10;
/// Bytes in the buffer of `portway call` while it detects the framing.
pub(crate) const MAX_NEGOTIATION_BYTES: usize = 65_536;
