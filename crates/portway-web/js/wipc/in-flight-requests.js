// The requests from the peer that are in flight, and the bytes of the messages that they arrived in.

import { MAX_IN_FLIGHT_BYTES } from "../driver/limit-values.js";

export class InFlightRequests {
  /** The current message: its bytes, and the number of its requests in flight. */
  #message = { bytes: 0, requests: 0 };
  /** The bytes of all messages with requests in flight. */
  #bytes = 0;
  /** The message of each request. */
  #messages = new Map();
  #channel;
  #onEnd;

  /** Calls `onEnd` after each request that ends. */
  constructor(channel, onEnd) {
    this.#channel = channel;
    this.#onEnd = onEnd;
  }

  get size() {
    return this.#messages.size;
  }

  /** Sets the current message. The requests that `add` receives next are requests of this message. */
  startMessage(bytes) {
    this.#message = { bytes, requests: 0 };
  }

  /**
   * Adds a request. Returns false if the limit does not allow the request. If no other request is in flight, a request
   * of any size is added. While one request of a batch is in flight, all bytes of the batch count, because the request
   * may refer to any of them.
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

  /** Removes a request that has ended. */
  delete(request) {
    const message = this.#messages.get(request);
    if (message === undefined) return;
    this.#messages.delete(request);
    message.requests -= 1;
    if (message.requests === 0) this.#bytes -= message.bytes;
    this.#onEnd();
  }

  /** Removes all requests. */
  clear() {
    this.#messages.clear();
    this.#message = { bytes: 0, requests: 0 };
    this.#bytes = 0;
    this.#onEnd();
  }

  /**
   * Returns an iterator of the items of a stream. The iterator waits for the next item until the peer has read enough
   * of the output.
   */
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
