// Stops the clock that the library reads, for tests that must not depend on the speed of the machine.

import { afterThisTest } from "./cleanup.js";

/**
 * Stops the clock until the end of this test. If a turn of the event loop is long, the library sends messages at once
 * instead of together. While the clock is stopped, no turn is long, even on a busy machine.
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
