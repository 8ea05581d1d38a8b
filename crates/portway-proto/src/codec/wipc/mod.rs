//! WIPC: frames for WASM guests (programs in wasm), on a pipe that also transports other bytes.
//!
//! A frame is the magic `WIPC`, one byte for the type, four bytes for the payload length (little endian), and the
//! payload. The bytes between frames are passthrough, for example the text output of the guest.
//!
//! By default, every byte is returned once and in order: in a frame, or as [`Event::Passthrough`]. Only a `CALL` over
//! the limit of [`Decoder::with_max_call`] is dropped. A header is valid only if the magic, the type and the length are
//! all valid. If a header is invalid, its first byte is passthrough, and scanning resumes at the second byte. So text
//! such as `WIPC is a protocol` cannot hide a frame.
//!
//! Source: the WIPC specification, version 1.0.

mod decoder;

use alloc::vec::Vec;
use core::fmt;

use super::limits::MAX_WIPC_PAYLOAD;
use crate::message::Unreadable;

pub use self::decoder::Decoder;

/// The first bytes of a frame.
pub const MAGIC: [u8; 4] = *b"WIPC";

/// Length of a header, in bytes.
pub const HEADER_BYTES: usize = 9;

/// Maximum length of a payload, in bytes: 2^32 − 1, or 2^31 − 1 on targets with an address space of 32 bits.
pub const MAX_PAYLOAD: u32 = if usize::BITS > 32 { MAX_WIPC_PAYLOAD } else { i32::MAX as u32 };

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameType {
    /// The sender is ready. No answer is required.
    Open,
    /// The receiver must finish its work and exit.
    Close,
    /// A request or a response. The transports of this library send one JSON-RPC 2.0 message in each `CALL`.
    Call,
    /// Data of the application.
    Data,
}

impl FrameType {
    /// Returns the type byte.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Close => 1,
            Self::Call => 2,
            Self::Data => 3,
        }
    }

    /// Returns the type for a type byte, or `None` for the reserved bytes from 4 on.
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

    /// Returns the name in the specification, such as `CALL`.
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

/// A decoded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The type.
    pub frame_type: FrameType,
    /// The payload.
    pub payload: &'a [u8],
}

/// An event of the [`Decoder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A frame.
    Frame(Frame<'a>),
    /// Bytes between frames, unchanged. The decoder may split these bytes into several events at any byte.
    Passthrough(&'a [u8]),
    /// A `CALL` whose payload is longer than [`Decoder::with_max_call`] allows. The payload is dropped as it arrives.
    Oversize {
        /// The payload length in the header, in bytes.
        length: u64,
    },
    /// A `CALL` was dropped, because it was too long or timed out. If the `CALL` is a response, its beginning may
    /// contain the id. This event occurs only with [`Decoder::with_max_call`].
    Dropped {
        /// The first KiB of the payload, or the received part of a shorter payload.
        beginning: &'a [u8],
        /// Why the `CALL` was dropped.
        why: Unreadable,
    },
    /// The input ended within a frame. The received bytes were dropped, or were returned as passthrough.
    Truncated {
        /// The number of bytes of the frame that were received, header included.
        received_bytes: u64,
    },
}

/// The error for a payload that exceeds the maximum of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadTooLong {
    /// The length of the payload, in bytes.
    pub length: usize,
}

impl fmt::Display for PayloadTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "payload must be at most {} bytes, got {}", u32::MAX, self.length)
    }
}

impl core::error::Error for PayloadTooLong {}

/// Returns the header of a frame. A program that writes this header and then the payload avoids the copy of the payload
/// that [`encode`] makes.
///
/// # Errors
/// If `length` exceeds [`u32::MAX`].
pub fn header(frame_type: FrameType, length: usize) -> Result<[u8; HEADER_BYTES], PayloadTooLong> {
    let [w, i, p, c] = MAGIC;
    let [len0, len1, len2, len3] = u32::try_from(length).map_err(|_| PayloadTooLong { length })?.to_le_bytes();
    Ok([w, i, p, c, frame_type.code(), len0, len1, len2, len3])
}

/// Appends a frame.
///
/// # Errors
/// If the length of the payload exceeds [`u32::MAX`] bytes. In this case, `out` is unchanged.
///
/// # Examples
///
/// ```
/// use portway_proto::codec::wipc::{FrameType, encode};
///
/// let mut out = Vec::new();
/// encode(FrameType::Data, b"hi", &mut out)?;
/// assert_eq!(out, b"WIPC\x03\x02\0\0\0hi");
/// # Ok::<(), portway_proto::codec::wipc::PayloadTooLong>(())
/// ```
pub fn encode(frame_type: FrameType, payload: &[u8], out: &mut Vec<u8>) -> Result<(), PayloadTooLong> {
    let header = header(frame_type, payload.len())?;
    out.reserve(header.len().saturating_add(payload.len()));
    out.extend_from_slice(&header);
    out.extend_from_slice(payload);
    Ok(())
}
