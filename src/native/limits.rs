//! Limits that `cargo xtask limits --write` generates from limits.toml.

use core::time::Duration;

/// Default timeout of a call.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Default window of a stream: the maximum number of unread items.
pub(crate) const STREAM_WINDOW: u32 = 16;
/// Maximum number of items that the streams of a link send before they yield to other tasks.
pub(crate) const MAX_ITEMS_PER_TURN: usize = 256;
/// Maximum time that streams send items, or WIPC frames are handled, before other tasks run.
pub(crate) const MAX_TURN_TIME: Duration = Duration::from_millis(4);
/// Maximum wait for each read of available input, once the timeout of a call or a message is over.
pub(crate) const FINAL_READ_TIMEOUT: Duration = Duration::from_millis(1);
/// Maximum total time of reading available input, once the timeout of a call or a message is over.
pub(crate) const MAX_FINAL_READ_TIME: Duration = Duration::from_millis(100);
/// Maximum number of consecutive lines that are not messages, at the start of a newline-delimited link.
pub(crate) const MAX_LINES_WITHOUT_MESSAGE: usize = 10;
/// Default grace at the end of a link: the time for running handlers and a child process to end.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(2_000);
/// Maximum wait for the rest of the output of an exited process.
pub(crate) const OUTPUT_GRACE: Duration = Duration::from_millis(250);
/// Maximum time that a process and its descendants have to exit after SIGTERM, before SIGKILL.
pub(crate) const TERM_GRACE: Duration = Duration::from_millis(500);
/// Maximum wait for further input after a write has failed.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);
/// Maximum time that a connection to a busy Unix socket is retried.
#[cfg(unix)]
pub(crate) const BUSY_SOCKET_TIMEOUT: Duration = Duration::from_millis(5_000);
/// Maximum bytes of a line of standard error that is reported whole.
pub(crate) const MAX_STDERR_LINE_BYTES: u64 = 65_536;
/// Maximum bytes in transit between two transports of one process.
pub(crate) const PAIR_BYTES: usize = 65_536;
/// Maximum number of frames queued for writing before a sender waits.
pub(crate) const MAX_QUEUED_FRAMES: usize = 16;
/// Maximum bytes of messages that a relay buffers for one of its two transports.
pub(crate) const MAX_RELAYED_BYTES: usize = 1_048_576;
/// Maximum bytes of the head of a WebSocket's request or response.
#[cfg(feature = "websocket")]
pub(crate) const WEBSOCKET_HEAD_BYTES: usize = 8_192;
/// Maximum time to receive the head of a WebSocket's request, and to run the check of the application.
#[cfg(feature = "websocket")]
pub(crate) const WEBSOCKET_HEAD_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Default maximum time of a WebSocket's connection, TLS and handshake together.
#[cfg(feature = "websocket")]
pub(crate) const WEBSOCKET_CONNECT_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Maximum time that a refused connection is read before it is closed.
#[cfg(any(feature = "mcp-http", feature = "websocket"))]
pub(crate) const REFUSAL_LINGER_TIMEOUT: Duration = Duration::from_millis(1_000);
/// Silence of a WebSocket's peer before a ping.
#[cfg(feature = "websocket")]
pub(crate) const WEBSOCKET_PING_INTERVAL: Duration = Duration::from_millis(20_000);
/// Silence of a WebSocket's peer after a ping.
#[cfg(feature = "websocket")]
pub(crate) const WEBSOCKET_PING_TIMEOUT: Duration = Duration::from_millis(20_000);
/// Maximum number of pings of a WebSocket's peer that are answered while it reads nothing.
#[cfg(feature = "websocket")]
pub(crate) const MAX_UNFLUSHED_PONGS: usize = 128;
/// Default maximum number of WebSockets of a listener.
#[cfg(feature = "websocket")]
pub(crate) const MAX_WEBSOCKETS: usize = 16_384;
/// Default maximum number of WebSockets of one IPv4 address or IPv6 network.
#[cfg(feature = "websocket")]
pub(crate) const MAX_WEBSOCKETS_PER_ADDRESS: usize = 1_024;
/// Default maximum time for the response of an MCP server to `server/discover`.
#[cfg(feature = "mcp")]
pub(crate) const MCP_DISCOVER_TIMEOUT: Duration = Duration::from_millis(5_000);
/// Default maximum time for the response of an MCP server to `initialize`.
#[cfg(feature = "mcp")]
pub(crate) const MCP_INITIALIZE_TIMEOUT: Duration = Duration::from_millis(30_000);
/// Maximum number of pages of a list of an MCP server.
#[cfg(feature = "mcp")]
pub(crate) const MAX_MCP_PAGES: usize = 16;
/// Maximum number of requests of one call of an MCP server.
#[cfg(feature = "mcp")]
pub(crate) const MAX_MCP_ROUNDS: usize = 16;
/// Maximum number of notifications that wait in a stream of `mcp::Client::stream`.
#[cfg(feature = "mcp")]
pub(crate) const MAX_MCP_UPDATES: usize = 1_024;
/// Maximum number of origins in an `mcp::EraCache`, and of those whose era `httpTransport` keeps.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_MCP_ORIGINS: usize = 1_024;
/// Default maximum number of pending calls of an MCP server over HTTP.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_REQUESTS: usize = 1_024;
/// Maximum bytes of the head of an HTTP response of an MCP server.
#[cfg(feature = "mcp-http")]
pub(crate) const HTTP_HEAD_BYTES: usize = 65_536;
/// Maximum time of a connection to an MCP server over HTTP, with TLS.
#[cfg(feature = "mcp-http")]
pub(crate) const HTTP_CONNECT_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Maximum time to end the session of an MCP server over HTTP.
#[cfg(feature = "mcp-http")]
pub(crate) const HTTP_CLOSE_TIMEOUT: Duration = Duration::from_millis(1_000);
/// Maximum time before an ended stream of an MCP server is requested again.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_RETRY_DELAY: Duration = Duration::from_millis(30_000);
/// Maximum number of streams in a row without a message before a call fails.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_RESUMES: u32 = 5;
/// Maximum number of resources to whose changes one MCP client can subscribe.
#[cfg(feature = "mcp")]
pub(crate) const MAX_MCP_SUBSCRIPTIONS: usize = 1_024;
/// Maximum bytes of a header of an HTTP request to an MCP server, with its name.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_HEADER_BYTES: usize = 8_192;
/// Bytes of the head of an HTTP request to an MCP server after which it is refused.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_HEAD_BYTES: usize = 131_072;
/// Maximum time to receive the head of an HTTP request to an MCP server.
#[cfg(feature = "mcp-http")]
pub(crate) const HTTP_HEAD_TIMEOUT: Duration = Duration::from_millis(10_000);
/// Default maximum number of connections of an MCP server over HTTP.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_CONNECTIONS: usize = 4_096;
/// Default maximum number of connections of one IPv4 address or IPv6 network to an MCP server over HTTP.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_CONNECTIONS_PER_ADDRESS: usize = 2_048;
/// Maximum bytes of messages of an MCP server that the reader of an HTTP stream has not taken.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_UNREAD_BYTES: usize = 1_048_576;
/// Maximum bytes of the ended HTTP streams that an MCP server keeps for one session.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_KEPT_BYTES: usize = 1_048_576;
/// Maximum number of sessions of an MCP server.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_SESSIONS: usize = 1_024;
/// Default maximum number of sessions of an MCP server that is a program.
#[cfg(feature = "mcp-http")]
pub(crate) const MAX_HTTP_PROGRAMS: usize = 64;
/// Default time after which an idle session of an MCP server that is a program ends.
#[cfg(feature = "mcp-http")]
pub(crate) const MCP_SESSION_IDLE: Duration = Duration::from_millis(1_800_000);
/// Silence of an HTTP stream of an MCP server before a comment is sent.
#[cfg(feature = "mcp-http")]
pub(crate) const HTTP_KEEP_ALIVE: Duration = Duration::from_millis(15_000);
/// Maximum bytes of records that the reader of a tap has not taken.
pub(crate) const MAX_TAP_BYTES: usize = 1_048_576;
/// Maximum bytes of the text of a record, unless the records go to a file.
pub(crate) const MAX_TAP_TEXT_BYTES: usize = 262_144;
/// Maximum bytes of one record of bytes that are not a message.
pub(crate) const MAX_TAP_NOISE_BYTES: usize = 4_096;
/// Maximum characters of the reason of a `close` record.
pub(crate) const MAX_TAP_REASON_CHARACTERS: usize = 96;
