// Reports of faults that no call can be ended with.

import { logError } from "./log-error.js";

export class ErrorReporter {
  /** Called with each fault; without it, faults are printed. */
  onError = undefined;

  /** Reports a fault to the application. */
  report(error) {
    try {
      if (this.onError !== undefined) {
        return void this.onError(error)?.then?.(undefined, (thrown) => [thrown, error].forEach(logError));
      }
    } catch (thrown) {
      // That must not keep what came with the fault from being done.
      logError(thrown);
    }
    logError(error);
  }

  /** Runs user code that nobody waits for. */
  runUserCode(run) {
    try {
      const result = run();
      if (typeof result?.then === "function") result.then(undefined, (error) => this.report(error));
    } catch (error) {
      this.report(error);
    }
  }
}
