//! Buffers for incomplete messages. A buffer grows as bytes are received, up to a limit. The length in a header does
//! not reserve memory, because the peer can declare any length.

use alloc::vec::Vec;

/// Maximum capacity that an idle decoder retains for its next message, in bytes. The value is small, because many
/// connections are idle.
const RETAINED_CAPACITY: usize = 4096;

/// Appends `bytes`. The caller ensures that the length of the buffer after the append does not exceed `max_len` bytes.
/// A capacity that is too small is doubled, up to `max_len`. Doubling keeps the cost per byte constant, even if the
/// input arrives in small pieces.
pub(super) fn grow(buffer: &mut Vec<u8>, bytes: &[u8], max_len: usize) {
    let needed = buffer.len().saturating_add(bytes.len());
    if needed > buffer.capacity() {
        let capacity = buffer.capacity().saturating_mul(2).max(64).min(max_len).max(needed);
        buffer.reserve_exact(capacity - buffer.len());
    }
    buffer.extend_from_slice(bytes);
}

/// Empties a buffer. Frees its memory if the capacity exceeds [`RETAINED_CAPACITY`].
pub(super) fn release(buffer: &mut Vec<u8>) {
    if buffer.capacity() > RETAINED_CAPACITY {
        *buffer = Vec::new();
    }
    buffer.clear();
}

/// Returns the number of leading whitespace bytes, as JSON defines whitespace.
pub(super) fn leading_whitespace(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).unwrap_or(bytes.len())
}
