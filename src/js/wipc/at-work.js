// The requests of the peer that are being answered, and the bytes that they came with.

import { MAX_IN_FLIGHT_BYTES } from "../../web/limit-values.js";

export class AtWork {
  /** What each request weighs that begins now, in bytes. */
  share = 0;
  #bytes = 0;
  #shares = new Map();
  #channel;
  #onEnd;

  /** `onEnd` is called after each request that ends. */
  constructor(channel, onEnd) {
    this.#channel = channel;
    this.#onEnd = onEnd;
  }

  get size() {
    return this.#shares.size;
  }

  /** A request begins; false if it may not. By itself it may be of any size. */
  add(request) {
    if (this.#bytes + this.share > MAX_IN_FLIGHT_BYTES && this.#shares.size > 0) return false;
    this.#bytes += this.share;
    this.#shares.set(request, this.share);
    return true;
  }

  /** A request is answered, or never will be. */
  delete(request) {
    const share = this.#shares.get(request);
    if (share === undefined) return;
    this.#shares.delete(request);
    this.#bytes -= share;
    this.#onEnd();
  }

  /** None of them is answered any more. */
  clear() {
    this.#shares.clear();
    this.#bytes = 0;
    this.#onEnd();
  }

  /** The items of a stream, each asked for once the peer has read enough of those before it. */
  paced(items) {
    if (items === undefined) return undefined;
    return {
      next: async () => {
        if (this.#channel.isFull) await this.#channel.room();
        return items.next();
      },
      return: (value) => items.return?.(value),
    };
  }
}
