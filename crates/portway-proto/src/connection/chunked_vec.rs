//! A list that grows by chunks of a fixed size, and never moves its items.
//!
//! A `Vec` that grows moves its items to new memory, and may leave half of that memory empty. The `Vec` frees the old
//! memory, but a wasm module never returns memory to the system. Chunks avoid this waste.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Number of items in one chunk.
const CHUNK_ITEMS: usize = 128;

#[derive(Debug)]
pub(super) struct ChunkedVec<T> {
    chunks: Vec<Box<[T; CHUNK_ITEMS]>>,
}

impl<T: Copy> ChunkedVec<T> {
    pub(super) const fn new() -> Self {
        Self { chunks: Vec::new() }
    }

    /// Returns the number of items in all chunks.
    pub(super) fn len(&self) -> u32 {
        (self.chunks.len() * CHUNK_ITEMS) as u32
    }

    /// Adds a chunk of copies of `item`.
    pub(super) fn grow(&mut self, item: T) {
        self.chunks.push(Box::new([item; CHUNK_ITEMS]));
    }

    pub(super) fn get(&self, index: u32) -> Option<T> {
        self.chunks.get(index as usize / CHUNK_ITEMS)?.get(index as usize % CHUNK_ITEMS).copied()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.chunks.get_mut(index as usize / CHUNK_ITEMS)?.get_mut(index as usize % CHUNK_ITEMS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_found_at_its_index() {
        let mut chunks = ChunkedVec::new();
        assert_eq!((chunks.len(), chunks.get(0)), (0, None));
        for item in 0..3_u32 {
            chunks.grow(item);
        }
        let len = chunks.len();
        assert!((0..len).all(|index| chunks.get(index) == Some(index / (len / 3))));
        assert_eq!((chunks.get(len), chunks.get(u32::MAX)), (None, None));
        if let Some(last) = chunks.get_mut(len - 1) {
            *last = 7;
        }
        assert_eq!((chunks.get(len - 2), chunks.get(len - 1)), (Some(2), Some(7)));
    }
}
