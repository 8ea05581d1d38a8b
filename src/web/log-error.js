// Prints the faults that nobody else is told of.

import { now } from "./clock.js";
import { MAX_PRINTED_FAULTS } from "./limit-values.js";

let second = 0;
let lines = 0;

export function complain(error) {
  const time = Math.floor(now() / 1_000);
  if (time !== second) lines = 0;
  second = time;
  if (++lines <= MAX_PRINTED_FAULTS) console.error("portway:", error);
  if (lines === MAX_PRINTED_FAULTS) console.error("portway: what else there is in this second is not shown");
}
