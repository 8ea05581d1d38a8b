// The end-to-end check of the built playground, in headless Chromium: `node www/check.mjs`. The script prints one line
// for each step, and exits with 1 if a step fails. It writes screenshots to target/demo-check/.
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Playground } from "./check/playground.mjs";
import { steps } from "./check/steps.mjs";
import { launch } from "../tests/chromium.mjs";
import { serve } from "./serve.mjs";

const screenshots = fileURLToPath(new URL("../target/demo-check/", import.meta.url));
mkdirSync(screenshots, { recursive: true });

const failures = [];
const { server, url } = await serve();
const browser = await launch();

try {
  // Each page has its own cache and storage. `prepare` runs before the playground loads.
  const open = async (prepare) => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
    const screenshot = (name) => page.screenshot({ path: `${screenshots}${name}.png` });
    const playground = new Playground(page, screenshot, { server, open });
    await prepare?.(page);
    await page.goto(url);
    return playground;
  };
  const playground = await open();
  for (const [name, step] of steps) await run(name, () => step(playground));
  await run("the run causes no page error, console error or failed request", () => playground.assertNoErrors());
} finally {
  await browser.close();
  server.close();
}

async function run(name, step) {
  const started = Date.now();
  try {
    await step();
    console.log(`✓ ${name} (${Date.now() - started} ms)`);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    failures.push({ name, message });
    console.log(`✗ ${name}\n    ${message.replaceAll("\n", "\n    ")}`);
  }
}

const total = steps.length + 1;
console.log(`${total - failures.length} steps passed, ${failures.length} failed; screenshots in ${screenshots}`);
if (process.env.PORTWAY_REPORT) {
  const report = { passed: total - failures.length, failed: failures.length, failures };
  writeFileSync(process.env.PORTWAY_REPORT, JSON.stringify(report));
}
process.exitCode = failures.length ? 1 : 0;
