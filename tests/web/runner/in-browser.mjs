// Runs the specs in a page in a browser. WebDriver reads the progress from the page.

import { startBrowser } from "./browsers.mjs";
import { prepareGuests } from "./guests.mjs";
import { testBackForwardCache } from "./back-forward-cache.mjs";
import { startServers } from "./server.mjs";
import { startSites } from "./sites.mjs";
import { startSockets } from "./sockets.mjs";

const POLL_MS = 200;
/** With this argument, specs in Chromium can force garbage collections. */
const CHROMIUM_ARGUMENTS = ["--js-flags=--expose-gc"];
/** A page that starts no new test for this time is stuck. */
const TEST_TIMEOUT_MS = 60_000;

/** Runs the specs, on one page for isolated specs and one page for the others. Returns the tally of both pages. */
export async function runInBrowser(engine, specs) {
  const sockets = startSockets();
  const sites = startSites();
  const handle = (command) => (command.action.startsWith("site-") ? sites : sockets).handle(command);
  const servers = await startServers(handle);
  const tally = { passed: 0, failures: [], files: {}, notes: [] };
  try {
    for (const isolated of [false, true]) {
      const pageSpecs = specs.filter((spec) => spec.includes(".isolated.") === isolated);
      if (pageSpecs.length > 0) await runOnPage(engine, pageSpecs, isolated, servers.origins, tally);
    }
    return tally;
  } finally {
    sites.stop();
    sockets.stop();
    servers.stop();
  }
}

/** Runs the specs on one page in a new browser, and adds the results to `tally`. */
async function runOnPage(engine, specs, isolated, origins, tally) {
  const browser = await startBrowser(engine, CHROMIUM_ARGUMENTS, { sharing: isolated });
  try {
    const guests = specs.some((spec) => spec.startsWith("wasi")) ? prepareGuests() : {};
    const query = { specs: specs.join(), guests: JSON.stringify(guests), ...origins, ...(isolated && { isolated }) };
    await browser.driver.get(`${origins.own}/tests/web/runner/page.html?${new URLSearchParams(query)}`);
    const { passed, failures, files } = await watch(browser.driver);
    tally.passed += passed;
    tally.failures.push(...failures);
    Object.assign(tally.files, files);
    // The test of the back/forward cache is part of the specs of sessions between windows.
    if (specs.some((spec) => spec.startsWith("sessions-windows")))
      await testBackForwardCache(browser.driver, origins.own, tally);
  } finally {
    await browser.stop();
  }
}

/** Waits until the page has run all specs. Returns its tally. */
export async function watch(driver) {
  let lastProgress = "";
  let lastChange = Date.now();
  for (;;) {
    // The script returns a string. If it returned objects, the driver would also serialize members that a spec has
    // added to `Object.prototype`.
    const json = await driver.executeScript("return JSON.stringify([window.tally, document.body.innerText])");
    const [tally, text] = JSON.parse(json);
    if (tally?.done) return tally;
    const progress = `${tally?.current} ${tally?.passed}`;
    if (progress !== lastProgress) {
      lastProgress = progress;
      lastChange = Date.now();
    } else if (Date.now() - lastChange > TEST_TIMEOUT_MS) {
      const { passed = 0, failures = [], files = {}, current = "loading" } = tally ?? {};
      failures.push({ name: "the page runs all specs", message: `the page is stuck at "${current}"\n${text}` });
      return { passed, failures, files };
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
