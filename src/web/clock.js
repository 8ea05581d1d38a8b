// The clock of a link, and its only timer. Tests replace `setTimeout`, and often the clock with it. So both are looked up
// at each use.

import { RESET_TIMER, START_CLOCK, TICK, WAKE } from "./wasm-abi.js";
import { setTimer } from "./timers.js";

const MAX_TIMEOUT_MS = 2 ** 31 - 1;
/** In this time (ms), messages arrive that were sent before. Browsers keep no order between a timer and a port, nor between ports. */
const ARRIVAL_GRACE_MS = 10;

/** The time of this realm, in milliseconds. Some realms have only `Date`. */
export function now() {
  return (globalThis.performance ?? Date).now();
}

/** The error for a timeout in a realm without timers, or undefined. A negative timeout is none. */
export function missingTimerError(timeout) {
  if (timeout >= 0 && globalThis.setTimeout === undefined)
    return new TypeError("there is no setTimeout here: set the timeout to 0");
}

export class Clock {
  #wasm;
  #execute;
  #isStopped = false;
  /** The function that has set the timer. */
  #setTimeout = globalThis.setTimeout;
  /** The same, unless a test can drop its timers. */
  #trustedSetTimeout = this.#setTimeout;
  #cancelTimer;
  /** The time of the link minus that of the clock. */
  #offset = 0;
  #lastReading = 0;

  /** `perform` does the operations that wasm returns. */
  constructor(wasm, execute) {
    this.#wasm = wasm;
    this.#execute = execute;
  }

  /** Reads the clock if wasm asks for it, or if the timer may be lost. The timeouts of new calls begin now. */
  start(output) {
    if (output & RESET_TIMER || globalThis.setTimeout !== this.#trustedSetTimeout) this.#readClock(START_CLOCK);
  }

  stop() {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  #readClock(command) {
    const time = now();
    // If the clock was replaced or set back, the time goes on from the last reading.
    if (globalThis.setTimeout !== this.#setTimeout || time + this.#offset < this.#lastReading)
      this.#offset = this.#lastReading - time;
    this.#lastReading = time + this.#offset;
    this.#execute(this.#wasm.run(command, this.#lastReading));
    this.#schedule(this.#isStopped ? -1 : this.#wasm.run(WAKE));
  }

  /** Sets the timer to a time after the last reading; none if negative. */
  #schedule(due) {
    this.#cancelTimer?.();
    const { setTimeout, clearTimeout } = globalThis;
    this.#setTimeout = setTimeout;
    // `clock` is a member of the timers of @sinonjs/fake-timers, which Jest and Vitest use.
    this.#trustedSetTimeout = setTimeout?.clock === undefined ? setTimeout : undefined;
    if (due < 0 || setTimeout === undefined) return;
    const delay = Math.min(Math.max(Math.ceil(due - this.#lastReading), 1), MAX_TIMEOUT_MS);
    const end = this.#lastReading + delay;
    const timer = setTimer(() => {
      const remaining = end - now() - this.#offset;
      // Only `setTimeout` was replaced: its time counts. (Real timers may also be a millisecond early.)
      if (remaining > 2 + delay / 2) this.#offset += remaining;
      const tick = () => this.#isStopped || this.#readClock(TICK);
      // If it is late, this thread was blocked, or its process stopped. Messages that have arrived meanwhile are handled first.
      if (now() + this.#offset - due <= 2) return tick();
      const retry = setTimer(tick, ARRIVAL_GRACE_MS);
      this.#cancelTimer = () => clearTimeout(retry);
    }, delay);
    this.#cancelTimer = () => clearTimeout(timer);
  }
}
