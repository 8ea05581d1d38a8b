// A message that cannot be read may be the answer to the only pending call. So that this call does not wait forever,
// the timer ends the call after `CALL_TIMEOUT`.

import { CALL_TIMEOUT } from "./limit-values.js";
import { setTimer } from "./timers.js";

export class UnreadableTimer {
  #pendingIds;
  #onTimeout;
  /** @type {any} */
  #timer = undefined;
  /** The id of the call that the timer ends. */
  #id;

  /** `pendingIds` returns the ids of the pending calls. `onTimeout` ends the only pending call with an error. */
  constructor(pendingIds, onTimeout) {
    this.#pendingIds = pendingIds;
    this.#onTimeout = onTimeout;
  }

  /**
   * Starts the timer if only one call is pending. The call does not end at once, because most unreadable messages are
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
    // In Node, the timer must not keep the process running.
    this.#timer.unref?.();
  }

  stop() {
    // A realm without timers has no `clearTimeout`.
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
