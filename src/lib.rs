//! JSON-RPC 2.0 for every message boundary that an application controls.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod limits;
pub mod message;
pub mod profile;

pub use limits::Limits;
