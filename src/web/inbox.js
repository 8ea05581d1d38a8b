// Where a transport's messages go: to its handler, or into a queue until it has one.

import { complain } from "./complain.js";

/** More messages than this, and a handler is not coming. */
const MOST_QUEUED = 10_000;

/**
 * The receiving half of a transport. Messages that come before a handler is attached are kept, and handed over after the
 * current task, so that whoever attaches it can finish setting up first.
 */
export class Inbox {
  #handler = undefined;
  #queue = [];

  /** Takes a message that has come. While none are kept, that is the handler itself. */
  receive = (message) => this.#keep(message);

  #keep(message) {
    if (this.#queue.length === MOST_QUEUED) console.warn("portway: messages are dropped, since nobody handles them");
    if (this.#queue.length <= MOST_QUEUED) this.#queue.push(message);
  }

  /** Sets the one handler; a later one replaces it. */
  attach(handler) {
    if (typeof handler !== "function") throw new TypeError("onMessage takes a function");
    const first = this.#handler === undefined;
    this.#handler = handler;
    if (this.#queue.length === 0) this.receive = handler;
    else if (first) Promise.resolve().then(() => this.#flush());
  }

  #flush() {
    // What comes meanwhile goes to the end of the queue, and so keeps its place.
    while (this.#queue.length > 0) {
      const message = this.#queue[0];
      try {
        this.#handler(message);
      } catch (error) {
        complain(error);
      }
      this.#queue.shift();
    }
    this.receive = this.#handler;
  }
}
