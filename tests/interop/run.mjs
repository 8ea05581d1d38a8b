// Runs the interop suite: `node tests/interop/run.mjs [chromium|firefox|webkit]`. In a real browser, the suite ends the
// peer of a pending call in different ways. It uses the published version and the usual setup of each library. It
// compares the outcomes with expected.json, and prints the times. Times are compared by their classes; see speed.mjs.
// The suite also tests Portway with other JSON-RPC 2.0 libraries, as their client and as their server.
//
// The suite creates the second table of the README from the outcomes in Chromium. tests/comparison/suite.mjs describes
// the options. Other engines must have equal outcomes, except the text of errors. In these engines, calls are observed
// for a shorter time.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { pkg } from "../comparison/bundles.mjs";
import { catalogue as compared } from "../comparison/libraries/catalogue.mjs";
import { Suite, column } from "../comparison/suite.mjs";
import { table } from "../comparison/table.mjs";
import { startBrowser } from "../web/runner/browsers.mjs";
import { deaths } from "./deaths.mjs";
import { notes } from "./notes.mjs";
import { serve } from "./site.mjs";
import { OBSERVED_MS, SHORT_OBSERVED_MS, seenInShort } from "./speed.mjs";

const here = dirname(fileURLToPath(import.meta.url));
/** The catalogue has Portway twice: by `connect`, and by its plain classes as in the table of tests/comparison. */
const catalogue = [
  { module: "portway-connect", title: "Portway, `connect`", isPortway: true },
  ...compared.map((entry) => (entry.isPortway ? { ...entry, title: "Portway, plain classes" } : entry)),
];
const MODULES = catalogue.map(({ module }) => module);
const PAGE_TIMEOUT_MS = 180_000;

const { values: options, positionals } = parseArgs({
  options: { write: { type: "boolean" }, accept: { type: "boolean" } },
  allowPositionals: true,
});
const [engine = "chromium"] = positionals;
const inFull = engine === "chromium";
const suite = new Suite(options);

/** Returns the faults of the tests of peers.mjs, and the outcomes by library and event. */
async function runInBrowser() {
  const site = await serve(catalogue);
  let browser;
  try {
    browser = await startBrowser(engine);
    const { elsewhere } = site;
    const query = new URLSearchParams({
      modules: MODULES.join(),
      elsewhere,
      observedMs: inFull ? OBSERVED_MS : SHORT_OBSERVED_MS,
    });
    await browser.driver.get(`${site.own}?${query}`);
    return await results(browser.driver);
  } finally {
    await browser?.stop();
    site.stop();
  }
}

async function results(driver) {
  const deadline = Date.now() + PAGE_TIMEOUT_MS;
  for (;;) {
    const seen = await driver.executeScript("return window.seen && JSON.stringify(window.seen);");
    if (seen) return JSON.parse(seen);
    if (Date.now() > deadline) throw new Error(`the page must end within ${PAGE_TIMEOUT_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function timeText({ says, saw, ms = {} }) {
  const { call, timedCall } = ms;
  if (says === "the probe failed") return saw;
  if (call !== undefined) return `${call} ms`;
  return timedCall === undefined ? says : `${timedCall} ms, with a timeout of 2000 ms`;
}

if (!existsSync(join(pkg, "package.json"))) {
  suite.test("the package in pkg/", "pkg/package.json is missing; run `cargo xtask build`");
} else {
  const { error, peers, libraries } = await runInBrowser().catch((error) => ({ error: String(error?.stack ?? error) }));
  if (error !== undefined) suite.test("the page runs", error);
  else {
    for (const [name, fault] of Object.entries(peers)) suite.test(name, fault ?? undefined);
    const seen = {};
    for (const { id, text } of deaths) {
      seen[id] = {};
      console.log(`${text}:`);
      for (const module of MODULES) {
        const outcome = libraries[module][id];
        console.log(`    ${module.padEnd(16)} ${timeText(outcome)}`);
        seen[id][module] = { says: outcome.says, saw: outcome.saw };
      }
    }
    const outcomeText = ({ says, saw }) => (inFull ? `${says} (${saw})` : seenInShort(says));
    suite.checkOutcomes(deaths, MODULES, seen, join(here, "expected.json"), outcomeText);
    if (inFull) suite.checkTable("deaths", table(deaths, catalogue.map(column), seen, notes));
  }
}
suite.end();
