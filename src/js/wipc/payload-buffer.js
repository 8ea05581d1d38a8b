// A payload that comes in pieces. Nothing is set aside for what a header merely announces.

import { compactBytes } from "./frame.js";

/** A smaller piece is copied: as a view of its own it would cost more than its bytes. */
const MIN_VIEW_BYTES = 1_024;
const BLOCK_BYTES = 16 * MIN_VIEW_BYTES;

export class PayloadBuffer {
  /** What has come, in order. */
  views = [];
  /** Where small pieces go, one after the other, and how far it is used. */
  #block = undefined;
  #used = BLOCK_BYTES;
  /** Whether the last view ends where the block is used up to, so that it can grow. */
  #canExtendLast = false;

  add(bytes) {
    const { length } = bytes;
    if (length === 0) return;
    if (length >= MIN_VIEW_BYTES) {
      // The first may be the end of a chunk that was read anyway.
      this.views.push(this.views.length === 0 ? bytes : compactBytes(bytes));
      this.#canExtendLast = false;
      return;
    }
    if (this.#used + length > BLOCK_BYTES) {
      this.#block = new Uint8Array(BLOCK_BYTES);
      this.#used = 0;
      this.#canExtendLast = false;
    }
    this.#block.set(bytes, this.#used);
    const begin = this.#canExtendLast ? this.views.pop().byteOffset : this.#used;
    this.#used += length;
    this.views.push(this.#block.subarray(begin, this.#used));
    this.#canExtendLast = true;
  }

  /** All pieces and `last` in one, which is `length` bytes long. */
  concat(length, last) {
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
