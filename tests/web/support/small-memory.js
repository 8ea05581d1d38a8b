// Makes a wasm module whose memory can grow only a little, so that a test can exhaust this memory.

const MEMORY_SECTION = 5;

/** Returns the module with a memory that can grow by `pages` (64 KiB each). */
export function withSmallMemory(bytes, pages) {
  const parts = [bytes.subarray(0, 8)];
  for (let at = 8; at < bytes.length; ) {
    const size = number(bytes, at + 1);
    const end = size.next + size.value;
    parts.push(bytes[at] === MEMORY_SECTION ? limited(bytes, size.next, pages) : bytes.subarray(at, end));
    at = end;
  }
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

/** Returns a copy of the memory section whose content is at `at`. Its maximum is its minimum plus `pages`. */
function limited(bytes, at, pages) {
  // The content: the number of memories (1), a flag (1 if a maximum exists), the minimum, and the maximum if it exists.
  const minimum = number(bytes, at + 2).value;
  const content = [1, 1, ...encoded(minimum), ...encoded(minimum + pages)];
  return new Uint8Array([MEMORY_SECTION, ...encoded(content.length), ...content]);
}

/** Reads a number in LEB128. Returns its value, and the index after its last byte. */
function number(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    value += (byte & 127) << shift;
    if (byte < 128) return { value, next: at };
  }
}

function encoded(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...encoded(value >>> 7)];
}
