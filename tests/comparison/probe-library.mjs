// Runs every probe on the one library that is named, in a process of its own: `fork("probe-library.mjs", [module])`.
// Sends the outcomes by id.

import { behaviours } from "./probes/all.mjs";

// A page would show this in its console. Here it would end the process.
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

// In turn, so that noise and memory are of the probe that looks at them.
for (const behaviour of behaviours) if (!behaviour.alone) await run(behaviour);
for (const behaviour of behaviours) if (behaviour.alone) await run(behaviour);
process.send(outcomes, () => process.exit());
