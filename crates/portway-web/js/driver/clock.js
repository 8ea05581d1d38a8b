// The clock of a link, and the only timer of the link. Tests of applications replace `setTimeout`, and often also
// `performance` and `Date`. So this file reads these globals at each use.

import { RESET_TIMER, START_CLOCK, TICK, WAKE } from "./wasm-abi.js";
import { MAX_TIMEOUT_MS, setTimer } from "./timers.js";

/**
 * If the timer fires late, the timeouts are handled after a further delay: the lateness plus `MIN_GRACE_MS`, but at
 * most `MAX_GRACE_MS`. Browsers do not keep the order between timers and messages of ports. So a message that was sent
 * before the timer fired may arrive during this delay. In WebKit, the message passes through another process, which may
 * be busy.
 */
const MIN_GRACE_MS = 10;
/** Maximum of the further delay. */
const MAX_GRACE_MS = 250;

/** Returns the time in milliseconds. In realms without `performance`, uses `Date`. */
export function now() {
  return (globalThis.performance ?? Date).now();
}

/**
 * Returns an error if a call has a timeout and the realm has no timers. Otherwise returns undefined. A negative
 * `timeout` means no timeout.
 */
export function missingTimerError(timeout) {
  if (timeout >= 0 && globalThis.setTimeout === undefined)
    return new TypeError("there is no setTimeout here: set the timeout to 0");
}

export class Clock {
  #wasm;
  #execute;
  #isStopped = false;
  /** The function `setTimeout` that has set the timer. */
  #setTimeout = globalThis.setTimeout;
  /**
   * Equal to `#setTimeout`; undefined if that function belongs to a test tool, because a test tool can drop its timers.
   * While this field is undefined, each new call sets the timer again.
   * @type {typeof setTimeout | undefined}
   */
  #trustedSetTimeout = this.#setTimeout;
  #cancelTimer;
  /** The time of the link minus the time that `now()` returns. */
  #offset = 0;
  #lastReading = 0;

  /** `execute` executes the outputs of wasm. */
  constructor(wasm, execute) {
    this.#wasm = wasm;
    this.#execute = execute;
  }

  /**
   * Reads the clock if `output` requests a reading, or if the timer may be lost. A reading starts the timeouts of the
   * calls that were made since the previous reading.
   */
  start(output) {
    if (output & RESET_TIMER || globalThis.setTimeout !== this.#trustedSetTimeout) this.#readClock(START_CLOCK);
  }

  stop() {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  #readClock(command) {
    const time = now();
    // If the clock was replaced or set back, the time of the link continues from the last reading.
    if (globalThis.setTimeout !== this.#setTimeout || time + this.#offset < this.#lastReading)
      this.#offset = this.#lastReading - time;
    this.#lastReading = time + this.#offset;
    this.#execute(this.#wasm.run(command, this.#lastReading));
    this.#schedule(this.#isStopped ? -1 : this.#wasm.run(WAKE));
  }

  /** Sets the timer to `due`, a time of the link. If `due` is negative, sets no timer. */
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
      // If a test has replaced `setTimeout` but not the clock, the timer fires long before `end`. In that case, the
      // time of the link advances to `end`. A small difference is ignored, because a real timer may fire a millisecond
      // early.
      if (remaining > 2 + delay / 2) this.#offset += remaining;
      const tick = () => this.#isStopped || this.#readClock(TICK);
      // If the timer is late, the thread was blocked. Messages that arrived during that time are handled before the
      // timeouts.
      const late = now() + this.#offset - due;
      if (late <= 2) return tick();
      const retry = setTimer(tick, Math.min(late + MIN_GRACE_MS, MAX_GRACE_MS));
      this.#cancelTimer = () => clearTimeout(retry);
    }, delay);
    this.#cancelTimer = () => clearTimeout(timer);
  }
}
