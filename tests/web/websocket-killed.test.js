// A server that is killed by SIGKILL at random moments, and restarted on its port, while a client calls it. In Node,
// PORTWAY_ROUNDS is the number of kills, and PORTWAY_SEED repeats the moments of an earlier run.

import { assert } from "chai";
import { connectTo, startServer } from "./support/sockets.js";
import { inNode } from "./support/portway.js";
import { pause, until } from "./support/outcomes.js";

const { PORTWAY_ROUNDS, PORTWAY_SEED } = inNode ? process.env : {};
/** The number of kills. It is small by default, because the server is started again after each kill. */
const rounds = Number(PORTWAY_ROUNDS ?? (inNode ? 30 : 10));
const seed = Number(PORTWAY_SEED ?? Math.floor(Math.random() * 2 ** 32));
const CALLERS = 8;
/** The server is killed within this time (ms) after its start. */
const MAX_LIFE_MS = 60;
/** The server answers within this time (ms) after the execution. */
const MAX_WORK_MS = 10;
/** The milliseconds that a round may take on a busy machine. */
const ROUND_TIMEOUT = 4_000;

/** A xorshift generator of numbers from 0 to 1. */
function randomNumbers(seed) {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

describe("A server that is killed at random moments", () => {
  it(`runs calls that are not idempotent at most once, and each call ends once (seed ${seed})`, async function () {
    this.timeout(rounds * ROUND_TIMEOUT);
    const random = randomNumbers(seed);
    const server = await startServer(true);
    const { peer, named } = connectTo(server.url, { reconnect: { base: 5, cap: 20 } }, { timeout: 0 });
    /** The number of connections that were lost until now. */
    const lostCount = () => named("onLost").length;
    /**
     * The calls by number. `ends` has the outcomes of a call, `runs` is the number of its executions, and `losses` is
     * the number of connections that were lost while the call was pending.
     */
    const calls = [];
    let isOver = false;
    const answered = { true: 0, false: 0 };

    async function caller(idempotent) {
      while (!isOver) {
        const call = { idempotent, ends: [], runs: 0, losses: 0 };
        const number = calls.push(call) - 1;
        const before = lostCount();
        try {
          const result = await peer.request("run", [number, Math.random() * MAX_WORK_MS], { idempotent });
          answered[idempotent]++;
          call.ends.push(result === number ? "answered" : `got ${result} for ${number}`);
        } catch (error) {
          call.ends.push(error.reason ?? String(error));
          // The calls end before the event of the lost connection.
          await pause(0);
          call.losses = lostCount() - before;
        }
      }
    }

    const callers = Array.from({ length: CALLERS }, (_, n) => caller(n % 2 === 0));
    const count = async () => {
      for (const number of await server.executions()) calls[number].runs++;
    };
    for (let round = 0; round < rounds; round++) {
      await pause(random() * MAX_LIFE_MS);
      await server.signal("SIGKILL");
      await count();
      await server.restart();
    }
    // On a busy machine, the server may have answered few calls before its last kill.
    const isEnough = () => answered.true > rounds && answered.false > rounds;
    await until(isEnough, "the server answers too few calls after its last start", ROUND_TIMEOUT * 4);
    isOver = true;
    await Promise.all(callers);
    await count();

    const counts = {};
    for (const [number, { idempotent, ends, runs, losses }] of calls.entries()) {
      const [end] = ends;
      const state = `call ${number}, idempotent: ${idempotent}, executed ${runs} times, lost ${losses}, ended ${ends}`;
      assert.lengthOf(ends, 1, state);
      // An idempotent call is sent at most ten times, so it may fail after ten lost connections.
      if (idempotent && losses < 10) assert.equal(end, "answered", state);
      else assert.include(["answered", "session-ended"], end, state);
      if (end === "answered") assert.isAtLeast(runs, 1, state);
      if (!idempotent) assert.isAtMost(runs, 1, state);
      const kind = `${idempotent ? "idempotent, " : ""}${end}, executed ${Math.min(runs, 2)}`;
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    if (PORTWAY_ROUNDS) process.stdout.write(`${rounds} kills, seed ${seed}: ${JSON.stringify(counts)}\n`);
  });
});
