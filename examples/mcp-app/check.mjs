// Builds the view, opens the host in headless Chromium, and uses the view: `node examples/mcp-app/check.mjs`.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { inPage, report } from "../check-in-chromium.mjs";
import { buildView } from "./build.mjs";

const EARLY = 'import "portway/early";';

const pageFile = new URL("index.html", import.meta.url);
await buildView();

await report({
  async "the view calls a tool although the host listens late, then stops a call, and is closed"() {
    await inPage(pageFile, async (page, waitForText) => {
      const view = page.frameLocator("#view");
      const waitInView = (selector, hasText) => view.locator(selector, { hasText }).waitFor({ timeout: 30_000 });
      await waitInView("#state", "connecting");
      await waitForText("state", "The host does not listen yet.");
      await waitForText("state", "The view is initialized.");
      await waitInView("#state", "connected to Portway's host");
      await waitInView("#result", "There are 9592 primes up to 100000.");

      await view.locator("#limit").fill("300000");
      await view.locator("#count").click();
      await waitInView("#result", "There are 25997 primes up to 300000.");
      await waitForText("log", "ui/update-model-context: There are 25997 primes up to 300000.");

      await view.locator("#limit").fill("2000000000");
      await view.locator("#count").click();
      await view.locator("#progress").evaluate(async (progress) => {
        while (progress.value === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      });
      await view.locator("#stop").click();
      await waitInView("#result", "the user has stopped the call");
      await waitForText("log", "cancelled: the user has stopped the call");

      await page.locator("#close").click();
      await waitForText("state", "The view is closed.");
      assert.equal(await page.locator("iframe").count(), 0);
      const log = await page.locator("#log li").allTextContents();
      assert.deepEqual(log, [
        "ui/initialize of prime view",
        "tools/call up to 300000",
        "ui/update-model-context: There are 25997 primes up to 300000.",
        "tools/call up to 2000000000",
        "cancelled: the user has stopped the call",
      ]);
    });
  },

  async "without portway/early, the host receives no message of the view"() {
    await inPage(pageFile, async (page, waitForText) => {
      const source = await readFile(new URL("host.js", import.meta.url), "utf8");
      assert.ok(source.includes(EARLY));
      const body = source.replace(EARLY, "");
      await page.route("**/host.js", (route) => route.fulfill({ contentType: "text/javascript", body }));
      await page.reload();
      await waitForText("state", "The host listens.");
      await page.waitForTimeout(500);
      assert.equal(await page.locator("#state").textContent(), "The host listens.");
      assert.equal(await page.frameLocator("#view").locator("#state").textContent(), "connecting");
      assert.deepEqual(await page.locator("#log li").allTextContents(), []);
    });
  },
});
