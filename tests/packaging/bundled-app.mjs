// The result that each bundler must make of apps/bundled: the same calls, and an empty console.

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

/** Builds these sources with the wasm inside of the module. */
export const withInlineEntry = (source) => source.replaceAll('from "portway"', 'from "portway/inline"');

/** Builds these sources with a worker that waits for the wasm by a top-level `await`. */
export const withTopLevelAwait = (source) => source.replace("init().then(serve);", "await init();\nserve();");
