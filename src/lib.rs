//! JSON-RPC 2.0 between the parts of an application: windows, workers, processes and servers.
//!
//! Every target has a typed `Client`, `Server` and `Peer` on a `Transport`. In a browser (`wasm32-unknown-unknown`), a
//! transport is a window, a worker or a port (feature `typed`). Elsewhere it is a byte stream: standard input and
//! output, a socket or a process (feature `native`). The feature `js` exports the classes of the npm package. The
//! modules:
//!
//! - [`message`]: requests, notifications, responses and batches, generic over their payload;
//! - [`connection`]: the state machine of a connection, without IO, clock or threads;
//! - [`validate`]: checks messages against the specification;
//! - [`profile`] and [`limits`]: the differences between protocols, and the limits of a peer;
//! - `codec` (in a browser, with the feature `json`): bytes to frames, JSON text to messages, and back;
//! - `wipc` (in a browser, with the feature `json`): hosts and guests of WIPC, including WASI guests;
//! - `stdio` (in a browser, with the feature `json`): standard streams that also block where they are non-blocking.
//!
//! # Example
//!
//! Drives the state machine by hand: decodes a request, handles its event, and encodes the response.
//!
#![cfg_attr(not(all(target_family = "wasm", target_os = "unknown")), doc = "```")]
#![cfg_attr(all(target_family = "wasm", target_os = "unknown"), doc = "```ignore")]
//! use portway::codec::json;
//! use portway::connection::{Config, Connection, Event};
//! use portway::limits::Limits;
//! use portway::profile::Profile;
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

#[cfg(all(feature = "cli", not(unix)))]
compile_error!(
    "the feature `cli` needs Unix: the commands `portway` and `duet-rpc` use sockets, signals and file descriptors of Unix. \
     Disable it for this target: the codecs, the state machine and the validator do not need them"
);

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "json"))]
pub mod codec;
pub mod connection;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "json", feature = "typed"))]
#[cfg(feature = "std")]
mod echo;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "json", feature = "typed"))]
#[cfg(feature = "std")]
mod error;
mod framing;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "json"))]
#[cfg(feature = "std")]
mod json_value;
pub mod limits;
pub mod message;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "json"))]
#[cfg(feature = "std")]
mod message_length;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "json", feature = "typed"))]
#[cfg(feature = "std")]
mod method_name;
pub mod profile;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "json"))]
#[cfg(feature = "std")]
pub mod stdio;
pub mod validate;

#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "js"))]
pub mod js;
#[cfg(all(feature = "native", unix))]
pub mod native;
#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "__leaf"))]
mod no_std_runtime;
#[cfg(all(target_family = "wasm", target_os = "unknown", any(feature = "js", feature = "typed")))]
pub mod web;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "json"))]
#[cfg(feature = "std")]
pub mod wipc;

pub use connection::Connection;
#[cfg(any(all(feature = "native", unix), all(target_family = "wasm", target_os = "unknown", feature = "typed")))]
pub use error::{CallError, Closed, RpcError, SendError};
pub use framing::Framing;
pub use limits::Limits;
pub use message::ErrorCode;
#[cfg(all(feature = "native", unix))]
pub use native::{
    Call, Cancelled, Client, Context, Diagnostic, Items, Listener, Peer, Process, RunningProcess, Server, Stopper,
    Transport,
};
#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "typed"))]
pub use web::api::{Call, Cancelled, Client, Connect, Context, Items, Origin, Peer, Server, Transport, TransportError};

/// The tests compile the samples of the README, each for its target.
#[cfg(all(
    doctest,
    any(all(feature = "native", unix), all(feature = "typed", target_family = "wasm", target_os = "unknown"))
))]
#[doc = include_str!("../README.md")]
pub mod readme {}
