// A message that cannot be read at all may be an answer. If only one call waits, it might wait for ever, so it ends after a
// time.

import { CALL_TIMEOUT } from "./limit-values.js";
import { setTimer } from "./timers.js";

export class UnreadableTimer {
  #pendingIds;
  #onTimeout;
  #timer = undefined;
  /** The call that the timer is for. */
  #id;

  /** `waiting` returns the ids of the pending calls, and `end` ends the only one with an error. */
  constructor(pendingIds, onTimeout) {
    this.#pendingIds = pendingIds;
    this.#onTimeout = onTimeout;
  }

  /**
   * Starts the timer if only one call waits. The call may still be answered within the default timeout: most such messages are
   * not its answer.
   */
  start(error) {
    const [id, other] = this.#pendingIds();
    if (id === undefined || other !== undefined || (id === this.#id && this.#timer !== undefined)) return;
    this.stop();
    this.#id = id;
    this.#timer = setTimer(() => {
      this.#timer = undefined;
      const pending = this.#pendingIds();
      if (pending.has(id) && pending.size === 1) this.#onTimeout(error);
    }, CALL_TIMEOUT);
    // It does not keep a process from its end.
    this.#timer.unref?.();
  }

  stop() {
    // A realm without timers has set none.
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
