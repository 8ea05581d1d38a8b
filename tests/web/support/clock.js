// The clock of the library.

import { afterThisTest } from "./cleanup.js";

/** Stops the clock in this test: on a busy machine a turn may be long, and then messages do not wait for each other. */
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
