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
/// Maximum number of connections that `portway tap` passes at a time.
pub(crate) const MAX_TAPPED_CONNECTIONS: usize = 256;
/// Maximum bytes of the head of a WebSocket's request that `portway tap` changes, and of a response that it reads.
pub(crate) const MAX_TAP_HEAD_BYTES: usize = 16_384;
/// Maximum number of requests whose responses `portway tap --print` matches.
pub(crate) const MAX_TAP_PENDING: usize = 10_000;
/// Maximum wait of `portway tap` at its end for a reader of its records.
pub(crate) const TAP_FLUSH_TIMEOUT: Duration = Duration::from_millis(1_000);
/// Maximum time in which `portway tap` connects to the server.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Maximum wait of `portway tap` for further output of a program that has exited.
pub(crate) const PROGRAM_OUTPUT_GRACE: Duration = Duration::from_millis(250);
/// Maximum number of messages of a batch that `portway tap --print` prints.
pub(crate) const MAX_TAP_PRINTED_BATCH: usize = 1_000;
/// Maximum bytes of records that `portway tap --inspect` buffers for pages.
pub(crate) const MAX_INSPECTOR_BYTES: usize = 33_554_432;
/// Maximum bytes of a file of `portway inspect --open`.
pub(crate) const MAX_OPENED_FILE_BYTES: usize = 134_217_728;
/// Maximum number of pages that read the records of `portway tap --inspect` at a time.
pub(crate) const MAX_INSPECTOR_PAGES: usize = 5;
/// Maximum number of connections to the inspector of a command at a time.
pub(crate) const MAX_INSPECTOR_CONNECTIONS: usize = 64;
/// Maximum bytes of the head of a request to the inspector of a command.
pub(crate) const INSPECTOR_HEAD_BYTES: usize = 16_384;
/// Maximum time in which a request to the inspector of a command arrives.
pub(crate) const INSPECTOR_HEAD_TIMEOUT: Duration = Duration::from_millis(5_000);
/// Maximum number of open links of a program that sends records to `portway inspect`.
pub(crate) const MAX_PROGRAM_LINKS: usize = 4_096;
/// Maximum number of characters of the id of a link in a record that `portway inspect` accepts.
pub(crate) const MAX_LINK_CHARACTERS: usize = 200;
/// Maximum number of programs of which `portway inspect` holds an incomplete line of more than 64 KiB at a time.
pub(crate) const MAX_LONG_LINES: usize = 4;
