// The end-to-end check of the built inspector: `node www/inspector/check.mjs [ENGINE] [PART]`. Only the steps whose
// names contain PART run. PORTWAY_CLI is the path of `portway`. The script prints one line for each step, and exits
// with 1 if a step fails. Screenshots are written to target/inspector-check/.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Suite } from "../../tests/packaging/suite.mjs";
import { startBrowser } from "../../tests/web/runner/browsers.mjs";
import { InspectorPage } from "./check/page.mjs";
import { startPageServer } from "./check/servers.mjs";
import { connectionSteps } from "./check/connection-steps.mjs";
import { fileSteps } from "./check/file-steps.mjs";
import { listSteps } from "./check/list-steps.mjs";
import { hostileSteps } from "./check/hostile-steps.mjs";
import { storySteps } from "./check/story-steps.mjs";

const engine = process.argv[2] ?? "chromium";
const part = process.argv[3] ?? "";
const shots = fileURLToPath(new URL("../../target/inspector-check/", import.meta.url));
mkdirSync(shots, { recursive: true });

/** The maximum time of one step, in ms. */
const LIMIT_MS = 180_000;

const servers = await startPageServer();
let browser = await startBrowser(engine);
const page = new InspectorPage(browser.driver, servers, engine, shots);
// A step that never ends must not prevent the other steps, so another browser replaces the one that hangs.
const suite = new Suite({
  limitMs: LIMIT_MS,
  async onTimeout() {
    await browser.stop();
    browser = await startBrowser(engine);
    page.driver = browser.driver;
  },
});
try {
  for (const [name, step] of [...connectionSteps, ...listSteps, ...fileSteps, ...hostileSteps, ...storySteps]) {
    if (!name.includes(part)) continue;
    await suite.test(name, async () => {
      await page.open();
      await step(page);
      await page.assertNoErrors();
    });
  }
} finally {
  await browser.stop();
  await servers.stop();
}
process.exitCode = suite.finish() ? 0 : 1;
