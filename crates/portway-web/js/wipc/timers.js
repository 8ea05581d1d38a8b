// Timeouts of applications, in milliseconds (0 and Infinity = no timeout), and turns of the event loop.

import { now } from "../driver/clock.js";
import { queueTask } from "../driver/queue-task.js";
import { MAX_TURN_TIME } from "../driver/limit-values.js";
import { MAX_TIMEOUT_MS, timeoutProblem } from "../driver/timers.js";

/** @typedef {ReturnType<typeof setTimeout> | undefined} Timer */

/** Throws if a timeout is not a non-negative number of milliseconds. `name` is the name of the option. */
export function checkTimeout(name, timeout) {
  const problem = timeoutProblem(timeout, name);
  if (problem !== undefined) throw problem;
}

/** Starts a timer, unless the timeout is 0 or longer than a timer can run. */
export function startTimer(run, timeout) {
  if (timeout > 0 && timeout <= MAX_TIMEOUT_MS) return setTimeout(run, timeout);
}

/**
 * Limits the time for which frames from a peer are processed without a pause, so that timers and other input are
 * handled during the pauses.
 */
export class Turn {
  #end = 0;

  /** Returns whether the time of this turn is over. */
  isOver() {
    return now() >= this.#end;
  }

  /** Resolves in the next turn of the event loop. */
  async next() {
    await new Promise(queueTask);
    this.#end = now() + MAX_TURN_TIME;
  }
}
