// The specs in a browser: a page of ours runs them, and WebDriver reads from it how far it is.

import { startBrowser } from "./browsers.mjs";
import { prepareGuests } from "./guests.mjs";
import { tryBackForwardCache } from "./back-forward-cache.mjs";
import { startServers } from "./server.mjs";
import { startSockets } from "./sockets.mjs";

const POLL = 200;
/** For Chromium: the specs force garbage collection. */
const CHROMIUM = ["--js-flags=--expose-gc"];
/** Without a new test for so long, the page is stuck. */
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

/** Each page has a browser of its own, and adds to the counts. */
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
    // Only with the specs of connections between windows, which it is one of.
    if (specs.some((spec) => spec.startsWith("sessions-windows")))
      await tryBackForwardCache(browser.driver, origins.own, tally);
  } finally {
    await browser.stop();
  }
}

/** The tally of the page, once it is done. */
export async function watch(driver) {
  let last = "";
  let since = Date.now();
  for (;;) {
    // A text, since a spec may have given all objects a member that the driver would try to serialize.
    const seen = await driver.executeScript("return JSON.stringify([window.tally, document.body.innerText])");
    const [tally, text] = JSON.parse(seen);
    if (tally?.done) return tally;
    const now = `${tally?.current} ${tally?.passed}`;
    if (now !== last) {
      last = now;
      since = Date.now();
    } else if (Date.now() - since > TEST_TIMEOUT_MS) {
      const { passed = 0, failures = [], files = {}, current = "loading" } = tally ?? {};
      failures.push({ name: "the page ends", message: `it is stuck at "${current}"\n${text}` });
      return { passed, failures, files };
    }
    await new Promise((resolve) => setTimeout(resolve, POLL));
  }
}
