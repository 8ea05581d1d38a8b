// The check of the page that the command serves: `node www/inspector/command-check.mjs [chromium|firefox|webkit]`.
// PORTWAY_CLI names a command that contains the page, and PORTWAY_PYLSP names pylsp. Screenshots are written to
// target/inspector-check/.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Suite } from "../../tests/packaging/suite.mjs";
import { startBrowser } from "../../tests/web/runner/browsers.mjs";
import { commandSteps } from "./check/command-steps.mjs";
import { InspectorPage } from "./check/page.mjs";

const engine = process.argv[2] ?? "chromium";
const part = process.argv[3] ?? "";
const shots = fileURLToPath(new URL("../../target/inspector-check/", import.meta.url));
mkdirSync(shots, { recursive: true });

const suite = new Suite();
const browser = await startBrowser(engine);
try {
  const page = new InspectorPage(browser.driver, { url: "", violations: [] }, engine, shots);
  for (const [name, step] of commandSteps) {
    if (!name.includes(part)) continue;
    await suite.test(name, async () => {
      await step(page);
      await page.assertNoErrors();
    });
  }
} finally {
  await browser.stop();
}
process.exitCode = suite.finish() ? 0 : 1;
