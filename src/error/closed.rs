//! The reasons why links end.

use core::fmt;
use std::io;
use std::process::ExitStatus;

use crate::Framing;

/// The reason why a native link has ended.
///
/// The type also exists in browsers, so that a `match` on a [`CallError`](crate::CallError) compiles there. But links
/// in browsers never return a value of this type. They report lost peers by other errors, such as
/// [`CallError::PeerGone`](crate::CallError::PeerGone).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Closed {
    /// The application closed the link.
    Local,
    /// The peer closed the stream between two messages.
    End,
    /// The child process exited between two messages.
    Exited(ExitStatus),
    /// The stream ended within a message. The value is the number of received bytes of the message.
    Truncated(usize),
    /// Reading or writing failed, for example because the peer stopped reading.
    Io(io::ErrorKind, String),
    /// The peer uses another framing.
    OtherFraming {
        /// The framing that the peer uses.
        peer: Framing,
        /// The framing of this program.
        own: Framing,
    },
    /// The WebSocket was closed with a close frame (RFC 6455 §5.5.1): by the peer, or by this side because of a fault
    /// of the peer.
    WebSocket {
        /// The code (RFC 6455 §7.4). The code is 1005 if the peer has sent no code.
        code: u16,
        /// The reason. It may be empty.
        reason: String,
    },
    /// The input is not JSON-RPC. The value is the number of consecutive lines that were not messages.
    NoMessages(usize),
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Closed {
    pub(crate) fn from_io(error: &io::Error) -> Self {
        Self::Io(error.kind(), error.to_string())
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("this side closed the link"),
            Self::End => f.write_str("the peer closed the stream"),
            Self::Exited(status) => write!(f, "the process exited: {status}"),
            Self::Truncated(received_bytes) => {
                write!(f, "the stream ended within a message, after {received_bytes} bytes")
            }
            Self::Io(_, problem) => f.write_str(problem),
            Self::OtherFraming { peer, own } => write!(f, "the peer sends {peer}, but this side expects {own}"),
            Self::WebSocket { code, reason } if reason.is_empty() => {
                write!(f, "the WebSocket was closed with code {code}")
            }
            Self::WebSocket { code, reason } => {
                write!(f, "the WebSocket was closed with code {code}: {}", reason.escape_debug())
            }
            Self::NoMessages(lines) => write!(f, "{lines} consecutive lines were not messages"),
        }
    }
}

impl core::error::Error for Closed {}
