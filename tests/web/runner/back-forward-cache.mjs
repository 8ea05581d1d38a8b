// Tests a page that the browser leaves, keeps in the back/forward cache, and shows again. A spec runs in a page and
// ends when the browser leaves this page, so this test controls the browser by WebDriver instead.

const TEST_TIMEOUT_MS = 30_000;
const stateScript = "return window.state && JSON.stringify(window.state());";

/** Runs the test and adds its result to the counts of the specs. */
export async function testBackForwardCache(driver, origin, tally) {
  const name = "a page in the back/forward cache";
  const count = (kind) => ((tally.files["back-forward-cache.mjs"] ??= { passed: 0, failed: 0 })[kind] += 1);
  try {
    await driver.get(`${origin}/tests/web/fixtures/cached-page.html`);
    await untilState(driver, ({ ready }) => ready);
    await driver.get(`${origin}/tests/web/fixtures/scripted-iframe.html`);
    await driver.navigate().back();
    const { log } = await untilState(
      driver,
      ({ ready, log }) =>
        ready && (!log.includes("pagehide") || log.filter((line) => line.startsWith("answer")).length === 2),
    );
    // If the browser has loaded the page anew, the cache cannot be tested.
    if (!log.includes("pagehide"))
      return void (tally.notes = [
        `${name}: not tested, because this browser has no back/forward cache under its driver`,
      ]);
    for (const event of expectedEvents) {
      if (!log.includes(event)) throw new Error(`the log must contain "${event}", got ${log.join("; ")}`);
    }
    if (log.length !== expectedEvents.length)
      throw new Error(`the log must have ${expectedEvents.length} entries, got ${log.join("; ")}`);
    tally.passed++;
    count("passed");
  } catch (error) {
    count("failed");
    tally.failures.push({ name, message: error.stack });
  }
}

/** The entries that the log of the page must have, in any order. */
const expectedEvents = [
  "pagehide",
  "pageshow",
  ...["worker", "iframe"].flatMap((name) => [
    `${name}: session 1`,
    `${name}: session-ended`,
    `${name}: a call is session-ended`,
    `${name}: session 2`,
  ]),
  "answer 0",
  "answer 1",
];

async function untilState(driver, isExpected) {
  const deadline = Date.now() + TEST_TIMEOUT_MS;
  for (;;) {
    const text = await driver.executeScript(stateScript).catch(() => undefined);
    const currentState = text && JSON.parse(text);
    if (currentState && isExpected(currentState)) return currentState;
    if (Date.now() > deadline) throw new Error(`the page did not reach the expected state, got ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
