// A message has come of which nothing can be read, not even whether it is an answer. A call that waits then may wait for ever.

import { CALL_TIMEOUT } from "./limit-values.js";
import { setTimer } from "./timers.js";

export class Suspicion {
  #waiting;
  #end;
  #timer = undefined;

  /** `waiting` gives the ids of the calls that wait, and `end` ends the only one that does, for an error. */
  constructor(waiting, end) {
    this.#waiting = waiting;
    this.#end = end;
  }

  /**
   * If only one call waits, it may be answered for as long as calls wait by default. Most such messages are others: to end the
   * call at once would end it beside its answer.
   */
  begin(error) {
    const [id, other] = this.#timer === undefined ? this.#waiting() : [];
    if (id === undefined || other !== undefined) return;
    this.#timer = setTimer(() => {
      this.#timer = undefined;
      const waiting = this.#waiting();
      if (waiting.has(id) && waiting.size === 1) this.#end(error);
    }, CALL_TIMEOUT);
    // It keeps no process from its end.
    this.#timer.unref?.();
  }

  stop() {
    clearTimeout(this.#timer);
  }
}
