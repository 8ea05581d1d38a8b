// Prints the faults that nobody else is told of.

/** Lines a second: a peer that floods us shall not fill the console, which is slow, and keeps what it shows. */
const MOST_LINES = 10;

let second = 0;
let lines = 0;

export function complain(error) {
  const now = Math.floor(performance.now() / 1_000);
  if (now !== second) lines = 0;
  second = now;
  if (++lines <= MOST_LINES) console.error("portway:", error);
  if (lines === MOST_LINES) console.error("portway: what else there is in this second is not shown");
}
