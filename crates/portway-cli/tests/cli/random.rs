//! Random bytes for tests. The environment variable `PORTWAY_SEED` repeats a run.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A generator of random numbers: xorshift64*, by Vigna, "An experimental exploration of Marsaglia's xorshift
/// generators, scrambled" (2016).
pub(crate) struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    pub(crate) fn new() -> Self {
        let seed = std::env::var("PORTWAY_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish()).max(1);
        Self { seed, state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((self.next() >> 33) as usize) % end.max(1)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() >> 40) as u8).collect()
    }

    /// Returns a character of any length in UTF-8.
    pub(crate) fn character(&mut self) -> char {
        let ranges = [0x20..0x7f, 0..0x20, 0xa0..0x800, 0x800..0xd800, 0x1_f300..0x1_f600];
        let range = ranges.get(self.below(8).saturating_sub(3)).cloned().unwrap_or(0x20..0x7f);
        let number = range.start + self.below((range.end - range.start) as usize) as u32;
        char::from_u32(number).unwrap_or('x')
    }

    /// Splits bytes into random pieces.
    pub(crate) fn pieces(&mut self, mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let max = [3, 100, 5_000, 100_000].get(self.below(4)).copied().unwrap_or(1);
            let count = (1 + self.below(max)).min(bytes.len());
            let (piece, rest) = bytes.split_at(count);
            pieces.push(piece.to_vec());
            bytes = rest;
        }
        pieces
    }
}

impl fmt::Display for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PORTWAY_SEED={}", self.seed)
    }
}
