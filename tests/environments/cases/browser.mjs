// Tests that need a browser: an AudioWorklet, many realms in one process, and an iframe in a page with zones.

import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { visit } from "../../packaging/browser.mjs";
import { withSite } from "../../packaging/site.mjs";

export default async function browser(suite, testFolder, launch) {
  const folder = await testFolder.project("worklet");
  await cp(testFolder.module("portway"), join(folder, "portway"), { recursive: true });
  const chromium = await launch();
  try {
    await withSite(folder, async (url) => {
      await suite.test("Chromium: an AudioWorklet imports the package, answers calls and makes calls", async () => {
        const { outcome, faults } = await visit(chromium, `${url}index.html`);
        const noTimer = "there is no setTimeout here: set the timeout to 0";
        assert.deepEqual(outcome, {
          sum: 3,
          answer: 42,
          timed: noTimer,
          thrown: -32603,
          items: [0, 1, 2],
          cancelled: "AbortError",
          after: 5,
        });
        assert.deepEqual(faults, []);
      });
      await suite.test("Chromium: init() reports that the process has no memory left for wasm", async () => {
        const { outcome } = await visit(chromium, `${url}memories.html`);
        assert.match(outcome.text, /^portway: .*no memory for WebAssembly/);
        assert.equal(outcome.later, true);
      });
    });
    const stableFolder = await testFolder.project("stable");
    for (const name of ["portway", "zone.js"])
      await cp(testFolder.module(name), join(stableFolder, name), { recursive: true });
    await withSite(stableFolder, async (url) => {
      await suite.test(
        "Chromium: a zone with a connected iframe has no pending timer, and its calls and sessions end in the zone",
        async () => {
          const { outcome } = await visit(chromium, `${url}index.html`);
          const wanted = {
            sum: 3,
            silent: ["timeout", "angular"],
            lost: [["peer-gone", "angular"]],
            hasEnoughChecks: true,
            unstable: 0,
          };
          assert.deepEqual(outcome, wanted);
        },
      );
    });
  } finally {
    await chromium.close();
  }
}
