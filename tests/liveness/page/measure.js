// Measures how fast calls fail: calls to a peer that has ended, and calls to a peer that never connects. Repeats each
// measurement.

const runsSetting =
  typeof location === "undefined" ? process.env.PORTWAY_RUNS : new URLSearchParams(location.search).get("runs");
/** The number of measurements of each kind. */
export const RUNS = Number(runsSetting ?? 20);
/** The milliseconds between two measurements, so that they start at different phases of the timers that poll a peer. */
const PAUSE_MS = 25;
/** The longest wait for the failure of a peer before the next peer starts. */
const MAX_START_WAIT_MS = 300;
/** A call hangs if it has not ended after this number of milliseconds. */
const TEST_TIMEOUT_MS = 16_000;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `make` `count` times without a pause. Resolves to the results. */
export const repeat = (count, make) => Promise.all(Array.from({ length: count }, (_, n) => make(n)));

/**
 * Resolves to the reason and the time of the end of a call. `clock` is the clock of the realm that made the call. The
 * returned promise belongs to the realm of this module, because promises of a closed window never settle.
 */
export function endOf(call, clock = performance) {
  return new Promise((resolve) => {
    call.then(
      () => resolve({ at: clock.now(), reason: "answered" }),
      (error) => resolve({ at: clock.now(), reason: error?.reason ?? `${error}` }),
    );
  });
}

const hung = () => pause(TEST_TIMEOUT_MS).then(() => ({ reason: "it hangs" }));

/**
 * Opens pairs of peers, ends one peer of each pair, and measures when a call of the other peer ends.
 *
 * `open(n)` returns `{ peer, clock? }`: the peer that makes the call, and the clock of its realm. `kill(pair, ended)`
 * ends the peer that receives the call. If `kill` runs `ended` while the call is pending, the measured time begins at
 * this moment, because a busy machine may end a document late. `killAll(pairs)` ends the receiving peers of all pairs
 * at once, and returns the time at which they ended.
 */
export async function measure({
  runs = RUNS,
  open,
  kill,
  killAll,
  close = () => {},
  timeout = 0,
  pauseBetween = PAUSE_MS,
}) {
  const pairs = await repeat(runs, open);
  const killTimes = Array(runs);
  const closePair = (pair) => {
    pair.peer.destroy();
    close(pair);
  };
  try {
    const ends = pairs.map(({ peer, clock }) => endOf(peer.request("never", [], { timeout }), clock));
    // Each pair is closed when its call ends. The iframe of an open pair may load a new document, which would delay
    // other measurements.
    const hasEnded = new Set();
    ends.forEach((end, n) =>
      end.then(() => {
        hasEnded.add(n);
        if (killTimes[n] !== undefined) closePair(pairs[n]);
      }),
    );
    // When a peer has answered this later call, it has received the earlier call.
    await Promise.all(pairs.map(({ peer }) => peer.request("echo", [], { timeout: TEST_TIMEOUT_MS })));
    if (killAll !== undefined) killTimes.fill(await killAll(pairs));
    else {
      for (const [n, pair] of pairs.entries()) {
        const now = () => (pair.clock ?? performance).now();
        killTimes[n] = now();
        kill(pair, () => {
          if (!hasEnded.has(n)) killTimes[n] = now();
        });
        await pause(pauseBetween);
      }
    }
    return await outcomes(ends, killTimes);
  } finally {
    pairs.forEach(closePair);
  }
}

/**
 * Measures peers that never connect. `begin(n, started)` starts a peer, and returns the promise that must reject. If
 * `begin` runs `started`, the measured time begins at this moment, because a busy machine may start a worker late.
 */
export async function measureStart({ runs = RUNS, begin }) {
  const startTimes = [];
  const ends = [];
  for (let n = 0; n < runs; n++) {
    startTimes.push(performance.now());
    ends.push(endOf(begin(n, () => (startTimes[n] = performance.now()))));
    // Waits until this peer has failed, but at most MAX_START_WAIT_MS, because peers that start at the same time delay
    // each other.
    await Promise.race([ends[n], pause(MAX_START_WAIT_MS)]);
  }
  return outcomes(ends, startTimes);
}

/** Resolves to the times from `startTimes` to the ends, and to the reasons of the ends. */
export async function outcomes(ends, startTimes) {
  const all = await Promise.all(ends.map((end) => Promise.race([end, hung()])));
  return all.map(({ at, ...rest }, n) => ({ ms: at === undefined ? undefined : at - startTimes[n], ...rest }));
}
