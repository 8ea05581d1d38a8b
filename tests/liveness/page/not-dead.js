// Tests states of a peer that resemble its end. During such a state, calls must stay pending. After it, calls must be
// answered.

import { connectedWorker, frame } from "./boundaries.js";
import { endOf, repeat, pause, RUNS } from "./measure.js";
import { hidePage } from "./visibility.js";
import { spin } from "../fixtures/serve.js";

/** A heartbeat in milliseconds, of which several elapse during `BLOCK_MS`. */
const HEARTBEAT_MS = 500;
/** The time for which this page is blocked or frozen. */
const BLOCK_MS = 3_000;
/** The time for which a worker is blocked. It is longer than the default heartbeat. */
const LONG_BLOCK_MS = 12_000;

/**
 * Makes calls without a response, runs `meanwhile(pairs)`, and makes calls that must be answered. Returns the reasons
 * of all faults: of calls without a response that ended, and of the later calls that were not answered.
 */
async function stayAlive(open, meanwhile, { runs = RUNS, close = () => {} } = {}) {
  const pairs = await repeat(runs, open);
  const ended = [];
  try {
    for (const { peer } of pairs) endOf(peer.request("never", [], { timeout: 0 })).then((end) => ended.push(end));
    // During this pause, the peers of each session start to check each other.
    await pause(HEARTBEAT_MS);
    await meanwhile(pairs);
    // During this pause, delayed timers fire.
    await pause(2 * HEARTBEAT_MS);
    const answers = await Promise.all(pairs.map(({ peer }) => endOf(peer.request("echo"))));
    const endedCalls = [...ended, ...answers.filter(({ reason }) => reason !== "answered")];
    return endedCalls.map(({ reason }) => reason);
  } finally {
    for (const pair of pairs) {
      pair.peer.destroy();
      close(pair);
    }
  }
}

/** Runs `action`, and fails if the document receives no event of the type `event` during `action`. */
async function runDuringEvent(event, action) {
  let hasFired = false;
  document.addEventListener(event, () => (hasFired = true), { once: true });
  await action();
  if (!hasFired) throw new Error(`the document must receive a ${event} event`);
}

const remove = { close: ({ element }) => element.remove() };
const terminate = { close: ({ worker }) => worker.terminate() };
const sandboxed = () => frame("sandboxed", { heartbeat: HEARTBEAT_MS });

export const notDead = {
  "a worker blocks for twelve seconds": () =>
    stayAlive(
      () => connectedWorker(),
      (pairs) => Promise.all(pairs.map(({ peer }) => peer.request("block", [LONG_BLOCK_MS], { timeout: 0 }))),
      // Each blocked worker needs a connection to the server, and a browser opens at most six connections.
      { ...terminate, runs: 4 },
    ),
  "this page blocks for three seconds, with a heartbeat of half a second": () =>
    stayAlive(sandboxed, async () => spin(BLOCK_MS), remove),
  "this page is hidden, with a heartbeat of half a second": (driver) =>
    stayAlive(sandboxed, async () => (await hidePage(driver)).shown, remove),
  "this page is frozen, with a heartbeat of half a second": (driver) =>
    stayAlive(sandboxed, () => runDuringEvent("freeze", () => driver("freeze the page", BLOCK_MS)), remove),
};
