// The clock of a link, and its only timer. Tests replace `setTimeout`, and often the clock with it. So both are looked up
// at each use.

import { START_CLOCK, TICK, WAKE } from "./wasm-commands.js";
import { setTimer } from "./timers.js";
import { ARM } from "./wasm-output.js";

const LONGEST_TIMER = 2 ** 31 - 1;
/** In this time (ms), messages arrive that were sent before. Browsers keep no order between a timer and a port, nor between ports. */
const ARRIVAL_TIME = 10;

/** The time of this realm, in milliseconds. Some realms have only `Date`. */
export function now() {
  return (globalThis.performance ?? Date).now();
}

/** The error for a timeout in a realm without timers, or undefined. A negative timeout is none. */
export function timerProblem(timeout) {
  if (timeout >= 0 && globalThis.setTimeout === undefined)
    return new TypeError("there is no setTimeout here: set the timeout to 0");
}

export class Clock {
  #core;
  #perform;
  #isStopped = false;
  /** The function that has set the timer. */
  #setTimeout = globalThis.setTimeout;
  /** The same, unless a test can drop its timers. */
  #kept = this.#setTimeout;
  #clear;
  /** The time of the link minus that of the clock. */
  #lead = 0;
  #last = 0;

  /** `perform` does the operations that wasm returns. */
  constructor(core, perform) {
    this.#core = core;
    this.#perform = perform;
  }

  /** Reads the clock if wasm asks for it, or if the timer may be lost. The timeouts of new calls begin now. */
  start(word) {
    if (word & ARM || globalThis.setTimeout !== this.#kept) this.#read(START_CLOCK);
  }

  stop() {
    this.#isStopped = true;
    this.#clear?.();
  }

  #read(command) {
    const clock = now();
    // If the clock was replaced or set back, the time goes on from the last reading.
    if (globalThis.setTimeout !== this.#setTimeout || clock + this.#lead < this.#last) this.#lead = this.#last - clock;
    this.#last = clock + this.#lead;
    this.#perform(this.#core.run(command, this.#last));
    this.#set(this.#isStopped ? -1 : this.#core.run(WAKE));
  }

  /** Sets the timer to a time after the last reading; none if negative. */
  #set(due) {
    this.#clear?.();
    const { setTimeout, clearTimeout } = globalThis;
    this.#setTimeout = setTimeout;
    // `clock` is a member of the timers of @sinonjs/fake-timers, which Jest and Vitest use.
    this.#kept = setTimeout?.clock === undefined ? setTimeout : undefined;
    if (due < 0 || setTimeout === undefined) return;
    const delay = Math.min(Math.max(Math.ceil(due - this.#last), 1), LONGEST_TIMER);
    const end = this.#last + delay;
    const timer = setTimer(() => {
      const missing = end - now() - this.#lead;
      // Only `setTimeout` was replaced: its time counts. (Real timers may also be a millisecond early.)
      if (missing > 2 + delay / 2) this.#lead += missing;
      const tick = () => this.#isStopped || this.#read(TICK);
      // If it is late, this thread was blocked, or its process stopped. Messages that have arrived meanwhile are handled first.
      if (now() + this.#lead - due <= 2) return tick();
      const again = setTimer(tick, ARRIVAL_TIME);
      this.#clear = () => clearTimeout(again);
    }, delay);
    this.#clear = () => clearTimeout(timer);
  }
}
