// Functions of the application that the library calls.

/** Calls a function of the application, if there is one. Reports its error, or the rejection of its promise. */
export function runUserCode(run, argument, report) {
  try {
    run?.(argument)?.then?.(undefined, report);
  } catch (error) {
    report(error);
  }
}
