// Logs the errors for which the application has no error handler, and the errors of that handler itself.

import { now } from "./clock.js";
import { MAX_PRINTED_FAULTS } from "./limit-values.js";

let second = 0;
let logged = 0;

export function logError(error) {
  const time = Math.floor(now() / 1_000);
  if (time !== second) logged = 0;
  second = time;
  if (++logged <= MAX_PRINTED_FAULTS) console.error("portway:", error);
  if (logged === MAX_PRINTED_FAULTS) console.error("portway: further errors in this second are not logged");
}
