// The timer of a session or of a window transport: it measures the silence of the peer, and polls a window for its end.

import { now } from "./clock.js";
import { MIN_HEARTBEAT, WINDOW_CHECK_INTERVAL } from "./limit-values.js";
import { MAX_TIMEOUT_MS, setTimer } from "./timers.js";

/** Returns the option `heartbeat` as a number that a timer takes: 0 for none. */
export const heartbeatMs = (option) => (option > 0 && option <= MAX_TIMEOUT_MS ? Math.max(option, MIN_HEARTBEAT) : 0);

export class Heartbeat {
  /** The time in ms without a message. Time in which this thread could not receive any does not count. */
  silentMs = 0;
  /** Whether the next check is too late for a pending call. */
  isIdle;
  #interval;
  #pollsWindow;
  #check;
  #timer;
  /** Identifies the current run, so that a check which stops or restarts the timer ends the run that called it. */
  #run;

  /**
   * `check` is called every `interval` ms, and more often for a window while calls are pending. With `Infinity`, it is
   * called for a window only. `check` returns whether any call is pending, or undefined to stop.
   */
  constructor(interval, pollsWindow, check) {
    this.#interval = interval;
    this.#pollsWindow = pollsWindow;
    this.#check = check;
    this.isIdle = interval === Infinity;
  }

  /** Checks now, a second time soon, and then at the interval. */
  start() {
    this.#next(0, true);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#run = undefined;
    this.isIdle = false;
  }

  #next(passed, isFirst) {
    this.stop();
    const run = (this.#run = {});
    this.silentMs += passed;
    const isPending = this.#check();
    if (isPending === undefined || this.#run !== run) return;
    const isSoon = this.#pollsWindow && (isPending || isFirst);
    this.isIdle = this.#pollsWindow && !isSoon;
    const pause = isSoon ? Math.min(WINDOW_CHECK_INTERVAL, this.#interval) : this.#interval;
    if (pause === Infinity) return;
    const due = now() + pause;
    // A late timer means that this thread was blocked, or that the page was hidden or suspended.
    this.#timer = setTimer(() => this.#next(now() - due < pause / 4 ? pause : 0), pause);
  }
}
