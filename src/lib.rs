//! JSON-RPC 2.0 for every message boundary that an application controls.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub mod codec;
pub mod connection;
pub mod limits;
pub mod message;
pub mod profile;
pub mod validate;

#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "js"))]
pub mod js;
#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "__leaf"))]
mod leaf;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub mod web;

pub use connection::Connection;
pub use limits::Limits;
pub use message::ErrorCode;
#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "typed"))]
pub use web::api::{
    Call, CallError, Cancelled, Client, Context, Origin, Peer, RpcError, Server, Transport, TransportError,
};
