// Measures the kinds of bounds.json with `isNavigated`: leaves a page with a WebSocket, and returns to it, by real
// navigations. The runner does this, because the page that runs the other kinds cannot leave itself.

import { setTimeout as pause } from "node:timers/promises";

const ENTERS = "the page enters the back/forward cache";
const RETURNS = "the page returns from the back/forward cache";

const TIMEOUT_MS = 15_000;
const POLL_MS = 20;

const hasEnded = ({ closedAt }) => closedAt !== undefined;

/**
 * Leaves the page and returns to it. Resolves to the outcomes of the kinds `ENTERS` and `RETURNS`, by id.
 * `keepsConnected` is whether the browser keeps a page in its cache although the page has a connection. If the browser
 * does not keep such a page, `RETURNS` is measured while the page has no connection and waits to connect again.
 */
export async function leaveAndReturn(driver, origin, sockets, { runs, keepsConnected }) {
  const server = await sockets.handle({ action: "start" });
  const run = (command, values) => sockets.handle({ action: "run", number: server.number, command, ...values });
  const other = `${origin}/tests/liveness/fixtures/empty.html`;
  let trips = 0;

  /** Goes to the other page: every second time as a link does, and otherwise as the address bar does. */
  async function leave() {
    if (trips++ % 2 === 0) await driver.executeScript("location.href = arguments[0]", other);
    else await driver.get(other);
    await until("the other page is shown", async () => (await driver.getCurrentUrl()) === other);
  }

  async function goBack() {
    if (trips % 4 < 2) await driver.executeScript("history.back()");
    else await driver.navigate().back();
    return pageIn(driver, "connected");
  }

  /** Leaves the page while it has a connection. */
  async function tripWithConnection() {
    const before = (await run("log")).length;
    await leave();
    await until("the server sees the end of the connection", async () => (await run("log")).every(hasEnded));
    const { trip, unloadedAt } = await goBack();
    const { connections, closedAt } = await until("only the last connection is open", async () => {
      const connections = (await run("log")).slice(before - 1);
      const ended = connections.slice(0, -1);
      return ended.every(hasEnded) && { connections, closedAt: Math.max(...ended.map(({ closedAt }) => closedAt)) };
    });
    // Firefox closes a connection when a navigation begins, and the client may connect again before the page is left.
    if (trip.shownAt === undefined) return { enters: { ms: closedAt - unloadedAt, reason: "unloaded" } };
    if (connections.length !== 2)
      throw new Error(`the page must open one connection when it returns, got ${connections.length - 1}`);
    // The call must have ended, and the server must have seen the close.
    const enters = { ms: Math.max(closedAt, trip.endedAt) - trip.leftAt, reason: trip.reason };
    return { enters, returns: { ms: trip.answeredAt - trip.shownAt, reason: "answered" } };
  }

  /** Leaves the page while it waits to connect again. The page may return as a new load, which does not count. */
  async function tripWithoutConnection() {
    await run("set", { upgrades: "503" });
    await run("terminate");
    await pageIn(driver, "waiting");
    await leave();
    await run("set", { upgrades: "accept" });
    const { trip } = await goBack();
    if (trip.shownAt === undefined) return {};
    return { returns: { ms: trip.answeredAt - trip.shownAt, reason: "answered" } };
  }

  /**
   * Repeats a trip until `runs` outcomes are wanted, but at most `2 * runs` times. Other outcomes occur because a
   * browser may drop a page from its cache if memory is scarce.
   */
  async function repeat(trip, isWanted) {
    const outcomes = [];
    const isEnough = () => outcomes.filter(isWanted).length >= runs || outcomes.length >= 2 * runs;
    while (!isEnough()) outcomes.push(await trip());
    const wanted = outcomes.filter(isWanted);
    return { wanted, facts: `${wanted.length} of ${outcomes.length} trips as stated` };
  }

  await driver.get(`${origin}/tests/liveness/page/left.html?port=${server.port}`);
  await pageIn(driver, "connected");
  const hasReturned = ({ returns }) => returns !== undefined;
  const left = await repeat(tripWithConnection, (outcome) => hasReturned(outcome) === keepsConnected);
  const back = keepsConnected ? left : await repeat(tripWithoutConnection, hasReturned);
  return {
    [ENTERS]: { ends: left.wanted.map(({ enters }) => enters), facts: left.facts },
    [RETURNS]: { ends: back.wanted.map(({ returns }) => returns), facts: back.facts },
  };
}

/** Waits until the page is in this state, and returns its data. */
function pageIn(driver, state) {
  return until(`the page is ${state}`, async () => {
    // The script fails while the browser changes the page.
    const text = await driver.executeScript("return window.state && window.state()").catch(() => undefined);
    const page = text && JSON.parse(text);
    return page?.state === state && page;
  });
}

/** Waits until `check` returns a value that is not false, and returns this value. */
async function until(what, check) {
  for (const deadline = Date.now() + TIMEOUT_MS; ; await pause(POLL_MS)) {
    const value = await check();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`within ${TIMEOUT_MS} ms, this must hold: ${what}`);
  }
}
