//! The read buffer that all links on a thread share, so that an idle link needs no read buffer.

use std::cell::Cell;
use std::thread_local;

/// Maximum bytes of one read.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Calls `work` with the buffer. The content of the buffer is arbitrary, and its length is [`CHUNK_BYTES`]. If `work`
/// calls this function again, the inner call gets another buffer.
pub(super) fn with_scratch<T>(work: impl FnOnce(&mut [u8]) -> T) -> T {
    let mut scratch = SCRATCH.take();
    scratch.resize(CHUNK_BYTES, 0);
    let result = work(&mut scratch);
    SCRATCH.set(scratch);
    result
}
