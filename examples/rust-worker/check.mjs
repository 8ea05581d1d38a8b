// Builds the example and checks it in headless Chromium: `node examples/rust-worker/check.mjs`.

import assert from "node:assert/strict";
import { inPage, report, wasmPack } from "../check-in-chromium.mjs";

const folder = new URL("./", import.meta.url);

await report({
  async "the page in Rust shows the results of the worker in Rust"() {
    wasmPack(folder);
    await inPage(new URL("index.html", folder), async (page, waitForText) => {
      await waitForText("after", "There are 4 primes below 10.");
      await waitForText("count", "There are 17984 primes below 200 000.");
      await waitForText("error", "4294967295 is more than 10000000 (-32602)");
      assert.equal(await page.getAttribute("#progress", "value"), "0.95");
    });
  },
});
