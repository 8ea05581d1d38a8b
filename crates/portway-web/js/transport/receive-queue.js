// Passes the messages of a transport to its handlers, and queues them until there is a handler.

import { logError } from "../driver/log-error.js";
import { MAX_UNHANDLED_MESSAGES } from "../driver/limit-values.js";

/**
 * The receiving half of a transport. Messages that arrive before a handler is set are queued, and delivered in a
 * microtask, so that the caller of `setHandler` can finish setting up.
 */
export class ReceiveQueue {
  /** The handler of each user of the transport. */
  #handlers = new Map();
  #queue = [];
  #enqueueMessage = (message) => this.#enqueue(message);
  #hasDropped = false;
  #metadata;

  /**
   * Without an argument, `metadata` returns a value that is queued with a message. Before the message is delivered,
   * `metadata` is called with this value.
   */
  constructor(metadata) {
    this.#metadata = metadata;
  }

  /** Receives a message. While the queue is empty and there is only one handler, `receive` is the handler itself. */
  receive = this.#enqueueMessage;

  #enqueue(message) {
    if (this.#queue.length < MAX_UNHANDLED_MESSAGES) return void this.#queue.push([message, this.#metadata?.()]);
    if (!this.#hasDropped) console.warn("portway: messages without a handler are dropped");
    this.#hasDropped = true;
  }

  /** Sets the handler of a user. A later handler of the same user replaces it. */
  setHandler(handler, user) {
    if (typeof handler !== "function") throw new TypeError(`handler must be a function, got ${typeof handler}`);
    const isFirst = this.#handlers.size === 0;
    this.#handlers.set(user, handler);
    if (this.#queue.length === 0) this.#selectReceiver();
    else if (isFirst) Promise.resolve().then(() => this.#flush());
  }

  /** Removes the handler of a user. Without handlers, messages are queued again. */
  removeHandler(user) {
    this.#handlers.delete(user);
    if (this.#queue.length === 0) this.#selectReceiver();
  }

  #selectReceiver() {
    const [handler] = this.#handlers.values();
    this.receive = this.#handlers.size > 1 ? (message) => this.#deliver(message) : (handler ?? this.#enqueueMessage);
  }

  #deliver(message) {
    for (const handler of [...this.#handlers.values()]) {
      try {
        handler(message);
      } catch (error) {
        logError(error);
      }
    }
  }

  #flush() {
    // Messages that arrive meanwhile are appended to the queue, so that the order is kept.
    while (this.#queue.length > 0 && this.#handlers.size > 0) {
      const [message, metadata] = this.#queue[0];
      this.#metadata?.(metadata);
      this.#deliver(message);
      this.#queue.shift();
    }
    if (this.#queue.length === 0) this.#selectReceiver();
  }
}
