// Whether the other side is still there, where nobody tells: a lock that goes with it, and a heartbeat.

import { now } from "./clock.js";
import { WINDOW_CHECK_INTERVAL } from "./limit-values.js";
import { setTimer } from "./timers.js";

const lockOf = (id) => `portway:${id}`;

/** Asks for a lock. Where there are none, or not for this document, nothing happens. */
async function request(...args) {
  try {
    return await navigator.locks.request(...args);
  } catch {
    // Given up, or denied.
  }
}

/** Holds the lock of this side until the signal is aborted. Resolves to whether it is held. Without locks, that is false. */
export function holdLock(id, signal) {
  return new Promise((resolve) => {
    const hold = () => new Promise((release) => (resolve(true), signal.addEventListener("abort", release)));
    request(lockOf(id), { signal }, hold).then(() => resolve(false));
  });
}

/**
 * Watches the lock that the peer reports to hold. Resolves once it is known whether this side sees that lock. If the lock is
 * free at once, the peer is of another origin. But if this side `isSure` to share locks with the peer, the peer has released
 * it.
 */
export async function watchLock(id, signal, isSure, onSeen, onReleased) {
  const isSeen = await request(lockOf(id), { ifAvailable: true }, (lock) => lock === null);
  if (signal.aborted || isSeen === undefined) return;
  if (isSeen) onSeen();
  else if (!isSure) return;
  request(lockOf(id), { signal }, () => true).then((isFree) => isFree && onReleased());
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
    this.#timer = setTimer(() => this.#run(now() - due < pause / 4 ? pause : 0), pause);
  }
}
