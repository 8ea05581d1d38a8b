// Opens pages in headless Chromium, and collects their results and all their errors.

export { launch } from "../chromium.mjs";

const TEST_TIMEOUT_MS = 20_000;

/**
 * Opens a page and waits until the page has set `globalThis.outcome`. Resolves to `{ outcome, faults }`.
 *
 * `faults` are the console errors and warnings, uncaught exceptions, failed requests and policy violations of the page.
 */
export async function visit(browser, url) {
  const page = await browser.newPage();
  const faults = [];
  const fault = (text) => faults.push(text.trim());
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) fault(`console ${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => fault(`uncaught ${error}`));
  page.on("crash", () => fault("the page crashed"));
  page.on("requestfailed", (request) => fault(`failed: ${request.url()}, ${request.failure()?.errorText}`));
  page.on("response", (response) => {
    if (response.status() >= 400) fault(`status ${response.status()}: ${response.url()}`);
  });
  await page.exposeFunction("reportViolation", (text) => fault(`policy: ${text}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) =>
      globalThis.reportViolation(`${effectiveDirective} forbids ${blockedURI}`),
    );
  });
  try {
    await page.goto(url);
    return { outcome: await outcomeOf(page, faults), faults };
  } finally {
    await page.close();
  }
}

// Polls the outcome. A Content-Security-Policy can forbid the script that `waitForFunction` would run in the page.
async function outcomeOf(page, faults) {
  for (const end = Date.now() + TEST_TIMEOUT_MS; Date.now() < end; await page.waitForTimeout(50)) {
    // This call fails while the page reloads. A development server can make a page reload.
    const outcome = await page.evaluate(() => globalThis.outcome).catch(() => undefined);
    if (outcome !== undefined) return outcome;
  }
  throw new Error(
    `no outcome after ${TEST_TIMEOUT_MS} ms; ${faults.length > 0 ? faults.join("\n") : "nothing was reported"}`,
  );
}
