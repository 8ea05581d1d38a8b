// Sends random messages over links with taps, and checks that the page of the inspector shows exactly these messages:
// `node tests/inspector/story.mjs [part of a name]`, after `cargo xtask build` and `cargo xtask build --only
// inspector`.
//
// PORTWAY_CLI is the path of `portway`, and PORTWAY_PYLSP is the path of pylsp. PORTWAY_SEED repeats a run, and
// PORTWAY_MESSAGES sets the number of messages over each boundary.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openFile } from "../../www/inspector/check/open-file.mjs";
import { InspectorPage } from "../../www/inspector/check/page.mjs";
import { startPageServer } from "../../www/inspector/check/servers.mjs";
import { Suite } from "../packaging/suite.mjs";
import { startBrowser } from "../web/runner/browsers.mjs";
import { languageServer, unixSocket, webSocket } from "./story/programs.mjs";
import { randomOf } from "./story/random.js";
import { assertShown, shownRows } from "./story/shown.mjs";
import { workerThread } from "./story/thread.mjs";

const count = Number(process.env.PORTWAY_MESSAGES ?? 10_000);
const seed = Number(process.env.PORTWAY_SEED ?? Math.floor(Math.random() * 2 ** 32));
const part = process.argv[2] ?? "";
console.log(`  PORTWAY_SEED=${seed}, ${count} messages over each boundary`);

const shots = fileURLToPath(new URL("../../target/inspector-check/", import.meta.url));
/** The tests whose records the page reads from a file. */
const recorded = [
  ["a Node worker thread", workerThread],
  ["two programs on a Unix socket, by portway tap", unixSocket],
  ["two programs on a WebSocket, by portway tap", webSocket],
  ["an editor and pylsp, by portway tap -- pylsp", languageServer],
];

const suite = new Suite();
const servers = await startPageServer({ "/story/": fileURLToPath(new URL("story/", import.meta.url)) });
const browser = await startBrowser("chromium");
const folder = mkdtempSync(join(tmpdir(), "portway-story-"));
try {
  const page = new InspectorPage(browser.driver, servers, "chromium", shots);
  await page.open();
  const test = async (name, run) => {
    if (!name.includes(part)) return;
    await suite.test(name, async () => {
      await page.run(`model().clear(); model().configure({ limit: 1e6, bytes: 2 ** 30 });`);
      const log = await run();
      assertShown(await shownRows(page), log, count);
      await page.assertNoErrors();
    });
  };
  await test("connect over a worker", () => live(page, "worker"));
  await test("connect over an iframe", () => live(page, "iframe"));
  for (const [name, run] of recorded)
    await test(name, async () => {
      const { text, log } = await run(folder, randomOf(seed), count);
      await openFile(page, "records.jsonl", text);
      return log;
    });
} finally {
  await browser.stop();
  await servers.stop();
  rmSync(folder, { recursive: true });
}
process.exit(suite.finish() ? 0 : 1);

/** Opens a page in a second tab. This page connects over `boundary` with a tap. Returns the log of both ends. */
async function live(page, boundary) {
  const { driver } = page;
  const own = await driver.getWindowHandle();
  await driver.switchTo().newWindow("tab");
  const near = await driver.getWindowHandle();
  await driver.manage().setTimeouts({ script: 120_000 });
  await driver.get(`${page.servers.url}story/near.html`);
  await page.until("the page has loaded", () => driver.executeScript(`return typeof story === "function"`));
  const json = await driver.executeAsyncScript(
    `const done = arguments[3];
     story(...[...arguments].slice(0, 3)).then((log) => done(JSON.stringify(log)), (error) => done(String(error.stack)));`,
    boundary,
    seed,
    count,
  );
  await driver.switchTo().window(own);
  assert.match(json, /^\{"near"/, json.slice(0, 1000));
  const log = JSON.parse(json);
  await page.until("the end of the link is shown", () =>
    page.run(
      `const { core } = model(); const { rows } = core.totals();
       return core.row(core.last() ?? -1)?.kind === "close" || rows`,
    ),
  );
  await driver.switchTo().window(near);
  await driver.close();
  await driver.switchTo().window(own);
  return log;
}
