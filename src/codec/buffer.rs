//! What a decoder keeps of a message that is not complete: never more than has come, nor more than the limit.

use alloc::vec::Vec;

/// The max_len that an idle decoder keeps for its next message, in bytes. Many connections are idle.
const RETAINED_CAPACITY: usize = 4096;

/// Appends `bytes` to a buffer that will not hold more than `max_len`. It grows to twice its size at a time, so that a byte
/// costs the same however the input is cut, but not beyond `max_len`.
pub(super) fn grow(buffer: &mut Vec<u8>, bytes: &[u8], max_len: usize) {
    let needed = buffer.len().saturating_add(bytes.len());
    if needed > buffer.capacity() {
        let capacity = buffer.capacity().saturating_mul(2).max(64).min(max_len).max(needed);
        buffer.reserve_exact(capacity - buffer.len());
    }
    buffer.extend_from_slice(bytes);
}

/// Empties a buffer, and gives back its memory if it is much.
pub(super) fn release(buffer: &mut Vec<u8>) {
    if buffer.capacity() > RETAINED_CAPACITY {
        *buffer = Vec::new();
    }
    buffer.clear();
}

/// How many bytes of white space `bytes` begin with: the four of JSON.
pub(super) fn leading_whitespace(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).unwrap_or(bytes.len())
}
