// WIPC frames: "WIPC", a type, the length of the payload as a little-endian u32, and the payload.

import { STDOUT, read, write } from "./stdio";

export const OPEN: u8 = 0;
export const CLOSE: u8 = 1;
export const CALL: u8 = 2;
export const DATA: u8 = 3;

const MAGIC: u32 = 0x43504957;
const HEADER: usize = 9;
/** The longest payload. A longer one would not fit into the memory of the guest twice. */
const MAX_PAYLOAD_BYTES: u32 = 256 << 20;
/** The free bytes of the buffer before each read. */
const PIECE: usize = 65536;

/** A frame. Its payload is in the buffer of the reader, and is valid until the next frame is read. */
export class Frame {
  constructor(readonly type: u8, readonly payload: usize, readonly length: usize) {}
}

export class FrameReader {
  private buffer: usize = heap.alloc(PIECE);
  private capacity: usize = PIECE;
  private start: usize = 0;
  private end: usize = 0;

  /** Waits for the next frame; returns null at the end of input. */
  next(): Frame | null {
    let frame = this.take();
    while (frame === null && this.fill()) frame = this.take();
    return frame;
  }

  /** Returns the next frame in the buffer, if it is complete. Skips bytes that do not belong to a frame. */
  private take(): Frame | null {
    while (this.start < this.end) {
      const at = this.buffer + this.start;
      const there = this.end - this.start;
      if (!beginsFrame(at, there)) {
        this.start += 1;
        continue;
      }
      if (there < HEADER) return null;
      const length = <usize>load<u32>(at, 5);
      if (there - HEADER < length) return null;
      this.start += HEADER + length;
      return new Frame(load<u8>(at, 4), at + HEADER, length);
    }
    return null;
  }

  /** Reads further bytes; returns false at the end of input. */
  private fill(): bool {
    const unread = this.end - this.start;
    if (this.capacity - this.end < PIECE) {
      // The unread bytes move to the front. The buffer grows with the bytes that arrive, and not by the length in a
      // header.
      memory.copy(this.buffer, this.buffer + this.start, unread);
      this.start = 0;
      this.end = unread;
      if (this.capacity - unread < PIECE) {
        this.capacity = this.capacity * 2;
        this.buffer = heap.realloc(this.buffer, this.capacity);
      }
    }
    const length = read(this.buffer + this.end, this.capacity - this.end);
    this.end += length;
    return length > 0;
  }
}

/** Returns whether bytes are a header, or the beginning of one. */
function beginsFrame(at: usize, there: usize): bool {
  for (let index: usize = 0; index < 4 && index < there; index++) {
    if (load<u8>(at + index) != <u8>(MAGIC >> (<u32>index << 3))) return false;
  }
  if (there > 4 && load<u8>(at, 4) > DATA) return false;
  return there < HEADER || load<u32>(at, 5) <= MAX_PAYLOAD_BYTES;
}

/** Writes a frame with one write, so that no other output interrupts it. */
export function writeFrame(type: u8, payload: usize, length: usize): void {
  const frame = heap.alloc(HEADER + length);
  store<u32>(frame, MAGIC);
  store<u8>(frame, type, 4);
  store<u32>(frame, <u32>length, 5);
  memory.copy(frame + HEADER, payload, length);
  write(STDOUT, frame, HEADER + length);
  heap.free(frame);
}
