// Runs the soak in a browser. page.html makes all calls, and posts its progress. WebDriver does not read the progress,
// because each of its commands leaves objects in the memory of the page.

import { startBrowser } from "../web/runner/browsers.mjs";
import { startServers } from "../web/runner/server.mjs";

/**
 * The page is stuck if its progress stays the same for this number of milliseconds. Before that, caller.js reports the
 * calls that have not ended after `DRAIN_TIMEOUT_MS`.
 */
const TEST_TIMEOUT_MS = 180_000;
/** With these options, scripts and measurements of memory can start a garbage collection. */
const CHROMIUM = ["--js-flags=--expose-gc", "--enable-blink-features=ForceEagerMeasureMemory"];

export async function soakInBrowser(plan) {
  let browser;
  const documents = [];
  let end;
  const ended = new Promise((resolve) => (end = resolve));
  let last = "";
  let stuckTimer;
  const servers = await startServers(async (state) => {
    const { samples = [], now, progress, done } = state;
    if (`${now} ${progress}` !== last) {
      last = `${now} ${progress}`;
      clearTimeout(stuckTimer);
      stuckTimer = setTimeout(
        () => end({ ...state, error: `no call has ended for ${TEST_TIMEOUT_MS / 1000} s: ${now}` }),
        TEST_TIMEOUT_MS,
      );
    }
    if (done) return end(state);
    const newest = samples.length - 1;
    if (newest < 0 || newest in documents) return;
    console.error(`  ${samples.length * 10} %: ${samples.at(-1).calls} calls`);
    documents[newest] = undefined;
    documents[newest] = await documentsOf(browser.driver, plan.engine);
  });
  try {
    browser = await startBrowser(plan.engine, CHROMIUM);
    stuckTimer = setTimeout(() => end({ error: "the page must load" }), TEST_TIMEOUT_MS);
    const query = new URLSearchParams(plan);
    // Chromium reports the memory of workers only to a page that is isolated from other origins.
    if (plan.engine === "chromium") query.set("isolated", "");
    await browser.driver.get(`${servers.origins.own}/tests/soak/page.html?${query}`);
    const { samples = [], ledgers, error } = await ended;
    return { samples: samples.map((sample, i) => ({ ...sample, documents: documents[i] })), ledgers, error };
  } finally {
    clearTimeout(stuckTimer);
    await browser?.stop();
    servers.stop();
  }
}

/** Returns the number of documents in memory. The former documents of a reloaded iframe must be collected. */
async function documentsOf(driver, engine) {
  if (engine !== "chromium") return undefined;
  return (await driver.sendAndGetDevToolsCommand("Memory.getDOMCounters", {})).documents;
}
