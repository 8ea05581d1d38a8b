// Runs the specs that the query names. `window.tally` contains the progress.

import { ConsoleWatch } from "../support/console.js";
import { Tally, textOfError } from "./tally.js";

const { mocha } = window;
const tally = (window.tally = new Tally());
const specs = new URLSearchParams(location.search).get("specs").split(",");
const fileOf = new Map();

/** Returns the spec that contains the test. `fileOf` has only the outermost suites and the tests outside of suites. */
function file(test) {
  let suite = test.parent;
  while (suite?.parent && !suite.parent.root) suite = suite.parent;
  return fileOf.get(suite) ?? fileOf.get(test) ?? "?";
}

mocha.setup({ ui: "bdd", timeout: 30_000, reporter: class {}, forbidOnly: true });
const watch = ConsoleWatch.start(() => tally.current);
for (const spec of specs) {
  tally.current = `loading ${spec}`;
  try {
    await import(`../${spec}`);
  } catch (error) {
    tally.fail(spec, textOfError(error));
  }
  const { suites, tests } = mocha.suite;
  for (const part of [...suites, ...tests]) if (!fileOf.has(part)) fileOf.set(part, spec);
}
await new Promise((done) => tally.follow(mocha.run(done), file));
for (const text of watch.stop()) tally.fail("the console has no unexpected lines", text);
tally.done = true;
