// The clock that the library reads.

import { afterThisTest } from "./cleanup.js";

/** Has it stand still in this test: on a busy machine a turn may take long, and then messages do not wait for each other. */
export function stillClock() {
  const now = performance.now();
  performance.now = () => now;
  afterThisTest(() => delete performance.now);
}
