// Measures the kinds of bounds.json with `isNavigated`: leaves a page with a WebSocket, and returns to it, by real
// navigations. The runner navigates, because the page that runs the other kinds cannot leave itself.

import { setTimeout as pause } from "node:timers/promises";

const ENTERS = "the page enters the back/forward cache";
const RETURNS = "the page returns from the back/forward cache";

const TIMEOUT_MS = 15_000;
const POLL_MS = 20;

/** Resolves to the answer of the driver to a command. Rejects after a timeout, since the driver may lose an answer. */
async function answered(what, command) {
  const timeout = new AbortController();
  const late = pause(TIMEOUT_MS, undefined, { signal: timeout.signal }).then(() => {
    throw new Error(`the driver has not answered within ${TIMEOUT_MS} ms: ${what}`);
  });
  try {
    return await Promise.race([command, late]);
  } finally {
    late.catch(() => {});
    timeout.abort();
  }
}

/** The states that the pages post. */
export class PageStates {
  #last;

  /** Takes a posted state. */
  take(state) {
    this.#last = state;
  }

  /** Runs `action`, and waits until a page has posted `state`. Resolves to the posted data. */
  async after(action, state) {
    this.#last = undefined;
    await action();
    return until(`the page is ${state}`, async () => this.#last?.state === state && this.#last);
  }
}

const hasEnded = ({ closedAt }) => closedAt !== undefined;

/**
 * Leaves the page and returns to it. Resolves to the outcomes of the kinds `ENTERS` and `RETURNS`, by id. `states`
 * takes the states that the pages post. `keepsConnected` is whether the browser keeps a page in its cache although the
 * page has a connection. If the browser does not keep such a page, `RETURNS` is measured while the page has no
 * connection and waits to connect again.
 */
export async function leaveAndReturn(driver, origin, sockets, { states, runs, keepsConnected }) {
  const server = await sockets.handle({ action: "start" });
  const run = (command, values) => sockets.handle({ action: "run", number: server.number, command, ...values });
  const other = `${origin}/tests/liveness/page/away.html`;
  let trips = 0;

  // The scripts begin a navigation only after they have returned, so that the browser does not lose their results.
  const byScript = (script, ...values) =>
    driver.executeScript(`setTimeout((...args) => ${script}, 0, ...arguments)`, ...values);

  /** Goes to the other page: every second time as a link does, and otherwise as the address bar does. */
  const leave = () =>
    states.after(
      () => answered("leave", trips++ % 2 === 0 ? byScript("(location.href = args[0])", other) : driver.get(other)),
      "away",
    );

  const goBack = () =>
    states.after(
      () => answered("return", trips % 4 < 2 ? byScript("history.back()") : driver.navigate().back()),
      "connected",
    );

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

  /** Leaves the page while it waits to connect again. If the browser loads the page anew, the trip does not count. */
  async function tripWithoutConnection() {
    await run("set", { upgrades: "503" });
    await states.after(() => run("terminate"), "waiting");
    await leave();
    await run("set", { upgrades: "accept" });
    const { trip } = await goBack();
    if (trip.shownAt === undefined) return {};
    return { returns: { ms: trip.answeredAt - trip.shownAt, reason: "answered" } };
  }

  /**
   * Repeats a trip until there are `runs` wanted outcomes, but at most `2 * runs` times. An outcome may be unwanted,
   * because a browser may drop a page from its cache if memory is scarce.
   */
  async function repeat(trip, isWanted) {
    const outcomes = [];
    const isEnough = () => outcomes.filter(isWanted).length >= runs || outcomes.length >= 2 * runs;
    while (!isEnough()) outcomes.push(await trip());
    const wanted = outcomes.filter(isWanted);
    return { wanted, facts: `${wanted.length} of ${outcomes.length} trips as stated` };
  }

  const page = `${origin}/tests/liveness/page/left.html?port=${server.port}`;
  await states.after(() => answered("open the page", driver.get(page)), "connected");
  const hasReturned = ({ returns }) => returns !== undefined;
  const left = await repeat(tripWithConnection, (outcome) => hasReturned(outcome) === keepsConnected);
  const back = keepsConnected ? left : await repeat(tripWithoutConnection, hasReturned);
  return {
    [ENTERS]: { ends: left.wanted.map(({ enters }) => enters), facts: left.facts },
    [RETURNS]: { ends: back.wanted.map(({ returns }) => returns), facts: back.facts },
  };
}

/** Waits until `check` returns a truthy value, and returns this value. */
async function until(what, check) {
  for (const deadline = Date.now() + TIMEOUT_MS; ; await pause(POLL_MS)) {
    const value = await check();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`within ${TIMEOUT_MS} ms, this must hold: ${what}`);
  }
}
