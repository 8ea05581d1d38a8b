// The timeouts of calls, and the timers that a client needs for them.

import { assert } from "chai";
import { CallError, JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { channel, loopback, scriptedChannel, recorder } from "./support/transports.js";
import { isPending, pause, rejection, until } from "./support/outcomes.js";

/** The delay that a busy machine may add to a timer, in milliseconds. */
const SLACK = 1_500;
/** The rounding of the clock in browsers, in milliseconds. */
const ROUNDING = 1.5;

/** Makes a call that gets no response. Returns the milliseconds until the call fails by this timeout. */
async function timeUntilFailure(client, timeout) {
  const start = performance.now();
  await rejection(client.request("slow", undefined, { timeout }));
  return performance.now() - start;
}

/** Asserts that a call did not end early. The call may be late by up to a sixteenth of its timeout, plus SLACK. */
function assertInTime(elapsed, timeout) {
  assert.isAtLeast(elapsed, timeout - ROUNDING, "the call ended before its timeout");
  assert.isAtMost(elapsed, timeout + timeout / 16 + SLACK, "the call ended too long after its timeout");
}

describe("the timeout of a call", () => {
  let defaultTimeout;

  // The call takes ten seconds, so it runs during the other tests.
  before(() => {
    const start = performance.now();
    defaultTimeout = rejection(new JSONRPCClient(recorder()).request("slow")).then(({ message }) => {
      assert.equal(message, "JSON-RPC timeout: slow (id=1)");
      return performance.now() - start;
    });
  });

  it("rejects the call with the reason timeout and a message that names the method and the id", async () => {
    const client = new JSONRPCClient(recorder(), { timeout: 10 });
    for (const [method, id] of [
      ["build", 1],
      ["a b", 2],
      ["", 3],
    ]) {
      const error = await rejection(client.request(method));
      assert.instanceOf(error, CallError);
      assert.deepEqual([error.message, error.reason], [`JSON-RPC timeout: ${method} (id=${id})`, "timeout"]);
    }
  });

  it("is the option `timeout` of the call, or by default of its client", async () => {
    const client = new JSONRPCClient(recorder(), { timeout: 100_000 });
    assertInTime(await timeUntilFailure(client, 30), 30);
    assertInTime(await timeUntilFailure(new JSONRPCClient(recorder(), { timeout: 30 })), 30);
  });

  it("never ends a call early, and ends the call at most slightly late", async () => {
    const client = new JSONRPCClient(recorder());
    const timeouts = [1, 5, 16, 50, 100, 160, 250, 400];
    const times = await Promise.all(timeouts.map((timeout) => timeUntilFailure(client, timeout)));
    times.forEach((time, i) => assertInTime(time, timeouts[i]));
  });

  it("never ends a call early, even if other calls are pending when the call is made", async () => {
    const client = new JSONRPCClient(recorder());
    const others = [
      rejection(client.request("a", undefined, { timeout: 700 })),
      rejection(client.request("b", undefined, { timeout: 300 })),
    ];
    const times = [];
    for (let i = 0; i < 12; i++) {
      await pause(17);
      times.push(timeUntilFailure(client, 150).then((time) => assertInTime(time, 150)));
    }
    await Promise.all([...times, ...others]);
  });

  it("is not shortened by the timeout of an earlier call that has ended", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport, { timeout: 1_000 });
    const first = client.request("a");
    // The response is sent at once. A busy machine may delay the response, and the call must not time out before the
    // response arrives.
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: 1 });
    await first;
    await pause(300);
    assertInTime(await timeUntilFailure(client), 1_000);
  });

  for (const timeout of [0, Infinity]) {
    it(`is disabled if it is ${timeout}`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const client = new JSONRPCClient(transport, { timeout: 20 });
      const call = client.request("a", undefined, { timeout });
      assert.isTrue(await isPending(call, 100));
      remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "at last" });
      assert.equal(await call, "at last");
    });

    it(`is disabled for all calls of a client whose timeout is ${timeout}`, async () => {
      const client = new JSONRPCClient(recorder(), { timeout });
      const call = client.request("a");
      assert.isTrue(await isPending(call, 60));
      client.destroy();
      await rejection(call);
    });
  }

  for (const timeout of [2 ** 31 - 1, 2 ** 31, 2 ** 32 + 5, 1e15, Number.MAX_SAFE_INTEGER, 1e300]) {
    it(`may be ${timeout} ms, and does not end the call at once`, async () => {
      const client = new JSONRPCClient(recorder());
      const call = client.request("a", undefined, { timeout });
      assert.isTrue(await isPending(call, 60));
      assertInTime(await timeUntilFailure(client, 30), 30);
      assert.isTrue(await isPending(call, 30));
      client.destroy();
      await rejection(call);
    });
  }

  for (const timeout of [-1, NaN, -Infinity, "10", {}]) {
    const shown = typeof timeout === "object" ? JSON.stringify(timeout) : String(timeout);
    it(`causes a RangeError if it is ${shown}, and nothing is sent`, async () => {
      const transport = recorder();
      const client = new JSONRPCClient(transport);
      assert.instanceOf(await rejection((async () => client.request("a", undefined, { timeout }))()), RangeError);
      assert.equal(transport.sent.length, 0);
    });
  }

  it("makes the constructor of a client throw a RangeError if the option is negative or not a number", () => {
    for (const timeout of [-1, NaN, "10"]) assert.throws(() => new JSONRPCClient(recorder(), { timeout }), RangeError);
  });

  it("causes the client to ignore a late response", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const error = await rejection(client.request("slow", undefined, { timeout: 10 }));
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "late" });
    const next = client.request("next");
    remoteEnd.post({ jsonrpc: "2.0", id: 2, result: "own" });
    assert.equal(await next, "own");
    assert.equal(error.reason, "timeout");
    assert.equal(client.pending, 0);
  });

  it("removes the call from the pending calls", async () => {
    const client = new JSONRPCClient(recorder());
    await rejection(client.request("slow", undefined, { timeout: 10 }));
    assert.equal(client.pending, 0);
  });

  it("does not end other calls", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far)
      .method("later", async () => (await pause(80), "done"))
      .method("never", () => new Promise(() => {}));
    const client = new JSONRPCClient(near);
    const [never, later] = await Promise.allSettled([
      client.request("never", undefined, { timeout: 20 }),
      client.request("later", undefined, { timeout: 5000 }),
    ]);
    assert.deepEqual([never.reason.reason, later.value], ["timeout", "done"]);
  });

  it("is ten seconds by default", async function () {
    this.timeout(60_000);
    assertInTime(await defaultTimeout, 10_000);
  });

  it("ends each of 5 000 calls with a separate error", async () => {
    const client = new JSONRPCClient(recorder(), { timeout: 30 });
    const errors = await Promise.all(Array.from({ length: 5_000 }, () => rejection(client.request("a"))));
    assert.isTrue(errors.every(({ reason }) => reason === "timeout"));
    assert.equal(new Set(errors.map(({ message }) => message)).size, 5_000);
    assert.equal(client.pending, 0);
  });
});

describe("the timers of a client", () => {
  /** Returns the maximum number of timers during `run` (`max`), and the number that remain afterwards (`remaining`). */
  async function timersDuring(run) {
    const originals = { setTimeout, clearTimeout };
    const { setTimeout: set, clearTimeout: clear } = originals;
    const active = new Set();
    let max = 0;
    let maxInRun = 0;
    globalThis.setTimeout = (callback, ...rest) => {
      const timer = set(
        () => {
          active.delete(timer);
          callback();
        },
        ...rest,
      );
      active.add(timer);
      max = Math.max(max, active.size);
      return timer;
    };
    globalThis.clearTimeout = (timer) => {
      active.delete(timer);
      clear(timer);
    };
    try {
      await run();
      maxInRun = max;
      // On a busy machine, an earlier test may have set a timer during `run`. Such a timer ends within this second, but
      // the timer of a pending call does not.
      for (let n = 0; n < 200 && active.size > 0; n++) await new Promise((resolve) => set(resolve, 5));
    } finally {
      Object.assign(globalThis, originals);
    }
    return { remaining: active.size, max: maxInRun };
  }

  it("are one timer, however many calls are pending", async () => {
    const client = new JSONRPCClient(recorder());
    const { max } = await timersDuring(() => {
      for (let i = 0; i < 1000; i++) client.request("a").catch(() => {});
    });
    client.destroy();
    assert.equal(max, 1);
  });

  it("end when the client is destroyed", async () => {
    const { remaining } = await timersDuring(async () => {
      const client = new JSONRPCClient(recorder());
      const call = client.request("a");
      client.destroy();
      await rejection(call);
    });
    assert.equal(remaining, 0);
  });

  it("end after all calls have timed out", async () => {
    const client = new JSONRPCClient(recorder());
    const { remaining } = await timersDuring(() => rejection(client.request("a", undefined, { timeout: 10 })));
    assert.equal(remaining, 0);
  });

  it("do not exist for calls without a timeout", async () => {
    const client = new JSONRPCClient(recorder(), { timeout: 0 });
    const { max } = await timersDuring(() => void client.request("a").catch(() => {}));
    client.destroy();
    assert.equal(max, 0);
  });
});

describe("many calls, one after the other,", () => {
  for (const [kind, createPair] of [
    ["a port", channel],
    ["a transport that delivers synchronously", loopback],
  ]) {
    it(`read the clock and set a timer only a few times, over ${kind}`, async () => {
      const { near, far } = createPair();
      new JSONRPCServer(far).method("echo", (params) => params);
      const client = new JSONRPCClient(near);
      const { now } = performance;
      const { setTimeout } = globalThis;
      let reads = 0;
      let timers = 0;
      performance.now = () => (reads++, now.call(performance));
      globalThis.setTimeout = (...args) => (timers++, setTimeout(...args));
      try {
        for (let n = 0; n < 500; n++) await client.request("echo", [n]);
      } finally {
        delete performance.now;
        globalThis.setTimeout = setTimeout;
      }
      assert.isBelow(reads, 50);
      assert.isBelow(timers, 50);
    });
  }
});

describe("a call that times out", () => {
  const cancelled = (id) => ({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } });

  it("is cancelled once at the peer, whether it is a single call, part of a batch, or a stream", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport, { timeout: 20 });
    await rejection(client.request("slow"));
    const outcomes = await client.batch([{ method: "a" }, { method: "b" }, { method: "n", notify: true }]);
    assert.deepEqual(
      outcomes.map(({ reason }) => reason?.reason),
      ["timeout", "timeout", undefined],
    );
    await rejection(client.stream("items").next());
    client.notify("last");
    await until(() => remoteEnd.received.flat().at(-1)?.method === "last");
    const cancellations = remoteEnd.received.flat().filter(({ method }) => method === "$/cancelRequest");
    assert.deepEqual(cancellations, [1, 2, 3, 4].map(cancelled));
  });

  it("aborts the signal of its handler at the peer", async () => {
    const { near, far } = channel();
    const reasons = [];
    new JSONRPCServer(far).method(
      "slow",
      (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => (reasons.push(signal.reason.name), reject(signal.reason)));
        }),
    );
    const client = new JSONRPCClient(near);
    assert.equal((await rejection(client.request("slow", undefined, { timeout: 30 }))).reason, "timeout");
    await until(() => reasons.length > 0);
    assert.deepEqual(reasons, ["AbortError"]);
  });

  it("may get a late response, as an aborted call may: `client.ignored` does not increase", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport, { timeout: 10 });
    await rejection(client.request("slow"));
    const controller = new AbortController();
    const call = client.request("aborted", undefined, { signal: controller.signal });
    controller.abort();
    await rejection(call);
    for (const id of [1, 2]) transport.deliver({ jsonrpc: "2.0", result: "late", id });
    transport.deliver({ jsonrpc: "2.0", error: { code: -32800, message: "Request cancelled" }, id: 2 });
    assert.equal(client.ignored, 0);
    transport.deliver({ jsonrpc: "2.0", result: "never asked for", id: 3 });
    assert.equal(client.ignored, 1);
  });
});

describe("calls that time out at the same time", () => {
  it("all end, even if the transport refuses their cancellations and onError makes calls", async () => {
    const transport = recorder();
    const { send } = transport;
    transport.send = (message) => {
      if (message.method === "$/cancelRequest") throw new Error("closed");
      send.call(transport, message);
    };
    const laterCalls = [];
    const onError = () => laterCalls.length < 6 && laterCalls.push(timeUntilFailure(client, 300));
    const client = new JSONRPCClient(transport, { timeout: 60, onError });
    const calls = Array.from({ length: 6 }, () => rejection(client.request("slow")));
    for (const call of calls) assert.equal((await call).reason, "timeout");
    assert.isNotEmpty(laterCalls);
    for (const time of await Promise.all(laterCalls)) assertInTime(time, 300);
    assert.equal(client.pending, 0);
  });

  it("all end, and calls that are made while the peer handles the cancellations get their results", async () => {
    const { near, far } = loopback();
    const laterCalls = [];
    const here = new JSONRPCPeer(near, { timeout: 60 });
    const there = new JSONRPCPeer(far);
    there.method(
      "slow",
      (_, { signal, notify }) => new Promise(() => signal.addEventListener("abort", () => notify("stopped"))),
    );
    there.method("echo", (params) => pause(100).then(() => params));
    here.onNotify("stopped", () => laterCalls.push(here.request("echo", [laterCalls.length], { timeout: 5_000 })));
    const calls = Array.from({ length: 6 }, () => rejection(here.request("slow")));
    for (const call of calls) assert.equal((await call).reason, "timeout");
    await until(() => laterCalls.length === 6);
    assert.deepEqual(await Promise.all(laterCalls), [[0], [1], [2], [3], [4], [5]]);
    assert.equal(here.pending, 0);
  });
});
