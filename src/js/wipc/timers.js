// Times that applications choose, in milliseconds: 0 and Infinity are for ever. And turns of the event loop.

import { now } from "../../web/clock.js";
import { queueTask } from "../../web/queue-task.js";
import { MAX_TURN_TIME } from "../../web/limit-values.js";

const LONGEST_TIMER = 2 ** 31 - 1;

export function checkTime(name, time) {
  if (!(time >= 0)) throw new RangeError(`${name} is a number of milliseconds, not ${String(time)}`);
}

/** A timer, unless it is for ever. */
export function timer(run, time) {
  if (time > 0 && time <= LONGEST_TIMER) return setTimeout(run, time);
}

/** The time that the frames of a peer take at a stretch, so that timers and other input get their turns, too. */
export class Turn {
  #end = 0;

  /** Whether it is time for the next turn. */
  isOver() {
    return now() >= this.#end;
  }

  /** Resolves in the next turn of the event loop. */
  async next() {
    await new Promise(queueTask);
    this.#end = now() + MAX_TURN_TIME;
  }
}
