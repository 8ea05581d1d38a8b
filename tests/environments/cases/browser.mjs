// Browsers only: an AudioWorklet, and many realms in one process.

import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { visit } from "../../packaging/browser.mjs";
import { withSite } from "../../packaging/site.mjs";

export default async function browser(suite, environment, launch) {
  const folder = await environment.project("worklet");
  await cp(environment.module("portway"), join(folder, "portway"), { recursive: true });
  const chromium = await launch();
  try {
    await withSite(folder, async (url) => {
      await suite.test("Chromium: an AudioWorklet imports the package, answers calls and makes some", async () => {
        const { outcome, faults } = await visit(chromium, `${url}index.html`);
        const noTimer = "there is no setTimeout here: set the timeout to 0";
        assert.deepEqual(outcome, { sum: 3, answer: 42, timed: noTimer, thrown: -32603, items: [0, 1, 2], cancelled: "AbortError", after: 5 });
        assert.deepEqual(faults, []);
      });
      await suite.test("Chromium: if a process has no wasm memory left, init() reports that", async () => {
        const { outcome } = await visit(chromium, `${url}memories.html`);
        assert.match(outcome.text, /^portway: .*no memory for WebAssembly/);
        assert.equal(outcome.later, true);
      });
    });
  } finally {
    await chromium.close();
  }
}
