// Runs the specs in a browser. The page of tests/web loads them, on the origin of the attacked party.

import { startBrowser } from "../../web/runner/browsers.mjs";
import { watch } from "../../web/runner/in-browser.mjs";
import { startSite } from "./site.mjs";

/** With these options of Chromium, the specs can collect garbage and read the exact size of the heap. */
const CHROMIUM = ["--js-flags=--expose-gc", "--enable-precise-memory-info", "--site-per-process"];

export async function runInBrowser(engine, specs, settings) {
  const site = await startSite();
  let browser;
  try {
    browser = await startBrowser(engine, CHROMIUM);
    const query = new URLSearchParams({
      specs: specs.join(),
      ...settings,
      engine,
      parties: JSON.stringify(site.origins),
    });
    await browser.driver.get(`${site.origins.host}/tests/web/runner/page.html?${query}`);
    const tally = await watch(browser.driver);
    const { figures = [], measured = [] } = await browser.driver.executeScript(
      "const { figures, measured } = window; return { figures, measured };",
    );
    return { ...tally, figures, measured };
  } finally {
    await browser?.stop();
    site.stop();
  }
}
