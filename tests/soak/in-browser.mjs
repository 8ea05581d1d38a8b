// The soak in a browser: a page of ours does it all, and WebDriver asks now and then how far it is.

import { startBrowser } from "../web/runner/browsers.mjs";
import { startServers } from "../web/runner/server.mjs";

const POLL = 250;
/** Without any call that ends for so long, the page is stuck. It gives up on a call sooner by itself. */
const PATIENCE = 180_000;
/** Collections on demand, for scripts and for measuring. */
const CHROMIUM = ["--js-flags=--expose-gc", "--enable-blink-features=ForceEagerMeasureMemory"];

export async function soakInBrowser(plan) {
  const servers = await startServers();
  let browser;
  try {
    browser = await startBrowser(plan.engine, CHROMIUM);
    const query = new URLSearchParams(plan);
    // Chromium tells the memory of workers only to a page that is isolated from other origins.
    if (plan.engine === "chromium") query.set("isolated", "");
    await browser.driver.get(`${servers.origins.own}/tests/soak/page.html?${query}`);
    return await watch(browser.driver, plan.engine);
  } finally {
    await browser?.stop();
    servers.stop();
  }
}

async function watch(driver, engine) {
  let last = "";
  let since = Date.now();
  const documents = [];
  for (;;) {
    const state = JSON.parse(await driver.executeScript("return window.soak?.state() ?? '{}'"));
    if (state.done) return outcome(state, documents);
    if (state.waits) {
      documents.push(await documentsOf(driver, engine));
      await driver.executeScript("soak.next()");
      console.error(`  ${documents.length * 10} %: ${state.samples.at(-1).calls} calls`);
    }
    const now = `${state.now} ${state.ends}`;
    if (now !== last) {
      last = now;
      since = Date.now();
    } else if (Date.now() - since > PATIENCE) {
      return outcome({ ...state, error: `nothing has happened for ${PATIENCE / 1000} s: ${state.now}` }, documents);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL));
  }
}

function outcome({ samples = [], ledgers, error }, documents) {
  return { samples: samples.map((sample, i) => ({ ...sample, documents: documents[i] })), ledgers, error };
}

/** How many documents are alive: a frame that is loaded again must leave none behind. */
async function documentsOf(driver, engine) {
  if (engine !== "chromium") return undefined;
  return (await driver.sendAndGetDevToolsCommand("Memory.getDOMCounters", {})).documents;
}
