//! The events that the decoders of all framings return.

use super::wipc;
use crate::message::{Fault, Reason, Unreadable};

/// An event of a decoder. Together, the events contain every byte of the input, except possibly:
/// - headers, line ends, and whitespace between frames;
/// - the bytes of a [`Dropped`](Self::Dropped) message after the first KiB of its body;
/// - the message of a [`Fault`](Self::Fault).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The body of one message, to be read as JSON.
    Body(&'a [u8]),
    /// A message whose header declares an unsupported content type or charset. The body must not be decoded as a
    /// message.
    Refused {
        /// The body. The driver searches the body for the id of the message, for the error response.
        body: &'a [u8],
        /// [`Reason::UnsupportedContentType`] or [`Reason::BadCharset`].
        reason: Reason,
    },
    /// A message that was dropped. If the message is a response, the driver ends the call that has the id of the
    /// response.
    Dropped {
        /// The first KiB of the body, or the received part of a shorter body. [`super::json::find_response_ids`]
        /// searches these bytes.
        beginning: &'a [u8],
        /// Why the message was dropped.
        why: Unreadable,
    },
    /// A WIPC frame without a JSON-RPC message: `OPEN`, `CLOSE` or `DATA`. With the other framings, each frame contains
    /// a message.
    Frame(wipc::Frame<'a>),
    /// A frame that was refused. If [`FrameFault::fault`] returns a fault, the driver sends an error response with the
    /// id null.
    Fault(FrameFault),
    /// Bytes between frames.
    Noise {
        /// The bytes, unchanged. The decoder may split a run of noise into several events at any byte.
        bytes: &'a [u8],
        /// True if a run of noise starts with this event. A frame ends the run. After a fault in a stream with
        /// `Content-Length`, `starts` is false, because the error response for the fault also covers the noise.
        starts: bool,
    },
}

/// Why a frame was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameFault {
    /// The body is longer than [`crate::Limits::message_bytes`]. The decoder discards its bytes as they arrive.
    Oversize {
        /// The length in the header, in bytes. `None` if the length exceeds a `u64`, or if the framing has no header.
        length: Option<u64>,
    },
    /// The header is longer than [`crate::Limits::header_bytes`]. The decoder discards the bytes of the message as they
    /// arrive.
    HeaderTooLarge,
    /// `Content-Length` is missing, is not a number, or occurs twice with different values.
    InvalidHeader,
    /// The input ended within a message.
    Truncated {
        /// The number of bytes of the message that were received, header included.
        received_bytes: usize,
    },
    /// A message was incomplete after [`crate::Limits::partial_frame_ms`] and was dropped. This timeout starts at the
    /// first byte of the message. While calls are pending, each received byte restarts this timeout. Over WIPC, the
    /// timeout of payloads applies instead.
    TimedOut {
        /// The number of bytes of the message that were dropped, header included.
        received_bytes: usize,
    },
}

impl FrameFault {
    /// Returns the fault for an error response with the id null, or `None` if the driver only logs this fault.
    #[must_use]
    pub const fn fault(&self) -> Option<Fault> {
        match self {
            Self::Oversize { .. } => Some(Fault::Refused(Reason::Oversize)),
            Self::HeaderTooLarge => Some(Fault::Refused(Reason::HeaderTooLarge)),
            Self::InvalidHeader | Self::Truncated { .. } => Some(Fault::ParseError),
            Self::TimedOut { .. } => None,
        }
    }
}
