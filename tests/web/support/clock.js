// The clock that the library reads.

import { afterThisTest } from "./cleanup.js";

/**
 * Stops the clock until the end of this test. After a long turn, the library sends messages at once instead of
 * together. With the stopped clock, no turn is long, even on a busy machine.
 */
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
