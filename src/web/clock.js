// The one timer of a link. When it is time for what, wasm decides.

import { START_CLOCK, TICK, WAKE } from "./commands.js";
import { runLater } from "./later.js";
import { setTimer } from "./timers.js";

const LONGEST_TIMER = 2 ** 31 - 1;

export class Clock {
  #core;
  #perform;
  #timer = undefined;
  #isStopped = false;
  // This thread may have been blocked, or its process stopped: what has come meanwhile is taken before a timeout is believed.
  #onTimer = () => runLater(() => this.#isStopped || this.#read(TICK));

  /** `perform` carries out what wasm says. */
  constructor(core, perform) {
    this.#core = core;
    this.#perform = perform;
  }

  /** Calls that were made since the last reading count from now on. None ends. */
  start() {
    this.#read(START_CLOCK);
  }

  stop() {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #read(command) {
    const now = performance.now();
    this.#perform(this.#core.run(command, now));
    const wake = this.#isStopped ? -1 : this.#core.run(WAKE);
    clearTimeout(this.#timer);
    this.#timer = wake > 0 ? setTimer(this.#onTimer, Math.min(Math.max(wake - now, 1), LONGEST_TIMER)) : undefined;
  }
}
