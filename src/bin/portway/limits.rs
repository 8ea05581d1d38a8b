//! Bounds, made from limits.toml by `cargo xtask limits --write`.

use core::time::Duration;

/// End of a link: handlers that run, a process that ends.
pub(crate) const LINK_GRACE: Duration = Duration::from_millis(2_000);
/// A line of the peer that `portway call` shows whole.
pub(crate) const MAX_PRINTED_LINE_BYTES: usize = 4_096;
/// Lines about a peer, and lines that it prints, that `portway call` shows.
pub(crate) const MAX_PEER_LINES: usize = 1_000;
/// Nesting of a result that `portway call` shows with a line for each element.
pub(crate) const MAX_INDENTED_DEPTH: usize = 10;
/// Bytes on their way while `portway call` finds out the framing.
pub(crate) const MAX_NEGOTIATION_BYTES: usize = 65_536;
