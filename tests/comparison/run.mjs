// Runs the comparison suite: `node tests/comparison/run.mjs`. The suite probes the behaviours of Portway and of other
// libraries over real channels. It compares the outcomes with expected.json, and creates a table of the README from the
// outcomes. suite.mjs describes the options. tests/interop probes calls whose peer closes or crashes.

import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { pkg, size } from "./bundles.mjs";
import { catalogue } from "./libraries/catalogue.mjs";
import { notes } from "./notes.mjs";
import { behaviours as probed } from "./probes/all.mjs";
import { slowWorker } from "./slow-worker.mjs";
import { Suite, column } from "./suite.mjs";
import { table } from "./table.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const MODULES = catalogue.map(({ module }) => module);
/** Bundlers for browsers set this condition. vscode-jsonrpc exports its entry for browsers only with this condition. */
const CONDITIONS = "--conditions=browser";
/** The maximum time of a process, which probes one library. */
const PROBE_TIMEOUT_MS = 45_000;

const behaviours = [
  ...probed,
  { id: "slow-worker", text: "Calls made while a worker is still loading are answered" },
  { id: "size", text: "Size, minified and gzipped" },
];
const { values: options } = parseArgs({ options: { write: { type: "boolean" }, accept: { type: "boolean" } } });
const suite = new Suite(options);

/** Returns the outcomes of one library, by behaviour. */
function probe(module) {
  return new Promise((done) => {
    const script = join(here, "probe-library.mjs");
    const child = fork(script, [module], { execArgv: [CONDITIONS, "--expose-gc"], timeout: PROBE_TIMEOUT_MS });
    let outcomes = {};
    child.on("message", (message) => (outcomes = message));
    child.on("exit", () => done(outcomes));
  });
}

/** Probes all libraries. Returns the outcomes, by behaviour and library. */
async function probeAll() {
  const failed = (error) => ({ says: "the probe failed", saw: String(error) });
  // All outcomes exist from the beginning. So their order is that of the catalogue, whichever process ends first.
  const failedOutcomes = () =>
    Object.fromEntries(MODULES.map((module) => [module, failed("its process sent no outcome")]));
  const seen = Object.fromEntries(behaviours.map(({ id }) => [id, failedOutcomes()]));
  const inNode = MODULES.map(async (module) => {
    for (const [id, outcome] of Object.entries(await probe(module))) seen[id][module] = outcome;
  });
  for (const library of catalogue) seen.size[library.module] = await size(library).catch(failed);
  const inPage = slowWorker(catalogue);
  const failedInPage = (error) => Object.fromEntries(MODULES.map((module) => [module, failed(error)]));
  seen["slow-worker"] = await inPage.catch(failedInPage);
  await Promise.all(inNode);
  return seen;
}

if (!existsSync(join(pkg, "package.json"))) {
  suite.test("the package in pkg/", "pkg/package.json is missing; run `cargo xtask build`");
} else {
  const seen = await probeAll();
  suite.checkOutcomes(behaviours, MODULES, seen, join(here, "expected.json"));
  suite.checkTable("comparison", table(behaviours, catalogue.map(column), seen, notes));
}
suite.end();
