//! What the decoder of a byte stream finds in it, whatever the framing.

use super::wipc;
use crate::message::{Fault, Reason, Unreadable};

/// A find of a decoder. All of the input ends up in one of these, except headers, line ends and what a limit dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The body of one message, to be read as JSON.
    Body(&'a [u8]),
    /// A body that is not to be read, since its header says that it is something else.
    Refused {
        /// The body, from which an id may still be echoed.
        body: &'a [u8],
        /// [`Reason::UnsupportedContentType`] or [`Reason::BadCharset`].
        reason: Reason,
    },
    /// A message with a fault has been dropped. If it is an answer, its call ends.
    Dropped {
        /// The beginning of its body: a kibibyte, or less if less came. [`super::json::glance`] reads it.
        beginning: &'a [u8],
        /// Why it was dropped.
        why: Unreadable,
    },
    /// A frame of WIPC that holds no message: `OPEN`, `CLOSE` or `DATA`. Other framings have none.
    Frame(wipc::Frame<'a>),
    /// A frame that could not be taken; answered, if at all, with the id null.
    Fault(FrameFault),
    /// Bytes that belong to no frame.
    Noise {
        /// As they came. Where one piece ends and the next begins means nothing.
        bytes: &'a [u8],
        /// Whether a run of noise starts here. What follows a fault continues it: one error is enough for both. A frame
        /// ends the run.
        starts: bool,
    },
}

/// Why a frame could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameFault {
    /// The body is longer than [`crate::Limits::message_bytes`]. It is dropped as it comes.
    Oversize {
        /// The length in the header, in bytes; `None` if it has more digits than a `u64`, or the framing has no header.
        length: Option<u64>,
    },
    /// The header is longer than [`crate::Limits::header_bytes`]. The message is dropped as it comes.
    HeaderTooLarge,
    /// The header tells no length: it is missing, no number, or told twice and differently.
    InvalidHeader,
    /// The input ended inside of a message.
    Truncated {
        /// How many bytes of it came, header included.
        held: usize,
    },
    /// A message took longer than [`crate::Limits::partial_frame_ms`], and was given up.
    TimedOut {
        /// How many bytes of it were dropped, header included.
        held: usize,
    },
}

impl FrameFault {
    /// How it is answered, with the id null; `None` if it is only logged.
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
