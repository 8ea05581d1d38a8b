// The timer of a session or of a window transport. It measures the silence of the peer, and polls whether a window is
// closed.

import { now } from "../driver/clock.js";
import { MIN_HEARTBEAT, WINDOW_CHECK_INTERVAL } from "../driver/limit-values.js";
import { MAX_TIMEOUT_MS, setTimer } from "../driver/timers.js";

/** Returns the option `heartbeat` as a delay of a timer, in milliseconds. 0 disables the heartbeat. */
export const heartbeatMs = (option) => (option > 0 && option <= MAX_TIMEOUT_MS ? Math.max(option, MIN_HEARTBEAT) : 0);

export class Heartbeat {
  /** The time in ms without a message. Time in which this thread was blocked or suspended does not count. */
  silentMs = 0;
  /**
   * True if the frequent checks of the window are paused, because no call is pending. In this state, a transport that
   * sends a message must call `start`.
   */
  isIdle;
  #interval;
  #pollsWindow;
  #check;
  #timer;
  /** Identifies the current run. If a check stops or restarts the timer, the run that called the check ends. */
  #run;

  /**
   * `check` is called every `interval` ms, and more often for a window while calls are pending. If `interval` is
   * `Infinity`, only the checks for a window remain. `check` returns whether calls are pending, or undefined to stop.
   */
  constructor(interval, pollsWindow, check) {
    this.#interval = interval;
    this.#pollsWindow = pollsWindow;
    this.#check = check;
    this.isIdle = interval === Infinity;
  }

  /** Checks now, and then at the interval. For a window, a second check follows soon. */
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
    // If the timer is late, this thread was blocked, or the page was hidden or suspended. The time before a late timer
    // does not count as silence.
    this.#timer = setTimer(() => this.#next(now() - due < pause / 4 ? pause : 0), pause);
  }
}
