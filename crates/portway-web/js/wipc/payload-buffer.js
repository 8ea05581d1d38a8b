// Collects a payload that arrives in pieces. Memory is not reserved for the length that a header announces.

import { compactBytes } from "./frame.js";

/** A smaller piece is copied into a block, because a view of its own would need more memory than the bytes. */
const MIN_VIEW_BYTES = 1_024;
const BLOCK_BYTES = 16 * MIN_VIEW_BYTES;

export class PayloadBuffer {
  /**
   * The bytes so far, in order.
   * @type {Uint8Array[]}
   */
  views = [];
  /**
   * The block that small pieces are copied into, and the number of its used bytes.
   * @type {Uint8Array}
   */
  #block;
  #used = BLOCK_BYTES;
  /** Whether the last view ends at the used end of the block, so that it can be extended. */
  #canExtendLast = false;

  add(bytes) {
    const { length } = bytes;
    if (length === 0) return;
    if (length >= MIN_VIEW_BYTES) {
      // The first piece is not copied. It may be the end of a chunk that is in memory anyway.
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
    const begin = this.#canExtendLast ? /** @type {Uint8Array} */ (this.views.pop()).byteOffset : this.#used;
    this.#used += length;
    this.views.push(this.#block.subarray(begin, this.#used));
    this.#canExtendLast = true;
  }

  /** Returns all pieces and `last` as one array of `length` bytes. */
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
