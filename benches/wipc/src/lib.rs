//! What is measured of WIPC: a stream of frames is decoded, and for comparison it is copied.

use std::hint::black_box;

use portway::codec::wipc::{Decoder, Event, FrameType, encode};

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod exports;

/// How much is given to a decoder at once: what a read of a pipe gives.
const CHUNK: usize = 64 * 1024;

/// A stream of frames that all have as much payload.
#[derive(Debug)]
pub struct Stream {
    bytes: Vec<u8>,
    payload: usize,
    frames: usize,
    /// Where payloads are copied to.
    place: Vec<u8>,
}

impl Stream {
    /// About so many bytes of frames with payloads of this length.
    #[must_use]
    pub fn new(payload: usize, total: usize) -> Self {
        let frames = total / payload;
        let content: Vec<u8> = (0..payload).map(|index| (index * 31) as u8).collect();
        let mut bytes = Vec::new();
        for _ in 0..frames {
            encode(FrameType::Data, &content, &mut bytes).unwrap_or_default();
        }
        Self { bytes, payload, frames, place: vec![0; payload.max(CHUNK)] }
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Finds all frames, each with its payload in one piece. Tells whether they were all there.
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

    /// Copies the stream, piece by piece, to where a payload has room: what a decoder does at least if its input comes in
    /// pieces that are shorter than a payload.
    pub fn copy(&mut self) {
        let mut at = 0;
        for chunk in self.bytes.chunks(CHUNK) {
            if at + chunk.len() > self.place.len() {
                at = 0;
            }
            self.place[at..at + chunk.len()].copy_from_slice(chunk);
            at += chunk.len();
            black_box(&self.place);
        }
    }
}
