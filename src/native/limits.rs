//! Bounds, made from limits.toml by `cargo xtask limits --write`.

use core::time::Duration;

/// Timeout of a call.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Items of a stream in transit.
pub(crate) const STREAM_WINDOW: u32 = 16;
/// Items that the streams of a link send in one turn of the event loop.
pub(crate) const MAX_ITEMS_PER_TURN: usize = 256;
/// Time that the streams of a link, or the frames of a WIPC peer, take per turn of the event loop.
pub(crate) const MAX_TURN_TIME: Duration = Duration::from_millis(4);
/// Wait for input that has already arrived, after the timeout of a call or a message.
pub(crate) const FINAL_READ_TIMEOUT: Duration = Duration::from_millis(1);
/// Total of such waits, while input keeps arriving.
pub(crate) const MAX_FINAL_READ_TIME: Duration = Duration::from_millis(100);
/// Consecutive lines that are not messages, at the start of a newline-delimited link.
pub(crate) const MAX_LINES_WITHOUT_MESSAGE: usize = 10;
/// Time for running handlers and a child process at the end of a link.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(2_000);
/// Wait for the rest of the output of an exited process.
pub(crate) const OUTPUT_GRACE: Duration = Duration::from_millis(250);
/// Wait between SIGTERM and SIGKILL for a process and its descendants.
pub(crate) const TERM_GRACE: Duration = Duration::from_millis(500);
/// Wait for further input after a write has failed.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);
/// Time that a connection to a busy Unix socket is retried.
#[cfg(unix)]
pub(crate) const BUSY_SOCKET_TIMEOUT: Duration = Duration::from_millis(5_000);
/// A line of standard error that is reported whole.
pub(crate) const MAX_STDERR_LINE_BYTES: u64 = 65_536;
/// Bytes in transit between two ends in one process.
pub(crate) const PAIR_BYTES: usize = 65_536;
/// Frames queued for writing before a sender waits.
pub(crate) const MAX_QUEUED_FRAMES: usize = 16;
