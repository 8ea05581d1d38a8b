// Runs every probe on the library that the first argument names. run.mjs starts one process of this file for each
// library. The process sends the outcomes, by the ids of the behaviours.

import { behaviours } from "./probes/all.mjs";

// Collects unhandled errors, and the values that a library logs as warnings and errors. A page would show all of
// them in its console. In Node, an unhandled error would end the process. Some probes count the collected values.
const noise = [];
for (const event of ["unhandledRejection", "uncaughtException"]) process.on(event, (error) => noise.push(error));
for (const method of ["warn", "error"]) console[method] = (...values) => noise.push(values);

const library = await import(`./libraries/${process.argv[2]}.mjs`);
const outcomes = {};

async function run({ id, probe }) {
  try {
    outcomes[id] = await probe(library, noise);
  } catch (error) {
    outcomes[id] = { says: "the probe failed", saw: String(error?.stack ?? error) };
  }
}

// The probes run one after another, so that a probe does not count the errors of another probe. Probes that measure
// memory run last.
for (const behaviour of behaviours) if (!behaviour.runsLast) await run(behaviour);
for (const behaviour of behaviours) if (behaviour.runsLast) await run(behaviour);
process.send(outcomes, () => process.exit());
