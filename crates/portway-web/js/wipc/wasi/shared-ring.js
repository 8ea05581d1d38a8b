// The memory that a page shares with the worker of its guest. It carries bytes, and is independent of frames and of
// WASI. The memory contains, in this order:
//
//   4 bytes         STDIN, an Int32: the number of bytes in the ring, and two flags
//   4 bytes         OUTPUT, an Int32: the size, in bytes, of the guest's output that the page has not acknowledged
//   all other bytes the ring: the page writes without blocking; the worker reads, and blocks while the ring is empty
//
// The number and the flags of STDIN are one Int32. `Atomics.wait` returns at once if this value has changed since the
// worker read it. So the worker does not miss a write or the end of the input.

import { MAX_UNREAD_OUTPUT } from "../../driver/limit-values.js";

const STDIN = 0;
const OUTPUT = 1;
const HEADER_BYTES = 2 * Int32Array.BYTES_PER_ELEMENT;

/** Flag of STDIN: the input has ended. */
const ENDED_FLAG = 1 << 30;
/** Flag of STDIN: the page has more bytes, and waits for room. */
const WAITING_FLAG = 1 << 29;
const COUNT_MASK = WAITING_FLAG - 1;

/** Returns the cost of a piece of output: its size in bytes, plus 256 bytes for the message that carries it. */
const cost = (bytes) => bytes.length + 256;

export function createSharedMemory(capacity) {
  return new SharedArrayBuffer(HEADER_BYTES + capacity);
}

/** The page's side of the shared memory. It never blocks. */
export class HostRing {
  /** @type {Int32Array} */
  #words;
  /** @type {Uint8Array} */
  #ring;
  #next = 0;

  constructor(memory) {
    this.#words = new Int32Array(memory, 0, HEADER_BYTES / Int32Array.BYTES_PER_ELEMENT);
    this.#ring = new Uint8Array(memory, HEADER_BYTES);
  }

  /**
   * Writes as many bytes as fit. Returns the number of written bytes. If the number is 0, the worker calls `onRoom`
   * once there is room.
   */
  write(bytes) {
    for (;;) {
      const state = Atomics.load(this.#words, STDIN);
      const length = Math.min(bytes.length, this.#ring.length - (state & COUNT_MASK));
      if (length > 0) return this.#copy(bytes.subarray(0, length));
      // The exchange fails if the worker has read in the meantime. In this case, the ring has room, and the loop
      // continues.
      if (Atomics.compareExchange(this.#words, STDIN, state, state | WAITING_FLAG) === state) return 0;
    }
  }

  #copy(bytes) {
    const first = bytes.subarray(0, this.#ring.length - this.#next);
    this.#ring.set(first, this.#next);
    this.#ring.set(bytes.subarray(first.length), 0);
    this.#next = (this.#next + bytes.length) % this.#ring.length;
    Atomics.add(this.#words, STDIN, bytes.length);
    Atomics.notify(this.#words, STDIN);
    return bytes.length;
  }

  /** Marks the end of the input, after the bytes in the ring. */
  end() {
    Atomics.or(this.#words, STDIN, ENDED_FLAG);
    Atomics.notify(this.#words, STDIN);
  }

  /** Acknowledges a piece of output, so that the worker may reserve room for more. */
  acknowledge(bytes) {
    Atomics.sub(this.#words, OUTPUT, cost(bytes));
    Atomics.notify(this.#words, OUTPUT);
  }
}

/** The worker's side of the shared memory. It blocks the worker while it waits. */
export class GuestRing {
  /** @type {Int32Array} */
  #words;
  /** @type {Uint8Array} */
  #ring;
  #next = 0;
  #onRoom;

  /** Calls `onRoom` once at least half of the ring is free, if the page waits for room. */
  constructor(memory, onRoom) {
    this.#words = new Int32Array(memory, 0, HEADER_BYTES / Int32Array.BYTES_PER_ELEMENT);
    this.#ring = new Uint8Array(memory, HEADER_BYTES);
    this.#onRoom = onRoom;
  }

  /** Blocks until there are bytes, and returns up to `maxLength` bytes. Returns no bytes at the end of the input. */
  read(maxLength) {
    let state;
    while (((state = Atomics.load(this.#words, STDIN)) & COUNT_MASK) === 0) {
      if (state & ENDED_FLAG) return new Uint8Array();
      Atomics.wait(this.#words, STDIN, state);
    }
    return this.readNow(maxLength);
  }

  /** Returns up to `maxLength` bytes without blocking. */
  readNow(maxLength) {
    const length = Math.min(maxLength, Atomics.load(this.#words, STDIN) & COUNT_MASK);
    const bytes = new Uint8Array(length);
    const first = this.#ring.subarray(this.#next, this.#next + length);
    bytes.set(first);
    bytes.set(this.#ring.subarray(0, length - first.length), first.length);
    this.#next = (this.#next + length) % this.#ring.length;
    const previousState = Atomics.sub(this.#words, STDIN, length);
    const remaining = (previousState & COUNT_MASK) - length;
    // A guest may read single bytes. So `onRoom`, which posts a message, is not called for each of them.
    if (previousState & WAITING_FLAG && remaining <= this.#ring.length / 2) {
      Atomics.and(this.#words, STDIN, ~WAITING_FLAG);
      this.#onRoom();
    }
    return bytes;
  }

  /** Reserves room for a piece of output before it is posted. Blocks while too much output is not acknowledged. */
  reserve(bytes) {
    let unacknowledged;
    while ((unacknowledged = Atomics.load(this.#words, OUTPUT)) >= MAX_UNREAD_OUTPUT)
      Atomics.wait(this.#words, OUTPUT, unacknowledged);
    Atomics.add(this.#words, OUTPUT, cost(bytes));
  }
}
