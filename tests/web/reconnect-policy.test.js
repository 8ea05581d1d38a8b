// The reconnect policy in virtual time: the vectors that the Rust tests also run, the defaults and the jitter.

import { assert } from "chai";
import { ReconnectPolicy } from "./support/sockets.js";
import { inNode } from "./support/portway.js";

const read = async (file) => {
  const url = new URL(`../data/${file}`, import.meta.url);
  if (!inNode) return (await fetch(url)).json();
  return JSON.parse(await (await import("node:fs/promises")).readFile(url, "utf8"));
};
const vectors = await read("reconnect.json");
const limits = await read("limits.json");

describe("the reconnect policy", () => {
  for (const { name, options, steps } of vectors) {
    it(`passes the vector: ${name}`, () => {
      // In the vectors, the jitter is a percentage of the delay.
      let percent = 100;
      const jitter = (delay) => Math.floor((delay * percent) / 100);
      const policy = new ReconnectPolicy({ ...options, jitter });
      for (const step of steps) {
        const { at, code, verdict, granted } = step;
        percent = step.jitter ?? 100;
        if (step.do === "lost") policy.lost(at, code ?? undefined, verdict);
        else if (step.do === "hurry") assert.equal(policy.hurry(), granted);
        if (step.do === "start") policy.start();
        if (step.do === "opened") policy.opened(at);
        if (step.do === "timeout") policy.handleTimeout(at);
        if (step.do === "close") policy.close();
        for (const member of ["state", "due", "delay", "attempt"]) {
          if (step[member] === undefined) continue;
          assert.equal(policy[member] ?? null, step[member], `${member} after ${JSON.stringify(step)}`);
        }
      }
    });
  }

  it("has the defaults of the table of limits", () => {
    const valueOf = (name) => limits.find((row) => row.name === name).value;
    const policy = new ReconnectPolicy({ jitter: (delay) => delay });
    policy.start();
    policy.lost(0, 1006);
    assert.equal(policy.delay, valueOf("reconnect-delay"));
    policy.handleTimeout(policy.due);
    policy.opened(1_000);
    assert.equal(policy.due - 1_000, valueOf("reconnect-hold"));
    for (let n = 0; n < 20; n++) {
      policy.lost(n * 100_000, 1006);
      policy.handleTimeout(policy.due);
    }
    assert.equal(policy.delay, valueOf("reconnect-cap"));
    // A server that restarts closes its connections with 1012.
    const policyAfterRestart = new ReconnectPolicy({ jitter: () => 0 });
    policyAfterRestart.start();
    policyAfterRestart.lost(0, 1012);
    assert.equal(policyAfterRestart.delay, valueOf("restart-delay"));
  });

  it("passes the delay and the number of earlier failures to `jitter`", () => {
    const seen = [];
    const policy = new ReconnectPolicy({ jitter: (...args) => (seen.push(args), 0) });
    policy.start();
    for (let n = 0; n < 3; n++) {
      policy.lost(n, 1006);
      policy.handleTimeout(n);
    }
    assert.deepEqual(seen, [
      [500, 0],
      [1_000, 1],
      [2_000, 2],
    ]);
  });

  it("distributes the attempts of a thousand clients evenly over the whole delay", () => {
    const counts = Array(10).fill(0);
    for (let client = 0; client < 1_000; client++) {
      const policy = new ReconnectPolicy({ base: 10_000 });
      policy.start();
      policy.lost(0, 1006);
      counts[Math.floor(policy.delay / 1_000)]++;
    }
    // Each tenth of the delay has 100 clients on average, with a standard deviation of 9.5.
    for (const count of counts) assert.isTrue(count > 40 && count < 160, String(counts));
  });

  it("throws for a negative option", () => {
    for (const name of ["base", "cap", "hold", "restart"])
      assert.throws(
        () => new ReconnectPolicy({ [name]: -1 }),
        `reconnect.${name} must be a number of milliseconds, at least 0, got -1`,
      );
  });
});
