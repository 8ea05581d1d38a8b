// Times that applications choose, in milliseconds: 0 and Infinity are for ever.

const LONGEST_TIMER = 2 ** 31 - 1;

export function checkTime(name, time) {
  if (!(time >= 0)) throw new RangeError(`${name} is a number of milliseconds, not ${String(time)}`);
}

/** A timer, unless it is for ever. */
export function timer(run, time) {
  if (time > 0 && time <= LONGEST_TIMER) return setTimeout(run, time);
}
