//! The work that the benchmark of WIPC measures: to decode a stream of frames, and to copy the stream for comparison.

use std::hint::black_box;

use portway::codec::wipc::{Decoder, Event, FrameType, encode};

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod exports;

/// The number of bytes that a decoder receives at once. A read from a pipe returns up to this number of bytes.
const CHUNK: usize = 64 * 1024;

/// A stream of frames with payloads of one length.
#[derive(Debug)]
pub struct Stream {
    bytes: Vec<u8>,
    payload: usize,
    frames: usize,
    /// The destination of copies.
    destination: Vec<u8>,
}

impl Stream {
    /// Creates a stream of frames with payloads of `payload` bytes. All payloads together have about `total` bytes.
    #[must_use]
    pub fn new(payload: usize, total: usize) -> Self {
        let frames = total / payload;
        let content: Vec<u8> = (0..payload).map(|index| (index * 31) as u8).collect();
        let mut bytes = Vec::new();
        for _ in 0..frames {
            encode(FrameType::Data, &content, &mut bytes).unwrap_or_default();
        }
        Self { bytes, payload, frames, destination: vec![0; payload.max(CHUNK)] }
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the stream has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Decodes all frames. The decoder returns each payload as one slice. Returns whether all frames were found.
    #[must_use]
    pub fn decode(&self) -> bool {
        let mut decoder = Decoder::new();
        let mut found = 0;
        for mut input in self.bytes.chunks(CHUNK) {
            while let Some(event) = decoder.next(&mut input) {
                let Event::Frame(frame) = event else { return false };
                if black_box(frame.payload).len() != self.payload {
                    return false;
                }
                found += 1;
            }
        }
        found == self.frames
    }

    /// Copies the stream to a payload buffer, chunk by chunk. A decoder must do at least this work if payloads are
    /// longer than the chunks.
    pub fn copy(&mut self) {
        let mut at = 0;
        for chunk in self.bytes.chunks(CHUNK) {
            if at + chunk.len() > self.destination.len() {
                at = 0;
            }
            self.destination[at..at + chunk.len()].copy_from_slice(chunk);
            at += chunk.len();
            black_box(&self.destination);
        }
    }
}
