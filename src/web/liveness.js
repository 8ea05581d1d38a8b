// Whether the other side is still there, where nobody tells: a lock that goes with it, and a heartbeat.

import { now } from "./clock.js";
import { WINDOW_CHECK_INTERVAL } from "./limit-values.js";

const lockOf = (id) => `portway:${id}`;

/** Asks for a lock. Where there are none, or not for this document, nothing happens. */
async function request(...args) {
  try {
    return await navigator.locks.request(...args);
  } catch {
    // Given up, or denied.
  }
}

/** Holds the lock of this side until the signal is aborted. */
export function holdLock(id, signal, onHeld) {
  request(lockOf(id), { signal }, () => {
    onHeld();
    return new Promise((release) => signal.addEventListener("abort", release));
  });
}

/** Waits for the lock that the other side says it holds: one that it does not seem to hold is of another origin. */
export async function watchLock(id, signal, onSeen, onReleased) {
  const seen = await request(lockOf(id), { ifAvailable: true }, (lock) => lock === null);
  if (!seen || signal.aborted) return;
  onSeen();
  if (await request(lockOf(id), { signal }, () => true)) onReleased();
}

/** One timer for what has to be looked at again and again. */
export class Pulse {
  /** For how long nothing was heard; time in which nothing could have been heard does not count. */
  quiet = 0;
  /** Whether the next look is too far away for somebody who waits. */
  slow = false;
  #rest;
  #canHurry;
  #beat;
  #timer;
  /** What is under way, until it is stopped. */
  #turn;

  /** `beat` looks, and says whether somebody waits; with undefined, that there is nothing more to look at. */
  constructor(rest, canHurry, beat) {
    this.#rest = rest;
    this.#canHurry = canHurry;
    this.#beat = beat;
  }

  /** Looks now, soon again, and then now and then. */
  start() {
    this.#run(0, true);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#turn = undefined;
    this.slow = false;
  }

  #run(passed, hurry) {
    this.stop();
    const turn = (this.#turn = {});
    this.quiet += passed;
    const isWaiting = this.#beat();
    if (isWaiting === undefined || this.#turn !== turn) return;
    const soon = this.#canHurry && (isWaiting || hurry);
    this.slow = this.#canHurry && !soon;
    const pause = soon ? Math.min(WINDOW_CHECK_INTERVAL, this.#rest) : this.#rest;
    const due = now() + pause;
    // Late, this thread was blocked, or the page hidden or halted.
    this.#timer = setTimeout(() => this.#run(now() - due < pause / 4 ? pause : 0), pause);
  }
}
