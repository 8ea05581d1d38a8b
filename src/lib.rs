//! JSON-RPC 2.0 for every message boundary that an application controls.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod connection;
pub mod limits;
pub mod message;
pub mod profile;
pub mod validate;

pub use connection::Connection;
pub use limits::Limits;
