// Where a transport's messages go: to its handler, or into a queue until it has one.

import { complain } from "./complain.js";

/** More messages than this, and a handler is not coming. */
const MOST_QUEUED = 10_000;

/**
 * The receiving half of a transport. Messages that come before a handler is attached are kept, and handed over after the
 * current task, so that whoever attaches it can finish setting up first.
 */
export class Inbox {
  /** The handlers, each by the user of the transport that has attached it. */
  #handlers = new Map();
  #queue = [];
  #keeper = (message) => this.#keep(message);

  /** Takes a message that has come. While none are kept and there is one handler, that is the handler itself. */
  receive = this.#keeper;

  #keep(message) {
    if (this.#queue.length === MOST_QUEUED) console.warn("portway: messages are dropped, since nobody handles them");
    if (this.#queue.length <= MOST_QUEUED) this.#queue.push(message);
  }

  /** Sets the one handler of a user; a later one replaces it. */
  attach(handler, user) {
    if (typeof handler !== "function") throw new TypeError("onMessage takes a function");
    const isFirst = this.#handlers.size === 0;
    this.#handlers.set(user, handler);
    if (this.#queue.length === 0) this.#choose();
    else if (isFirst) Promise.resolve().then(() => this.#flush());
  }

  /** Removes the handler of a user. Without any, messages are kept again. */
  detach(user) {
    this.#handlers.delete(user);
    if (this.#queue.length === 0) this.#choose();
  }

  #choose() {
    const [handler] = this.#handlers.values();
    this.receive = this.#handlers.size > 1 ? (message) => this.#handOver(message) : (handler ?? this.#keeper);
  }

  #handOver(message) {
    for (const handler of [...this.#handlers.values()]) {
      try {
        handler(message);
      } catch (error) {
        complain(error);
      }
    }
  }

  #flush() {
    // What comes meanwhile goes to the end of the queue, and so keeps its place.
    while (this.#queue.length > 0 && this.#handlers.size > 0) {
      this.#handOver(this.#queue[0]);
      this.#queue.shift();
    }
    if (this.#queue.length === 0) this.#choose();
  }
}
