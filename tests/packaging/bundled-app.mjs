// Checks the bundles of apps/bundled. Each bundle must make the expected calls without an error in the console.

import assert from "node:assert/strict";
import { visit } from "./browser.mjs";

const expected = {
  sum: 6,
  greeting: "hello, user 7",
  refusal: [-32001, "not today", { until: "tomorrow" }],
  unknown: true,
  moved: [0, 3, 2, 1],
  steps: [1, 2, 3],
};

export async function assertWorks(browser, url) {
  assert.deepEqual(await visit(browser, url), { outcome: expected, faults: [] });
}

/** Returns the source with imports of the inline entry, which contains the wasm. */
export const withInlineEntry = (source) => source.replaceAll('from "portway"', 'from "portway/inline"');

/** Returns the source with a top-level `await`, by which the worker waits for the wasm. */
export const withTopLevelAwait = (source) => source.replace("init().then(serve);", "await init();\nserve();");
