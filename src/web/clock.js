// The time that the calls of a link are measured in, and its one timer. Tests replace `setTimeout`, and often the clock with
// it; so both are looked up whenever they are used.

import { START_CLOCK, TICK, WAKE } from "./commands.js";
import { runLater } from "./later.js";
import { setTimer } from "./timers.js";
import { ARM } from "./words.js";

const LONGEST_TIMER = 2 ** 31 - 1;

/** What the clock of this realm says, in milliseconds. Some realms have only `Date`. */
export function now() {
  return (globalThis.performance ?? Date).now();
}

/** What is wrong with a timeout in a realm that has no timers, or undefined. A negative timeout is none. */
export function timerProblem(timeout) {
  if (timeout >= 0 && globalThis.setTimeout === undefined) return new TypeError("there is no setTimeout here: set the timeout to 0");
}

export class Clock {
  #core;
  #perform;
  #isStopped = false;
  /** What has set the timer, or would. */
  #setTimeout = globalThis.setTimeout;
  /** The same, unless a test can make it forget its timers. */
  #kept = this.#setTimeout;
  #clear;
  /** How far the time here is ahead of the clock. */
  #lead = 0;
  #last = 0;

  /** `perform` carries out what wasm decides. */
  constructor(core, perform) {
    this.#core = core;
    this.#perform = perform;
  }

  /** If a word of wasm asks for it, or the timer may be lost: calls that were made since the last reading count from now on. */
  start(word) {
    if (word & ARM || globalThis.setTimeout !== this.#kept) this.#read(START_CLOCK);
  }

  stop() {
    this.#isStopped = true;
    this.#clear?.();
  }

  #read(command) {
    const clock = now();
    // If the clock was replaced or set back since the last reading, the time goes on from that.
    if (globalThis.setTimeout !== this.#setTimeout || clock + this.#lead < this.#last) this.#lead = this.#last - clock;
    this.#last = clock + this.#lead;
    this.#perform(this.#core.run(command, this.#last));
    this.#set(this.#isStopped ? -1 : this.#core.run(WAKE));
  }

  /** Sets the timer to a time after the last reading; a negative one is never. */
  #set(due) {
    this.#clear?.();
    const { setTimeout, clearTimeout } = globalThis;
    this.#setTimeout = setTimeout;
    // That of @sinonjs/fake-timers, and so of Jest and Vitest.
    this.#kept = setTimeout?.clock === undefined ? setTimeout : undefined;
    if (due < 0 || setTimeout === undefined) return;
    const delay = Math.min(Math.max(Math.ceil(due - this.#last), 1), LONGEST_TIMER);
    const end = this.#last + delay;
    const timer = setTimer(() => {
      const missing = end - now() - this.#lead;
      // Only `setTimeout` was replaced: its time counts. (Real timers may be a millisecond early, too.)
      if (missing > 2 + delay / 2) this.#lead += missing;
      const tick = () => this.#isStopped || this.#read(TICK);
      // Late, this thread was blocked, or its process stopped: what has come meanwhile is taken before a timeout is believed.
      if (missing < -1) runLater(tick);
      else tick();
    }, delay);
    this.#clear = () => clearTimeout(timer);
  }
}
