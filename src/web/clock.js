// The time that the calls of a link are measured in, and its one timer. Tests replace `setTimeout`, and often the clock with
// it; so both are looked up whenever they are used.

const LONGEST_TIMER = 2 ** 31 - 1;

/** What the clock of this realm says, in milliseconds. Some realms have only `Date`. */
export function now() {
  return (globalThis.performance ?? Date).now();
}

/** What is wrong with a timeout in a realm that has no timers, or undefined. A negative timeout is none. */
export function timerProblem(timeout) {
  if (timeout >= 0 && globalThis.setTimeout === undefined) return new TypeError("there is no setTimeout here: set the timeout to 0");
}

export class Timer {
  #run;
  /** What has set the timer, or would. */
  #setTimeout = globalThis.setTimeout;
  /** The same, unless a test can make it forget its timers. */
  #kept = this.#setTimeout;
  #stop;
  /** How far the time here is ahead of the clock. */
  #lead = 0;
  #last = 0;

  constructor(run) {
    this.#run = run;
  }

  /** Whether the timer may be lost. */
  get isUnsure() {
    return globalThis.setTimeout !== this.#kept;
  }

  /** The time. If the clock was replaced or set back since the last reading, it goes on from that. */
  read() {
    const clock = now();
    if (globalThis.setTimeout !== this.#setTimeout || clock + this.#lead < this.#last) this.#lead = this.#last - clock;
    return (this.#last = clock + this.#lead);
  }

  /** Sets the timer to a time after the last reading; a negative one is never. */
  set(due) {
    this.stop();
    const { setTimeout, clearTimeout } = globalThis;
    this.#setTimeout = setTimeout;
    // That of @sinonjs/fake-timers, and so of Jest and Vitest.
    this.#kept = setTimeout?.clock === undefined ? setTimeout : undefined;
    if (due < 0 || setTimeout === undefined) return;
    const delay = Math.min(Math.max(Math.ceil(due - this.#last), 1), LONGEST_TIMER);
    const end = this.#last + delay;
    const timer = setTimeout(() => {
      const missing = end - now() - this.#lead;
      // Only `setTimeout` was replaced: its time counts. (Real timers may be a millisecond early, too.)
      if (missing > 2 + delay / 2) this.#lead += missing;
      this.#run();
    }, delay);
    this.#stop = () => clearTimeout(timer);
  }

  stop() {
    this.#stop?.();
  }
}
