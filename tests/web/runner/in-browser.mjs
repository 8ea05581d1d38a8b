// Runs the specs in a page in a browser. WebDriver reads the progress from the page.

import { startBrowser } from "./browsers.mjs";
import { prepareGuests } from "./guests.mjs";
import { tryBackForwardCache } from "./back-forward-cache.mjs";
import { startServers } from "./server.mjs";
import { startSockets } from "./sockets.mjs";

const POLL = 200;
/** Options for Chromium, because the specs force garbage collection. */
const CHROMIUM = ["--js-flags=--expose-gc"];
/** A page that starts no new test for this time is stuck. */
const TEST_TIMEOUT_MS = 60_000;

export async function runInBrowser(engine, specs) {
  const sockets = startSockets();
  const servers = await startServers(sockets.handle);
  const tally = { passed: 0, failures: [], files: {}, notes: [] };
  try {
    for (const isolated of [false, true]) {
      const these = specs.filter((spec) => spec.includes(".isolated.") === isolated);
      if (these.length > 0) await runOnPage(engine, these, isolated, servers.origins, tally);
    }
    return tally;
  } finally {
    sockets.stop();
    servers.stop();
  }
}

/** Runs the specs on one page in a new browser, and adds the results to the counts. */
async function runOnPage(engine, specs, isolated, origins, tally) {
  const browser = await startBrowser(engine, CHROMIUM, { sharing: isolated });
  try {
    const guests = specs.some((spec) => spec.startsWith("wasi")) ? prepareGuests() : {};
    const facts = { specs: specs.join(), guests: JSON.stringify(guests), ...origins, ...(isolated && { isolated }) };
    await browser.driver.get(`${origins.own}/tests/web/runner/page.html?${new URLSearchParams(facts)}`);
    const { passed, failures, files } = await watch(browser.driver);
    tally.passed += passed;
    tally.failures.push(...failures);
    Object.assign(tally.files, files);
    // This test also concerns connections between windows.
    if (specs.some((spec) => spec.startsWith("sessions-windows")))
      await tryBackForwardCache(browser.driver, origins.own, tally);
  } finally {
    await browser.stop();
  }
}

/** Waits until the page has run all specs. Returns its tally. */
export async function watch(driver) {
  let last = "";
  let since = Date.now();
  for (;;) {
    // The value is a string because a spec may have added a member to all objects, which the driver would serialize.
    const seen = await driver.executeScript("return JSON.stringify([window.tally, document.body.innerText])");
    const [tally, text] = JSON.parse(seen);
    if (tally?.done) return tally;
    const now = `${tally?.current} ${tally?.passed}`;
    if (now !== last) {
      last = now;
      since = Date.now();
    } else if (Date.now() - since > TEST_TIMEOUT_MS) {
      const { passed = 0, failures = [], files = {}, current = "loading" } = tally ?? {};
      failures.push({ name: "the page runs all specs", message: `the page is stuck at "${current}"\n${text}` });
      return { passed, failures, files };
    }
    await new Promise((resolve) => setTimeout(resolve, POLL));
  }
}
