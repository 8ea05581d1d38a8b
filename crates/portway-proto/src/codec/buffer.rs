//! Buffers for incomplete messages. A buffer never grows beyond the received bytes, nor beyond the limit.

use alloc::vec::Vec;

/// Capacity that an idle decoder retains for its next message, in bytes. Many connections are idle.
const RETAINED_CAPACITY: usize = 4096;

/// Appends `bytes` to a buffer that never holds more than `max_len`. The capacity doubles, so that the cost of a byte
/// does not depend on the cuts of the input. It does not grow beyond `max_len`.
pub(super) fn grow(buffer: &mut Vec<u8>, bytes: &[u8], max_len: usize) {
    let needed = buffer.len().saturating_add(bytes.len());
    if needed > buffer.capacity() {
        let capacity = buffer.capacity().saturating_mul(2).max(64).min(max_len).max(needed);
        buffer.reserve_exact(capacity - buffer.len());
    }
    buffer.extend_from_slice(bytes);
}

/// Empties a buffer. Frees its memory if it exceeds [`RETAINED_CAPACITY`].
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
