// Frames: "WIPC", a type, the payload's length in four bytes (the lowest first), the payload.

import { STDOUT, read, write } from "./stdio";

export const OPEN: u8 = 0;
export const CLOSE: u8 = 1;
export const CALL: u8 = 2;
export const DATA: u8 = 3;

const MAGIC: u32 = 0x43504957;
const HEADER: usize = 9;
/** A longer payload is no frame of this guest's: it would not fit into its memory twice. */
const LONGEST: u32 = 256 << 20;
/** There is room for so much before each read. */
const PIECE: usize = 65536;

/** A frame that was read. Its payload is in the buffer of the reader, until the next frame is asked for. */
export class Frame {
  constructor(readonly type: u8, readonly payload: usize, readonly length: usize) {}
}

export class FrameReader {
  private buffer: usize = heap.alloc(PIECE);
  private capacity: usize = PIECE;
  private start: usize = 0;
  private end: usize = 0;

  /** The next frame, for which it sleeps; null at the end of input. */
  next(): Frame | null {
    let frame = this.take();
    while (frame === null && this.fill()) frame = this.take();
    return frame;
  }

  /** The next frame of what is there, if it is whole. What is no frame is passed over. */
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

  /** Reads what is there; false at the end of input. */
  private fill(): bool {
    const held = this.end - this.start;
    if (this.capacity - this.end < PIECE) {
      // The rest of the last read goes to the front, and the buffer grows as bytes arrive, not by what a header says.
      memory.copy(this.buffer, this.buffer + this.start, held);
      this.start = 0;
      this.end = held;
      if (this.capacity - held < PIECE) {
        this.capacity = this.capacity * 2;
        this.buffer = heap.realloc(this.buffer, this.capacity);
      }
    }
    const length = read(this.buffer + this.end, this.capacity - this.end);
    this.end += length;
    return length > 0;
  }
}

/** Whether these bytes are a header, or may become one. */
function beginsFrame(at: usize, there: usize): bool {
  for (let index: usize = 0; index < 4 && index < there; index++) {
    if (load<u8>(at + index) != <u8>(MAGIC >> (<u32>index << 3))) return false;
  }
  if (there > 4 && load<u8>(at, 4) > DATA) return false;
  return there < HEADER || load<u32>(at, 5) <= LONGEST;
}

/** Writes one frame, in one piece, so that nothing can come in between. */
export function writeFrame(type: u8, payload: usize, length: usize): void {
  const frame = heap.alloc(HEADER + length);
  store<u32>(frame, MAGIC);
  store<u8>(frame, type, 4);
  store<u32>(frame, <u32>length, 5);
  memory.copy(frame + HEADER, payload, length);
  write(STDOUT, frame, HEADER + length);
  heap.free(frame);
}
