// Runs code of the application, and reports errors that do not end a call.

import { logError } from "./log-error.js";

/**
 * Runs code of the application, and reports an exception or a rejection.
 * @param {() => any} run
 * @param {(error: any) => void} report
 */
export function runUserCode(run, report) {
  try {
    const result = run();
    if (typeof result?.then === "function") result.then(undefined, report);
  } catch (error) {
    report(error);
  }
}

export class ErrorReporter {
  /**
   * Called with each error. If undefined, errors are logged.
   * @type {((error: any) => any) | undefined}
   */
  onError = undefined;

  /** Reports an error to the application. If `onError` throws or rejects, its error and `error` are logged. */
  report = (error) => {
    if (this.onError === undefined) return logError(error);
    runUserCode(
      () => this.onError?.(error),
      (thrown) => [thrown, error].forEach(logError),
    );
  };

  /** Runs code of the application, and reports an exception or a rejection. */
  runUserCode(run) {
    runUserCode(run, this.report);
  }
}
