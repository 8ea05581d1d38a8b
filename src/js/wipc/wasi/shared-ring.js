// The shared memory between a page and the worker of its guest. It knows bytes and nothing of frames or of WASI.
//
//   Int32  [0]  STDIN: how many bytes are in the ring, and two flags
//   Int32  [1]  OUTPUT: what the guest has written and the page has not taken yet
//   bytes  [8…] the ring: the page fills it and never blocks, the worker empties it and sleeps while it is empty
//
// The state of stdin is one word, so that nothing can change between a look at it and the sleep.

import { MAX_UNREAD_OUTPUT } from "../../../web/limit-values.js";

const STDIN = 0;
const OUTPUT = 1;
const HEADER_BYTES = 2 * Int32Array.BYTES_PER_ELEMENT;

/** Flag of STDIN: nothing more will come. */
const ENDED_FLAG = 1 << 30;
/** Flag of STDIN: the page has more, and waits to be told of room. */
const WAITING_FLAG = 1 << 29;
const COUNT_MASK = WAITING_FLAG - 1;

/** What a piece of output counts for: its bytes, and the message that carries them. */
const cost = (bytes) => bytes.length + 256;

export function createSharedMemory(capacity) {
  return new SharedArrayBuffer(HEADER_BYTES + capacity);
}

/** The page's side. */
export class HostRing {
  #words;
  #ring;
  #next = 0;

  constructor(memory) {
    this.#words = new Int32Array(memory, 0, HEADER_BYTES / Int32Array.BYTES_PER_ELEMENT);
    this.#ring = new Uint8Array(memory, HEADER_BYTES);
  }

  /** Puts as many of the bytes into the ring as there is room for. If it gives 0, the worker will tell of room. */
  write(bytes) {
    for (;;) {
      const state = Atomics.load(this.#words, STDIN);
      const length = Math.min(bytes.length, this.#ring.length - (state & COUNT_MASK));
      if (length > 0) return this.#copy(bytes.subarray(0, length));
      // Fails if the worker has just made room.
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

  /** After what is in the ring, the guest reads the end. */
  end() {
    Atomics.or(this.#words, STDIN, ENDED_FLAG);
    Atomics.notify(this.#words, STDIN);
  }

  /** This piece of output is taken. */
  acknowledge(bytes) {
    Atomics.sub(this.#words, OUTPUT, cost(bytes));
    Atomics.notify(this.#words, OUTPUT);
  }
}

/** The worker's side, which sleeps. */
export class GuestRing {
  #words;
  #ring;
  #next = 0;
  #onRoom;

  /** `onRoom` is called when the page waits for room, and half of the ring is free. */
  constructor(memory, onRoom) {
    this.#words = new Int32Array(memory, 0, HEADER_BYTES / Int32Array.BYTES_PER_ELEMENT);
    this.#ring = new Uint8Array(memory, HEADER_BYTES);
    this.#onRoom = onRoom;
  }

  /** Takes what is there, `maxLength` bytes at most, and sleeps before that if nothing is. Nothing at the end. */
  read(maxLength) {
    let state;
    while (((state = Atomics.load(this.#words, STDIN)) & COUNT_MASK) === 0) {
      if (state & ENDED_FLAG) return new Uint8Array();
      Atomics.wait(this.#words, STDIN, state);
    }
    return this.readNow(maxLength);
  }

  /** The same without sleep. */
  readNow(maxLength) {
    const length = Math.min(maxLength, Atomics.load(this.#words, STDIN) & COUNT_MASK);
    const bytes = new Uint8Array(length);
    const first = this.#ring.subarray(this.#next, this.#next + length);
    bytes.set(first);
    bytes.set(this.#ring.subarray(0, length - first.length), first.length);
    this.#next = (this.#next + length) % this.#ring.length;
    const before = Atomics.sub(this.#words, STDIN, length);
    const left = (before & COUNT_MASK) - length;
    // Not for every byte, for a guest that reads single ones.
    if (before & WAITING_FLAG && left <= this.#ring.length / 2) {
      Atomics.and(this.#words, STDIN, ~WAITING_FLAG);
      this.#onRoom();
    }
    return bytes;
  }

  /** Counts a piece of output before it is posted, and sleeps as long as the page has too much of it. */
  reserve(bytes) {
    let waiting;
    while ((waiting = Atomics.load(this.#words, OUTPUT)) >= MAX_UNREAD_OUTPUT)
      Atomics.wait(this.#words, OUTPUT, waiting);
    Atomics.add(this.#words, OUTPUT, cost(bytes));
  }
}
