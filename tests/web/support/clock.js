// The clock that the library reads.

import { afterThisTest } from "./cleanup.js";

/** Stops the clock in this test. On a busy machine, a turn may be long, and then the library sends messages at once. */
export function stopClock() {
  const now = performance.now();
  const date = Date.now();
  const { now: readDate } = Date;
  performance.now = () => now;
  Date.now = () => date;
  afterThisTest(() => {
    delete performance.now;
    Date.now = readDate;
  });
}
