//! WIPC: hosts, and the guests that they start.
//!
//! A host starts a guest and talks to it through the guest's standard input and output, in the frames of
//! [`crate::codec::wipc`]. Whatever else the guest prints is passed through. Its standard error is its own.
//!
//! - [`Guest`] is a guest that waits for its host (any target with standard input and output, WASI among them), and
//!   [`GuestServer`] answers JSON-RPC calls on it;
#![cfg_attr(all(feature = "native", unix), doc = "- [`Host`] starts a guest, and [`Channel`] is either end on tokio;")]
#![cfg_attr(
    all(feature = "native", unix),
    doc = "- a [`Transport`](crate::Transport) with [`Framing::Wipc`](crate::Framing) carries JSON-RPC in `CALL` frames, in either role."
)]
//!
//! Source: the WIPC specification, version 1.0.

#[cfg(all(feature = "native", unix))]
mod channel;
mod guest;
#[cfg(all(feature = "native", unix))]
mod guest_process;
#[cfg(all(feature = "native", unix))]
mod host;
mod serve;

use std::vec::Vec;

#[cfg(all(feature = "native", unix))]
pub use self::channel::{Channel, Receiver, Sender};
pub use self::guest::Guest;
#[cfg(all(feature = "native", unix))]
pub use self::host::Host;
pub use self::serve::{GuestServer, HostLink};
pub use crate::codec::wipc::FrameType;
pub use crate::error::RpcError;

/// A frame, with a payload of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedFrame {
    /// What it is for.
    pub frame_type: FrameType,
    /// What it carries.
    pub payload: Vec<u8>,
}
