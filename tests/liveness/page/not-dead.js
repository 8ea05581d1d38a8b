// Events that look like a death but are not: calls stay pending, and are answered in the end.

import { connectedWorker, frame } from "./boundaries.js";
import { ending, many, pause, RUNS } from "./measure.js";
import { spin } from "../fixtures/serve.js";

/** A heartbeat of which several pass while something is blocked. */
const SHORT = 500;
const BLOCK = 3_000;
/** Longer than the heartbeat, which it is by default. */
const LONG_BLOCK = 12_000;

/**
 * Has calls open during `meanwhile(pairs)`, and then counts those that have ended: none may have. A later call is
 * answered, and so everything that was sent meanwhile has come.
 */
async function stayAlive(open, meanwhile, { runs = RUNS, close = () => {} } = {}) {
  const pairs = await many(runs, open);
  const ended = [];
  try {
    for (const { peer } of pairs) ending(peer.request("never", [], { timeout: 0 })).then((end) => ended.push(end));
    // For the signs of life that are arranged when a session begins.
    await pause(SHORT);
    await meanwhile(pairs);
    // By now, late timers have fired.
    await pause(2 * SHORT);
    const answers = await Promise.all(pairs.map(({ peer }) => ending(peer.request("echo"))));
    const deaths = [...ended, ...answers.filter(({ reason }) => reason !== "answered")];
    return deaths.map(({ reason }) => reason);
  } finally {
    for (const pair of pairs) {
      pair.peer.destroy();
      close(pair);
    }
  }
}

/** Fails if this event of the document does not come while the driver is at work. */
async function during(event, act) {
  let came = false;
  document.addEventListener(event, () => (came = true), { once: true });
  await act();
  if (!came) throw new Error(`there was no ${event} event`);
}

const remove = { close: ({ element }) => element.remove() };
const terminate = { close: ({ worker }) => worker.terminate() };
const sandboxed = () => frame("sandboxed", { heartbeat: SHORT });

export const notDead = {
  "a worker blocks for twelve seconds": () =>
    stayAlive(
      () => connectedWorker(),
      (pairs) => Promise.all(pairs.map(({ peer }) => peer.request("block", [LONG_BLOCK], { timeout: 0 }))),
      // Each holds a connection to the server, of which a browser has six.
      { ...terminate, runs: 4 },
    ),
  "this page blocks for three seconds, with a heartbeat of half a second": () =>
    stayAlive(sandboxed, async () => spin(BLOCK), remove),
  "this page is hidden, with a heartbeat of half a second": (driver) =>
    stayAlive(sandboxed, () => during("visibilitychange", () => driver("hide the page", BLOCK)), remove),
  "this page is frozen, with a heartbeat of half a second": (driver) =>
    stayAlive(sandboxed, () => during("freeze", () => driver("freeze the page", BLOCK)), remove),
};
