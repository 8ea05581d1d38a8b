//! The events that the decoders of all framings return.

use super::wipc;
use crate::message::{Fault, Reason, Unreadable};

/// An event of a decoder. Together, the events contain every byte of the input, except:
/// - headers and line ends;
/// - the rest of a [`Dropped`](Self::Dropped) message after the first KiB of its body;
/// - the message of a [`Fault`](Self::Fault). [`FrameFault::Oversize`] has at most the length from its header, and
///   [`FrameFault::Truncated`] and [`FrameFault::TimedOut`] have only the number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The body of one message, to be read as JSON.
    Body(&'a [u8]),
    /// A message whose header declares an unsupported content type or charset. Its body must not be decoded as a
    /// message.
    Refused {
        /// The body. Its id may be used for the error response.
        body: &'a [u8],
        /// [`Reason::UnsupportedContentType`] or [`Reason::BadCharset`].
        reason: Reason,
    },
    /// A message that was dropped. If it is a response, the driver ends the call.
    Dropped {
        /// The first kibibyte of its body, or the received part if that is shorter. [`super::json::glance`] reads it.
        beginning: &'a [u8],
        /// Why it was dropped.
        why: Unreadable,
    },
    /// A WIPC frame that holds no message: `OPEN`, `CLOSE` or `DATA`. Other framings do not have such frames.
    Frame(wipc::Frame<'a>),
    /// A frame that was refused. If [`FrameFault::fault`] returns a fault, an error response with the id null is sent.
    Fault(FrameFault),
    /// Bytes between frames.
    Noise {
        /// The bytes, unchanged. One run may arrive as several events. Their boundaries carry no information.
        bytes: &'a [u8],
        /// True if a run of noise starts here. A frame ends a run. After a fault it is false, since the error response
        /// for the fault stands for the noise too.
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
        held: usize,
    },
    /// A message was incomplete after [`crate::Limits::partial_frame_ms`] and was dropped. The time runs from the first
    /// byte of the message. While calls are pending, it runs between two bytes of the message. Over WIPC, the timeout
    /// of payloads applies instead.
    TimedOut {
        /// The number of bytes of the message that were dropped, header included.
        held: usize,
    },
}

impl FrameFault {
    /// Returns the fault that is sent with the id null, or `None` if this fault is only logged.
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
