// The messages that the application sends while there is no session. They wait for the next session, in order.

import { callError } from "../driver/errors.js";
import { MAX_SESSION_QUEUE } from "../driver/limit-values.js";
import { CANCEL } from "../driver/profile.js";

export class SessionQueue {
  #entries = [];

  /**
   * Adds a structured clone of a message. Throws if the message cannot be cloned, or if the queue is full.
   * `pendingIds` returns the ids of the pending calls. If the queue is full, calls that have ended are removed first.
   */
  push(message, transfer, pendingIds) {
    // The peer of the next session has not received the cancelled call, so the cancellation is dropped.
    if (message.method === CANCEL) return;
    if (this.#entries.length >= MAX_SESSION_QUEUE) this.#dropEndedCalls(pendingIds());
    if (this.#entries.length >= MAX_SESSION_QUEUE)
      throw callError("too-many-calls", "too many calls wait for a session");
    this.#entries.push(structuredClone([message, transfer], { transfer: transfer ?? [] }));
  }

  /** Removes all messages. Calls `send` for each of them, except for calls that have ended. */
  flush(pendingIds, send) {
    this.#dropEndedCalls(pendingIds());
    for (const entry of this.#entries.splice(0)) send(...entry);
  }

  #dropEndedCalls(ids) {
    const isPending = ({ id }) => id === undefined || ids.has(id);
    this.#entries = this.#entries
      .map(([message, transfer]) => [Array.isArray(message) ? message.filter(isPending) : message, transfer])
      .filter(([message]) => (Array.isArray(message) ? message.length > 0 : isPending(message)));
  }
}
