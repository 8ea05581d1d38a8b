//! The events of the decoders of byte streams, in any framing.

use super::wipc;
use crate::message::{Fault, Reason, Unreadable};

/// An event of a decoder. Every byte of the input is in an event, except headers, line ends and bytes that a limit
/// dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The body of one message, to be read as JSON.
    Body(&'a [u8]),
    /// A body that must not be decoded, since its header declares another content type.
    Refused {
        /// The body. Its id may be used for the error reply.
        body: &'a [u8],
        /// [`Reason::UnsupportedContentType`] or [`Reason::BadCharset`].
        reason: Reason,
    },
    /// A faulty message was dropped. If it is an answer, its call ends.
    Dropped {
        /// The first kibibyte of its body, or the received part if that is shorter. [`super::json::glance`] reads it.
        beginning: &'a [u8],
        /// Why it was dropped.
        why: Unreadable,
    },
    /// A WIPC frame that holds no message: `OPEN`, `CLOSE` or `DATA`. Other framings do not have such frames.
    Frame(wipc::Frame<'a>),
    /// A frame that was refused. If it is answered, then with the id null.
    Fault(FrameFault),
    /// Bytes between frames.
    Noise {
        /// The bytes, unchanged. The cuts between pieces have no meaning.
        bytes: &'a [u8],
        /// Whether a run of noise starts here. Noise after a fault continues the run of the fault, since one error
        /// covers both. A frame ends the run.
        starts: bool,
    },
}

/// Why a frame was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameFault {
    /// The body is longer than [`crate::Limits::message_bytes`]. It is dropped as it comes.
    Oversize {
        /// The length in the header, in bytes. `None` if it exceeds a `u64`, or if the framing has no header.
        length: Option<u64>,
    },
    /// The header is longer than [`crate::Limits::header_bytes`]. The message is dropped as it comes.
    HeaderTooLarge,
    /// The header has no valid length: it is missing, is not a number, or occurs twice with different values.
    InvalidHeader,
    /// The input ended within a message.
    Truncated {
        /// How many bytes of the message had come, header included.
        held: usize,
    },
    /// A message took longer than [`crate::Limits::partial_frame_ms`] and was dropped.
    TimedOut {
        /// How many bytes of the message were dropped, header included.
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
