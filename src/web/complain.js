// Prints the faults that nobody else is told of.

import { MAX_PRINTED_FAULTS } from "./limit-values.js";

let second = 0;
let lines = 0;

export function complain(error) {
  const now = Math.floor(performance.now() / 1_000);
  if (now !== second) lines = 0;
  second = now;
  if (++lines <= MAX_PRINTED_FAULTS) console.error("portway:", error);
  if (lines === MAX_PRINTED_FAULTS) console.error("portway: what else there is in this second is not shown");
}
