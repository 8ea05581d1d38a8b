// From a death to the rejection of the call that it leaves open, many times over.

const asked =
  typeof location === "undefined" ? process.env.PORTWAY_RUNS : new URLSearchParams(location.search).get("runs");
/** How many of each kind die. */
export const RUNS = Number(asked ?? 20);
/** The time between deaths, so that they fall on every phase of a poll. */
const APART = 25;
const SLOW_START = 300;
/** A call that has not ended by then hangs. */
const TEST_TIMEOUT_MS = 16_000;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `make` `count` times, all at once. */
export const many = (count, make) => Promise.all(Array.from({ length: count }, (_, n) => make(n)));

/**
 * Resolves to the end of a call and its time, by the clock of the realm that made it. The promise is of this realm,
 * since those of a closed window never settle.
 */
export function ending(call, clock = performance) {
  return new Promise((resolve) => {
    call.then(
      () => resolve({ at: clock.now(), reason: "answered" }),
      (error) => resolve({ at: clock.now(), reason: error?.reason ?? `${error}` }),
    );
  });
}

const hung = () => pause(TEST_TIMEOUT_MS).then(() => ({ reason: "it hangs" }));

/**
 * Opens pairs, kills them, and measures.
 *
 * `open(n)` returns `{ peer, clock? }`: a peer in the realm that survives, and the clock of that realm. `kill(pair)`
 * kills the far end; `killAll(pairs)` kills all of them at once, and returns the time.
 */
export async function measure({ runs = RUNS, open, kill, killAll, close = () => {}, timeout = 0, apart = APART }) {
  const pairs = await many(runs, open);
  const since = Array(runs);
  const leave = (pair) => {
    pair.peer.destroy();
    close(pair);
  };
  try {
    const ends = pairs.map(({ peer, clock }) => ending(peer.request("never", [], { timeout }), clock));
    // Reloading documents in the place of the dead ones takes no time from later deaths.
    ends.forEach((end, n) => end.then(() => since[n] !== undefined && leave(pairs[n])));
    // The peer has answered a later call, so it has received the earlier one.
    await Promise.all(pairs.map(({ peer }) => peer.request("echo", [], { timeout: TEST_TIMEOUT_MS })));
    if (killAll !== undefined) since.fill(await killAll(pairs));
    else {
      for (const [n, pair] of pairs.entries()) {
        since[n] = (pair.clock ?? performance).now();
        kill(pair);
        await pause(apart);
      }
    }
    return await outcomes(ends, since);
  } finally {
    pairs.forEach(leave);
  }
}

/**
 * Measures pairs that never connect: `begin(n, started)` starts a pair and returns the promise that must reject. If it
 * calls `started`, the time counts from there, since a busy machine may start a worker late.
 */
export async function measureStart({ runs = RUNS, begin }) {
  const since = [];
  const ends = [];
  for (let n = 0; n < runs; n++) {
    since.push(performance.now());
    ends.push(ending(begin(n, () => (since[n] = performance.now()))));
    // One after the other where that is quick: many that start at once wait for each other, and not for us.
    await Promise.race([ends[n], pause(SLOW_START)]);
  }
  return outcomes(ends, since);
}

async function outcomes(ends, since) {
  const all = await Promise.all(ends.map((end) => Promise.race([end, hung()])));
  return all.map(({ at, ...rest }, n) => ({ ms: at === undefined ? undefined : at - since[n], ...rest }));
}
