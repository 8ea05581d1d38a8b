// The time of records. Reading the precise clock (`performance`) takes as long as describing a small message, so this
// clock is not read for every message. For a received message, the precise clock is read, because a task may have
// begun, and time may have passed. For a sent message, the precise clock is read only if the coarse clock (`Date`)
// shows a new millisecond.

/**
 * The maximum difference (ms) between the two clocks. After a larger difference, the precise clock is set to the coarse
 * clock. The precise clock stops while a device sleeps.
 */
const MAX_DIFFERENCE_MS = 50;

/** @type {{ now(): number, timeOrigin?: number }} A realm may lack `performance`. */
const performance = globalThis.performance ?? Date;
/** The time of the coarse clock (ms) at which the precise clock was 0. */
let origin = performance.timeOrigin ?? 0;
/** The last result of the coarse clock, in ms. */
let coarse = 0;
/** The last result of `recordTime`, in ms. */
let precise = 0;

/**
 * Returns the time in milliseconds since 1970-01-01 UTC. `isEvent` is true if a task may have begun since the last
 * call.
 */
export function recordTime(isEvent) {
  if (isEvent) precise = origin + performance.now();
  else {
    const time = Date.now();
    if (time !== coarse) read(time);
  }
  return precise;
}

function read(time) {
  coarse = time;
  precise = origin + performance.now();
  if (Math.abs(precise - time) <= MAX_DIFFERENCE_MS) return;
  origin += time - precise;
  precise = time;
}

/** Converts a time to the unit of records: microseconds, an integer. */
export function microseconds(time) {
  return Math.round(time * 1_000);
}
