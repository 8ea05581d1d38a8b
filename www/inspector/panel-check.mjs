// The check of the inspector's panel in the built playground: `node www/inspector/panel-check.mjs
// [chromium|firefox|webkit] [PART]`. Only the steps whose names contain PART run. The panel shows the messages of the
// playground's own worker and frame. Screenshots are written to target/inspector-check/.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Suite } from "../../tests/packaging/suite.mjs";
import { startBrowser } from "../../tests/web/runner/browsers.mjs";
import { playground } from "../serve.mjs";
import { PanelPage, panelSteps } from "./check/panel-steps.mjs";
import { startPageServer } from "./check/servers.mjs";

const engine = process.argv[2] ?? "chromium";
const part = process.argv[3] ?? "";
const shots = fileURLToPath(new URL("../../target/inspector-check/", import.meta.url));
mkdirSync(shots, { recursive: true });

const servers = await startPageServer({}, playground);
const browser = await startBrowser(engine);
const suite = new Suite({ limitMs: 180_000 });
try {
  const page = new PanelPage(browser.driver, servers, engine, shots);
  for (const [name, step] of panelSteps) {
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
