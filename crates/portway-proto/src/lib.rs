//! JSON-RPC 2.0 without IO: messages, the state machine of a connection, a validator, and codecs.
//!
//! Most applications depend on `portway`, which contains drivers for sockets, processes and the transports of browsers.
//! A *driver* is the code that does the IO, passes messages and clock readings to a connection, and runs the handlers
//! of the application. Depend on `portway-proto` to write another driver, or to use JSON-RPC without the standard
//! library. The crate needs only `alloc`.
//!
//! The modules:
//!
//! - [`message`]: requests, notifications, responses and batches, generic over their payload;
//! - [`connection`]: the state machine of a connection, without IO, clock or threads;
//! - [`validate`]: checks messages against the specification;
//! - [`profile`]: the differences between protocols that are built on JSON-RPC 2.0;
//! - [`reconnect`]: decides when a client opens the next connection;
//! - `mcp` (with the feature `mcp`): detects whether an MCP server uses a handshake, and has the rules of MCP over
//!   HTTP;
//! - `codec` (with the feature `codec`): converts bytes to frames and JSON text to messages, and back.
//!
//! # Features
//!
//! - **`codec`**: adds the module `codec`, which depends on `serde`, `serde_json` and `memchr`. Not enabled by default.
//! - **`mcp`**: adds the module `mcp` and `Profile::MCP`, for the Model Context Protocol. Not enabled by default.
//!
//! # Example
//!
//! This code is a minimal driver. It decodes a request, handles its event, and encodes the response.
//!
#![cfg_attr(feature = "codec", doc = "```")]
#![cfg_attr(not(feature = "codec"), doc = "```ignore")]
//! use portway_proto::Limits;
//! use portway_proto::codec::json;
//! use portway_proto::connection::{Config, Connection, Event};
//! use portway_proto::profile::Profile;
//!
//! let mut connection = Connection::new(Config::new(Profile::GENERIC));
//! let text = br#"{"jsonrpc":"2.0","method":"double","params":[21],"id":"a"}"#;
//! connection.handle(json::decode(text, &Profile::GENERIC, &Limits::DEFAULT));
//!
//! while let Some(event) = connection.poll_event() {
//!     if let Event::Request { key, params, .. } = event {
//!         let [number]: [i64; 1] = serde_json::from_str(params.expect("there are params").get())?;
//!         connection.respond(key, Ok(serde_json::value::to_raw_value(&(number * 2))?));
//!     }
//! }
//! let answer = connection.poll_transmit().expect("each request is answered");
//! assert_eq!(json::encode(&answer), r#"{"jsonrpc":"2.0","id":"a","result":42}"#);
//! # Ok::<(), serde_json::Error>(())
//! ```
#![no_std]

extern crate alloc;

#[cfg(feature = "codec")]
pub mod codec;
pub mod connection;
mod framing;
mod limits;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod message;
pub mod profile;
pub mod reconnect;
pub mod validate;

pub use framing::Framing;
pub use limits::{
    Limits, MAX_ECHO_LENGTH, MAX_METHOD_LENGTH, MAX_PEER_CREDIT, MAX_STREAM_CREDIT, TOTAL_TIMEOUT_FACTOR, is_longer,
};
pub use message::error_code::ErrorCode;
