//! Buffers for incomplete messages. A buffer grows as bytes are received, up to a limit. It reserves no memory for the
//! length in a header.

use alloc::vec::Vec;

/// Maximum capacity that an idle decoder retains for its next message, in bytes. It is small, since many connections
/// are idle.
const RETAINED_CAPACITY: usize = 4096;

/// Appends `bytes` to a buffer that never holds more than `max_len`. The capacity doubles, but does not exceed
/// `max_len`. So the cost per byte does not depend on how the input is cut into pieces.
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
