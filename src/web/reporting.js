// Reports of faults that no call can be ended with.

import { complain } from "./log-error.js";

export class Reporting {
  /** Called with each fault; without it, faults are printed. */
  onError = undefined;

  /** Reports a fault to the application. */
  report(error) {
    try {
      if (this.onError !== undefined) {
        return void this.onError(error)?.then?.(undefined, (thrown) => [thrown, error].forEach(complain));
      }
    } catch (thrown) {
      // That must not keep what came with the fault from being done.
      complain(thrown);
    }
    complain(error);
  }

  /** Runs user code that nobody waits for. */
  guard(run) {
    try {
      const result = run();
      if (typeof result?.then === "function") result.then(undefined, (error) => this.report(error));
    } catch (error) {
      this.report(error);
    }
  }
}
