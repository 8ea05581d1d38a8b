// A payload that comes in pieces. Nothing is set aside for what a header merely announces.

import { ownBytes } from "./frame.js";

/** A smaller piece is copied: as a view of its own it would cost more than its bytes. */
const SMALL = 1_024;
const BLOCK = 16 * SMALL;

export class Pieces {
  /** What has come, in order. */
  views = [];
  /** Where small pieces go, one after the other, and how far it is used. */
  #block = undefined;
  #used = BLOCK;
  /** Whether the last view ends where the block is used up to, so that it can grow. */
  #grows = false;

  add(bytes) {
    const { length } = bytes;
    if (length === 0) return;
    if (length >= SMALL) {
      // The first may be the end of a chunk that was read anyway.
      this.views.push(this.views.length === 0 ? bytes : ownBytes(bytes));
      this.#grows = false;
      return;
    }
    if (this.#used + length > BLOCK) {
      this.#block = new Uint8Array(BLOCK);
      this.#used = 0;
      this.#grows = false;
    }
    this.#block.set(bytes, this.#used);
    const begin = this.#grows ? this.views.pop().byteOffset : this.#used;
    this.#used += length;
    this.views.push(this.#block.subarray(begin, this.#used));
    this.#grows = true;
  }

  /** All pieces and `last` in one, which is `length` bytes long. */
  joined(length, last) {
    const whole = new Uint8Array(length);
    let at = 0;
    for (const view of this.views) {
      whole.set(view, at);
      at += view.length;
    }
    whole.set(last, at);
    return whole;
  }
}
