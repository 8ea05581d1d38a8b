// Where a transport's messages go: to its handler, or into a queue until it has one.

import { logError } from "./log-error.js";
import { MAX_UNHANDLED_MESSAGES } from "./limit-values.js";

/**
 * The receiving half of a transport. Messages that come before a handler is attached are kept, and handed over after the
 * current task, so that whoever attaches it can finish setting up first.
 */
export class ReceiveQueue {
  /** The handlers, each by the user of the transport that has attached it. */
  #handlers = new Map();
  #queue = [];
  #enqueueMessage = (message) => this.#enqueue(message);
  #hasDropped = false;
  #metadata;

  /** `note`, if there is one, returns what is kept with a message, and is called with that before the message is handed over. */
  constructor(metadata) {
    this.#metadata = metadata;
  }

  /** Takes a message that has come. While none are kept and there is one handler, that is the handler itself. */
  receive = this.#enqueueMessage;

  #enqueue(message) {
    if (this.#queue.length < MAX_UNHANDLED_MESSAGES) return void this.#queue.push([message, this.#metadata?.()]);
    if (!this.#hasDropped) console.warn("portway: messages are dropped, since nobody handles them");
    this.#hasDropped = true;
  }

  /** Sets the one handler of a user; a later one replaces it. */
  setHandler(handler, user) {
    if (typeof handler !== "function") throw new TypeError("onMessage takes a function");
    const isFirst = this.#handlers.size === 0;
    this.#handlers.set(user, handler);
    if (this.#queue.length === 0) this.#selectReceiver();
    else if (isFirst) Promise.resolve().then(() => this.#flush());
  }

  /** Removes the handler of a user. Without any, messages are kept again. */
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
    // What comes meanwhile goes to the end of the queue, and so keeps its place.
    while (this.#queue.length > 0 && this.#handlers.size > 0) {
      const [message, kept] = this.#queue[0];
      this.#metadata?.(kept);
      this.#deliver(message);
      this.#queue.shift();
    }
    if (this.#queue.length === 0) this.#selectReceiver();
  }
}
