// WIPC frames: "WIPC", a type, the length of the payload as a little-endian u32, and the payload.

import { STDOUT, read, write } from "./stdio";

export const OPEN: u8 = 0;
export const CLOSE: u8 = 1;
export const CALL: u8 = 2;
export const DATA: u8 = 3;

const MAGIC: u32 = 0x43504957;
const HEADER_BYTES: usize = 9;
/** The maximum length of a payload. The memory of the guest must have space for two copies of a payload. */
const MAX_PAYLOAD_BYTES: u32 = 256 << 20;
/** The minimum number of free bytes in the buffer before each read. */
const MIN_FREE_BYTES: usize = 65536;

/** A frame. Its payload is in the buffer of the reader, and is valid until the next frame is read. */
export class Frame {
  constructor(readonly type: u8, readonly payload: usize, readonly length: usize) {}
}

export class FrameReader {
  private buffer: usize = heap.alloc(MIN_FREE_BYTES);
  private capacity: usize = MIN_FREE_BYTES;
  /** The unread bytes of the buffer are from `start` to `end`. */
  private start: usize = 0;
  private end: usize = 0;

  /** Waits for the next frame. Returns null at the end of the input. */
  next(): Frame | null {
    let frame = this.nextBuffered();
    while (frame === null && this.fill()) frame = this.nextBuffered();
    return frame;
  }

  /** Returns the next complete frame in the buffer, or null. Skips bytes that do not belong to a frame. */
  private nextBuffered(): Frame | null {
    while (this.start < this.end) {
      const at = this.buffer + this.start;
      const available = this.end - this.start;
      if (!beginsFrame(at, available)) {
        this.start += 1;
        continue;
      }
      if (available < HEADER_BYTES) return null;
      const length = <usize>load<u32>(at, 5);
      if (available - HEADER_BYTES < length) return null;
      this.start += HEADER_BYTES + length;
      return new Frame(load<u8>(at, 4), at + HEADER_BYTES, length);
    }
    return null;
  }

  /** Reads more bytes. Returns false at the end of the input. */
  private fill(): bool {
    const unread = this.end - this.start;
    if (this.capacity - this.end < MIN_FREE_BYTES) {
      // The unread bytes move to the start of the buffer. The buffer grows only after bytes have arrived, because the
      // length in a header may be wrong.
      memory.copy(this.buffer, this.buffer + this.start, unread);
      this.start = 0;
      this.end = unread;
      if (this.capacity - unread < MIN_FREE_BYTES) {
        this.capacity = this.capacity * 2;
        this.buffer = heap.realloc(this.buffer, this.capacity);
      }
    }
    const length = read(this.buffer + this.end, this.capacity - this.end);
    this.end += length;
    return length > 0;
  }
}

/** Returns whether the bytes begin with a valid header, or are the beginning of a possible header. */
function beginsFrame(at: usize, available: usize): bool {
  for (let index: usize = 0; index < 4 && index < available; index++) {
    if (load<u8>(at + index) != <u8>(MAGIC >> (<u32>index << 3))) return false;
  }
  if (available > 4 && load<u8>(at, 4) > DATA) return false;
  return available < HEADER_BYTES || load<u32>(at, 5) <= MAX_PAYLOAD_BYTES;
}

/** Writes a frame. The header and the payload are written together, so that no other output is between them. */
export function writeFrame(type: u8, payload: usize, length: usize): void {
  const frame = heap.alloc(HEADER_BYTES + length);
  store<u32>(frame, MAGIC);
  store<u8>(frame, type, 4);
  store<u32>(frame, <u32>length, 5);
  memory.copy(frame + HEADER_BYTES, payload, length);
  write(STDOUT, frame, HEADER_BYTES + length);
  heap.free(frame);
}
