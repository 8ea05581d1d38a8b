// Reports errors that do not end a call.

import { logError } from "./log-error.js";

export class ErrorReporter {
  /**
   * Called with each error. If undefined, errors are logged.
   * @type {((error: any) => any) | undefined}
   */
  onError = undefined;

  /** Reports an error to the application. */
  report(error) {
    try {
      if (this.onError !== undefined) {
        return void this.onError(error)?.then?.(undefined, (thrown) => [thrown, error].forEach(logError));
      }
    } catch (thrown) {
      // An error in `onError` must not stop the caller.
      logError(thrown);
    }
    logError(error);
  }

  /** Runs code of the application, and reports an exception or a rejection. */
  runUserCode(run) {
    try {
      const result = run();
      if (typeof result?.then === "function") result.then(undefined, (error) => this.report(error));
    } catch (error) {
      this.report(error);
    }
  }
}
