// The requests of the peer that are being answered, and the bytes that they came with.

import { MAX_IN_FLIGHT_BYTES } from "../../web/limit-values.js";

export class InFlightRequests {
  /** The message whose requests begin now: its bytes, and how many of its requests are at work. */
  #message = { bytes: 0, requests: 0 };
  /** The bytes of all messages with requests at work. */
  #bytes = 0;
  /** The message of each request. */
  #messages = new Map();
  #channel;
  #onEnd;

  /** `onEnd` is called after each request that ends. */
  constructor(channel, onEnd) {
    this.#channel = channel;
    this.#onEnd = onEnd;
  }

  get size() {
    return this.#messages.size;
  }

  /** The requests that begin now came with so many bytes. */
  startMessage(bytes) {
    this.#message = { bytes, requests: 0 };
  }

  /**
   * A request begins; false if it may not. By itself it may be of any size. A batch counts with all of its bytes as long as
   * one of its requests is at work: what that one keeps may be any of them.
   */
  add(request) {
    const message = this.#message;
    if (message.requests === 0) {
      if (this.#bytes + message.bytes > MAX_IN_FLIGHT_BYTES && this.#messages.size > 0) return false;
      this.#bytes += message.bytes;
    }
    message.requests += 1;
    this.#messages.set(request, message);
    return true;
  }

  /** A request is answered, or never will be. */
  delete(request) {
    const message = this.#messages.get(request);
    if (message === undefined) return;
    this.#messages.delete(request);
    message.requests -= 1;
    if (message.requests === 0) this.#bytes -= message.bytes;
    this.#onEnd();
  }

  /** None of them is answered any more. */
  clear() {
    this.#messages.clear();
    this.#message = { bytes: 0, requests: 0 };
    this.#bytes = 0;
    this.#onEnd();
  }

  /** The items of a stream, each asked for once the peer has read enough of those before it. */
  paced(items) {
    if (items === undefined) return undefined;
    return {
      next: async () => {
        if (this.#channel.isFull) await this.#channel.untilWritable();
        return items.next();
      },
      return: (value) => items.return?.(value),
    };
  }
}
