// The soak in a browser: a page of ours does it all, and posts how far it is. It is not asked by WebDriver, since each
// question leaves something in the page's memory.

import { startBrowser } from "../web/runner/browsers.mjs";
import { startServers } from "../web/runner/server.mjs";

/** If no call ends for this time, the page is stuck. Its own limit for a call is shorter. */
const TEST_TIMEOUT_MS = 180_000;
/** Collections on demand, for scripts and for measuring. */
const CHROMIUM = ["--js-flags=--expose-gc", "--enable-blink-features=ForceEagerMeasureMemory"];

export async function soakInBrowser(plan) {
  let browser;
  const documents = [];
  let end;
  const ended = new Promise((resolve) => (end = resolve));
  let last = "";
  let patience;
  const servers = await startServers(async (state) => {
    const { samples = [], now, ends, done } = state;
    if (`${now} ${ends}` !== last) {
      last = `${now} ${ends}`;
      clearTimeout(patience);
      patience = setTimeout(
        () => end({ ...state, error: `nothing has happened for ${TEST_TIMEOUT_MS / 1000} s: ${now}` }),
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
    patience = setTimeout(() => end({ error: "the page does not load" }), TEST_TIMEOUT_MS);
    const query = new URLSearchParams(plan);
    // Chromium reports the memory of workers only to a page that is isolated from other origins.
    if (plan.engine === "chromium") query.set("isolated", "");
    await browser.driver.get(`${servers.origins.own}/tests/soak/page.html?${query}`);
    const { samples = [], ledgers, error } = await ended;
    return { samples: samples.map((sample, i) => ({ ...sample, documents: documents[i] })), ledgers, error };
  } finally {
    clearTimeout(patience);
    await browser?.stop();
    servers.stop();
  }
}

/** How many documents are alive: a frame that is loaded again must leave none behind. */
async function documentsOf(driver, engine) {
  if (engine !== "chromium") return undefined;
  return (await driver.sendAndGetDevToolsCommand("Memory.getDOMCounters", {})).documents;
}
