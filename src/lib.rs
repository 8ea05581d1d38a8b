//! JSON-RPC 2.0 between the parts of an application: windows, workers, processes and servers.
//!
//! On Unix, on Windows and in browsers, this crate has a typed `Client`, `Server` and `Peer` on a `Transport`. In a
//! browser (`wasm32-unknown-unknown`), a transport is a window, a worker or a port. On Unix and Windows, a transport is
//! a byte stream (standard input and output, a socket or a process), a WebSocket or a channel. The JavaScript API is in
//! the npm package of the same name, and not in this crate.
//!
//! Start with `Client`, `Server` and `Transport`. A `Peer` is both a client and a server. A failed call returns a
//! `CallError`, and a handler returns an `RpcError`.
//!
#![cfg_attr(all(feature = "native", any(unix, windows)), doc = "```")]
#![cfg_attr(not(all(feature = "native", any(unix, windows))), doc = "```ignore")]
//! # #[tokio::main]
//! # async fn main() -> std::io::Result<()> {
//! use portway::{Client, Context, RpcError, Server, Transport};
//!
//! // Two connected transports in one program. A transport over a socket, a process or a worker has the same API.
//! let (client_end, server_end) = Transport::pair()?;
//! let server = Server::new(server_end);
//! server.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
//! server.forget();
//! assert_eq!(Client::new(client_end).call::<i64>("add", &(1, 2)).await, Ok(3));
//! # Ok(())
//! # }
//! ```
//!
//! The modules:
//!
//! - `wipc` (in a browser, only with the feature `codec`): hosts and guests of WIPC, a protocol of frames between a
//!   process and a program that the process starts. A guest may be a WASI program;
//! - `stdio` (in a browser, only with the feature `codec`): standard streams whose calls block until they complete,
//!   even if a descriptor is non-blocking;
//! - `tap` (with the feature `native`): records of the messages that cross a link;
//! - `mcp` (with the feature `mcp`): a client and a server of the Model Context Protocol.
//!
//! Modules of `portway-proto`, for implementers of protocols:
//!
//! - [`message`]: requests, notifications, responses and batches, generic over their payload;
//! - [`connection`]: the state machine of a connection, without IO, clock or threads;
//! - [`validate`]: checks messages against the specification;
//! - [`profile`]: the differences between protocols;
//! - `codec` (in a browser, only with the feature `codec`): converts between bytes and frames, and between JSON text
//!   and messages.
//!
//! # Features
//!
//! - **`native`**: clients and servers over byte streams, sockets and processes, on tokio, on Unix and Windows.
//!   *Enabled by default.*
//! - **`mcp`**: a client and a server of the Model Context Protocol over standard streams, and the profile of their
//!   links, on Unix and Windows.
//! - **`mcp-http`**: the client and the server of `mcp` over Streamable HTTP, with TLS for clients.
//! - **`websocket`**: `Transport::websocket` and `Listener::websocket`, with TLS for clients, on Unix and Windows.
//! - **`browser`**: clients and servers over windows, workers and ports, in browsers. *Enabled by default.*
//! - **`codec`**: in browsers, the codecs of bytes and text, and WIPC. Other targets always have these codecs and WIPC.
//!
//! Each feature has an effect only on the targets that its entry names.
//!
//! # Platforms
//!
//! | | Unix | Windows | `wasm32-unknown-unknown` | other targets |
//! |---|---|---|---|---|
//! | messages, validator, state machine | yes | yes | yes | yes |
//! | codecs of bytes and text, WIPC guests | yes | yes | feature `codec` | yes |
//! | `Client`, `Server`, `Peer` | feature `native` | feature `native` | feature `browser` | no |
//! | byte streams | streams, TCP, Unix sockets, processes | streams, TCP, processes | no | no |
//! | other transports | WebSockets, channels | WebSockets, channels | windows, workers, ports | no |

#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
mod browser;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec", feature = "browser"))]
mod echo;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec", feature = "browser"))]
mod error;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
mod json_value;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
mod message_length;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec", feature = "browser"))]
mod method_name;
#[cfg(all(feature = "native", any(unix, windows)))]
mod native;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
pub mod stdio;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
pub mod wipc;

#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
pub use browser::{Call, Cancelled, Client, Connect, Context, Items, Origin, Peer, Server, Transport, TransportError};
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec", feature = "browser"))]
pub use error::RpcError;
#[cfg(any(
    all(feature = "native", any(unix, windows)),
    all(target_family = "wasm", target_os = "unknown", feature = "browser")
))]
pub use error::{CallError, Closed, SendError};
#[cfg(all(feature = "native", unix))]
pub use native::connect_unix;
#[cfg(all(feature = "mcp", any(unix, windows)))]
pub use native::mcp;
#[cfg(all(feature = "native", any(unix, windows)))]
pub use native::tap;
#[cfg(all(feature = "websocket", any(unix, windows)))]
pub use native::{Admission, Refusal, RequestHead, WebSocketOptions, WebSocketPolicy};
#[cfg(all(feature = "native", any(unix, windows)))]
pub use native::{
    Call, Cancelled, ChildTree, Client, Context, Diagnostic, Items, Listener, Peer, Process, RunningProcess, Server,
    Service, Stopper, Transport, spawn_error_reason,
};
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
pub use portway_proto::codec;
pub use portway_proto::{ErrorCode, Framing, Limits, connection, message, profile, reconnect, validate};

/// The doc tests compile the samples of the README. Each sample is compiled only for its target. The native samples use
/// Unix sockets, so they are compiled only on Unix.
#[cfg(all(
    doctest,
    any(all(feature = "native", unix), all(feature = "browser", target_family = "wasm", target_os = "unknown"))
))]
#[doc = include_str!("../README.md")]
pub mod readme {}

/// The tests compile the samples of the page about WebSockets.
#[cfg(all(doctest, feature = "websocket", unix))]
#[doc = include_str!("../docs/websocket-server.md")]
pub mod websocket_server {}

/// The tests compile the servers of the page about MCP.
#[cfg(all(doctest, feature = "mcp-http", unix))]
#[doc = include_str!("../docs/mcp.md")]
pub mod mcp_servers {}

/// The tests compile the sample of the page about taps.
#[cfg(all(doctest, feature = "native", unix))]
#[doc = include_str!("../docs/tap.md")]
pub mod tap_records {}
