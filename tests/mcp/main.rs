//! The profile, the client and the server of the Model Context Protocol: the messages on the wire, the eras of servers,
//! and servers as processes.
#![cfg(unix)]
#![allow(clippy::indexing_slicing, reason = "indexing a JSON value returns null for a missing member")]

mod client;
mod dialect;
mod era_vectors;
mod eras;
#[cfg(feature = "mcp-http")]
mod http;
#[cfg(feature = "mcp-http")]
mod http_site;
mod input;
mod processes;
mod remote;
mod server;
#[cfg(feature = "mcp-http")]
mod server_http;
#[cfg(feature = "mcp-http")]
mod server_program;
mod test_server;
#[cfg(feature = "mcp-http")]
mod tls;
mod updates;
#[path = "../native/wire.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests share it")]
mod wire;
