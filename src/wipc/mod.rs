//! WIPC hosts and guests.
//!
//! A host starts a guest, and exchanges frames of [`crate::codec::wipc`] with the guest. The frames are sent over the
//! standard input and the standard output of the guest. The host also receives other output between the frames. WIPC
//! does not use standard error.
//!
//! - [`Guest`] is a blocking guest (any target with standard input and output, including WASI), and [`GuestServer`]
//!   answers JSON-RPC calls on it;
#![cfg_attr(
    all(feature = "native", any(unix, windows)),
    doc = "- [`Host`] starts a guest, and [`Channel`] is the channel of a host or a guest, on tokio;"
)]
#![cfg_attr(
    all(feature = "native", any(unix, windows)),
    doc = "- a [`Transport`](crate::Transport) with [`Framing::Wipc`](crate::Framing) sends and receives JSON-RPC in `CALL` frames, for hosts and guests."
)]
//!
//! Source: the WIPC specification, version 1.0.

#[cfg(all(feature = "native", any(unix, windows)))]
mod channel;
mod guest;
#[cfg(all(feature = "native", any(unix, windows)))]
mod guest_process;
mod guest_server;
#[cfg(all(feature = "native", any(unix, windows)))]
mod host;

use crate::codec::wipc::FrameType;

#[cfg(all(feature = "native", any(unix, windows)))]
pub use self::channel::{Channel, Receiver, Sender};
pub use self::guest::Guest;
pub use self::guest_server::{GuestServer, HostLink};
#[cfg(all(feature = "native", any(unix, windows)))]
pub use self::host::Host;

/// A frame that owns its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedFrame {
    /// The type.
    pub frame_type: FrameType,
    /// The payload.
    pub payload: Vec<u8>,
}
