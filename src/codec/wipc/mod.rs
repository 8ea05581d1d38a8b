//! WIPC: frames for WASM guests, on a pipe that carries other bytes as well.
//!
//! A frame is the word `WIPC`, one byte that tells its type, four that tell how long its payload is (little endian), and the
//! payload. Between frames there may be anything: what a guest prints is passed through.
//!
//! All that comes is found again, in order and once: in a frame, or as [`Event::Passthrough`]. A header counts only when it
//! is whole, its type is one of the four, and its length is within the limit. Otherwise its first byte is passed through, and
//! the search goes on behind that. So text such as `WIPC is a protocol` hides no frame that follows it.
//!
//! Source: the WIPC specification, version 1.0.

mod decoder;

use alloc::vec::Vec;
use core::fmt;

use super::limits::MAX_WIPC_PAYLOAD;
use crate::message::Unreadable;

pub use self::decoder::Decoder;

/// What a frame begins with.
pub const MAGIC: [u8; 4] = *b"WIPC";

/// How long a header is, in bytes.
pub const HEADER_BYTES: usize = 9;

/// The longest payload that there can be, in bytes; what 32 bits can count, or the address space of this target can hold.
pub const MAX_PAYLOAD: u32 = if usize::BITS > 32 { MAX_WIPC_PAYLOAD } else { i32::MAX as u32 };

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameType {
    /// Its sender is ready. Nobody has to answer.
    Open,
    /// Its receiver is to finish its work and to exit.
    Close,
    /// A request or its answer, in whatever form the two sides speak: here, JSON-RPC 2.0.
    Call,
    /// Bytes of the application.
    Data,
}

impl FrameType {
    /// The byte that stands for it.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Close => 1,
            Self::Call => 2,
            Self::Data => 3,
        }
    }

    /// The type that a byte stands for; `None` for those that are reserved, 4 and above.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Open),
            1 => Some(Self::Close),
            2 => Some(Self::Call),
            3 => Some(Self::Data),
            _ => None,
        }
    }

    /// Its name in the specification, such as `CALL`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Close => "CLOSE",
            Self::Call => "CALL",
            Self::Data => "DATA",
        }
    }
}

impl fmt::Display for FrameType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A frame that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What it is for.
    pub frame_type: FrameType,
    /// What it carries.
    pub payload: &'a [u8],
}

/// A find of the [`Decoder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A frame.
    Frame(Frame<'a>),
    /// Bytes that belong to no frame, as they came. Where one piece ends and the next begins means nothing.
    Passthrough(&'a [u8]),
    /// A `CALL` whose payload is longer than [`Decoder::with_max_call`] allows. The payload is dropped as it comes.
    Oversize {
        /// How long it is, in bytes, as its header says.
        length: u64,
    },
    /// With [`Decoder::with_max_call`]: a `CALL` has been dropped, since it was too long or timed out. It may have been
    /// an answer.
    Dropped {
        /// The beginning of its payload: a kibibyte, or less if less came.
        beginning: &'a [u8],
        /// Why it was dropped.
        why: Unreadable,
    },
    /// The input has ended inside of a frame. Its bytes, so many, were passed through, unless they were dropped.
    Truncated {
        /// How many bytes of it had come, header included.
        held: u64,
    },
}

/// A payload that no frame has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadTooLong {
    /// How long it is, in bytes.
    pub length: usize,
}

impl fmt::Display for PayloadTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a payload of {} bytes is too long for a frame, whose limit is {}", self.length, u32::MAX)
    }
}

impl core::error::Error for PayloadTooLong {}

/// The header of a frame, for writers that do not want to copy the payload.
///
/// # Errors
/// If `length`, in bytes, is more than 32 bits can count.
pub fn header(frame_type: FrameType, length: usize) -> Result<[u8; HEADER_BYTES], PayloadTooLong> {
    let [w, i, p, c] = MAGIC;
    let [a, b, c2, d] = u32::try_from(length).map_err(|_| PayloadTooLong { length })?.to_le_bytes();
    Ok([w, i, p, c, frame_type.code(), a, b, c2, d])
}

/// Appends a frame.
///
/// # Errors
/// If the payload is too long; then nothing is appended.
///
/// # Examples
///
/// ```
/// use portway::codec::wipc::{FrameType, encode};
///
/// let mut out = Vec::new();
/// encode(FrameType::Data, b"hi", &mut out)?;
/// assert_eq!(out, b"WIPC\x03\x02\0\0\0hi");
/// # Ok::<(), portway::codec::wipc::PayloadTooLong>(())
/// ```
pub fn encode(frame_type: FrameType, payload: &[u8], out: &mut Vec<u8>) -> Result<(), PayloadTooLong> {
    let header = header(frame_type, payload.len())?;
    out.reserve(header.len().saturating_add(payload.len()));
    out.extend_from_slice(&header);
    out.extend_from_slice(payload);
    Ok(())
}
