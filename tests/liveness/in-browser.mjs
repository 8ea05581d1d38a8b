// Runs the kinds of bounds.json in a browser. page.html runs most kinds. It posts their outcomes, and requests actions
// that only the driver of the browser can do. This file itself runs the kinds that leave the page.

import { startBrowser } from "../web/runner/browsers.mjs";
import { startServers } from "../web/runner/server.mjs";
import { startSockets } from "../web/runner/sockets.mjs";
import { PageStates, leaveAndReturn } from "./back-forward.mjs";
import { keepsConnected } from "./bounds.mjs";
import { runAction } from "./driver.mjs";
import { RUNS } from "./page/measure.js";

/** The page is stuck if it posts nothing for this number of milliseconds. */
const TEST_TIMEOUT_MS = 60_000;
/**
 * Kinds that may take this number of milliseconds or more run at the same time, before the other kinds. The kinds that
 * hide the page also run at this time.
 */
const SLOW_MS = 10_000;

/** Resolves to the outcomes of the kinds, by id. The kinds with `isHidden` hide the page for `hiddenMs` ms. */
export async function runKinds(engine, kinds, { hiddenMs }) {
  const hiding = kinds.filter(({ isHidden }) => isHidden);
  const others = kinds.filter(({ isHidden, isNavigated }) => !isHidden && !isNavigated);
  const navigated = kinds.filter(({ isNavigated }) => isNavigated);
  // Some kinds in `others` open popups, which also hide the page. The bounds of `others` are those of a visible page,
  // so these kinds run in a browser that does not slow hidden pages.
  return {
    ...(await runInBrowser(engine, others, { hiddenMs: 0, slowsHiddenPages: false })),
    ...(await runInBrowser(engine, hiding, { hiddenMs, slowsHiddenPages: true })),
    ...(await runNavigated(engine, navigated)),
  };
}

/** Returns the groups of ids that the page runs. The kinds of a group run at the same time. */
function groupsOf(kinds) {
  const together = kinds.filter(({ within, isHidden }) => within >= SLOW_MS || isHidden);
  const others = kinds
    .filter((kind) => !together.includes(kind))
    .sort((a, b) => (b.mustStayAlive ?? 0) - (a.mustStayAlive ?? 0));
  const groups = [together, ...others.map((kind) => [kind])];
  return groups.filter((group) => group.length > 0).map((group) => group.map(({ id }) => id));
}

/** Runs the kinds in a new browser. */
async function runInBrowser(engine, kinds, { hiddenMs, slowsHiddenPages }) {
  if (kinds.length === 0) return {};
  const ids = groupsOf(kinds);

  let browser;
  const results = {};
  const sockets = startSockets();
  const act = (action, argument) =>
    action === "control a socket server"
      ? sockets.handle(argument).then((answer) => ({ answer }))
      : runAction(browser.driver, action, argument);
  let timer;
  let end;
  const ended = new Promise((resolve) => (end = resolve));
  const servers = await startServers(async ({ id, result, done, error, action, argument }) => {
    timer?.refresh();
    if (done) end(error);
    else if (id !== undefined) results[id] = result;
    else return act(action, argument);
  });
  try {
    browser = await startBrowser(engine, [], { slowsHiddenPages });
    const query = new URLSearchParams({
      kinds: JSON.stringify(ids),
      runs: RUNS,
      hidden: hiddenMs,
      hiding: kinds.filter(({ isHidden }) => isHidden).length,
      ...servers.origins,
    });
    timer = setTimeout(() => end("the page is stuck"), hiddenMs + TEST_TIMEOUT_MS);
    // If the driver never answers, this timer also reports that the page is stuck.
    browser.driver
      .get(`${servers.origins.own}/tests/liveness/page/page.html?${query}`)
      .catch(({ message }) => end(message));
    const error = await ended;
    for (const { id } of kinds) results[id] ??= { error };
    return results;
  } finally {
    clearTimeout(timer);
    await browser?.stop();
    sockets.stop();
    servers.stop();
  }
}

/** Runs the kinds that leave the page, in a new browser. */
async function runNavigated(engine, kinds) {
  if (kinds.length === 0) return {};
  const sockets = startSockets();
  const states = new PageStates();
  const servers = await startServers((state) => states.take(state));
  const browser = await startBrowser(engine, [], { slowsHiddenPages: true });
  const options = { states, runs: RUNS, keepsConnected: keepsConnected(engine) };
  try {
    return await leaveAndReturn(browser.driver, servers.origins.own, sockets, options);
  } catch (error) {
    return Object.fromEntries(kinds.map(({ id }) => [id, { error: error.message }]));
  } finally {
    await browser.stop();
    sockets.stop();
    servers.stop();
  }
}
