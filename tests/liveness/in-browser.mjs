// Runs the kinds of bounds.json in a browser. page.html runs them, posts the outcomes, and requests actions that only a
// driver can do.

import { startBrowser } from "../web/runner/browsers.mjs";
import { startServers } from "../web/runner/server.mjs";
import { startSockets } from "../web/runner/sockets.mjs";
import { runAction } from "./driver.mjs";
import { RUNS } from "./page/measure.js";

/** The page is stuck if it posts nothing for this number of milliseconds. */
const TEST_TIMEOUT_MS = 60_000;
/** Kinds that may take this number of milliseconds or more run at the same time, before the other kinds. */
const SLOW = 10_000;

/** Resolves to the outcomes of the kinds, by id. */
export async function runKinds(engine, kinds) {
  const slow = kinds.filter(({ within }) => within >= SLOW);
  const others = kinds
    .filter((kind) => !slow.includes(kind))
    .sort((a, b) => (b.mustStayAlive ?? 0) - (a.mustStayAlive ?? 0));
  const groups = [slow, ...others.map((kind) => [kind])];
  const ids = groups.filter((group) => group.length > 0).map((group) => group.map(({ id }) => id));

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
    browser = await startBrowser(engine);
    const query = new URLSearchParams({ kinds: JSON.stringify(ids), runs: RUNS, ...servers.origins });
    await browser.driver.get(`${servers.origins.own}/tests/liveness/page/page.html?${query}`);
    timer = setTimeout(() => end("the page is stuck"), TEST_TIMEOUT_MS);
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
