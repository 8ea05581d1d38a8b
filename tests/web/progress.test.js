// The effect of progress on the timeout of a call. context.test.js tests how progress is sent and received.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer } from "./support/portway.js";
import { channel, scriptedChannel, recorder } from "./support/transports.js";
import { isPending, pause, rejection } from "./support/outcomes.js";

/** Timers are late on a busy machine. The tests accept timers that are late by less than this number of ms. */
const MAX_LATENESS_MS = 2_500;

/**
 * Starts a call that the test answers: `sendProgress` sends a progress value of the call, and `answer` sends the
 * response. `seen` contains the progress values that the call has received.
 */
async function startCall(options) {
  const { transport, remoteEnd } = scriptedChannel();
  const client = new JSONRPCClient(transport);
  const seen = [];
  const start = performance.now();
  const call = client.request("work", undefined, { onProgress: (value) => seen.push(value), ...options });
  call.catch(() => {});
  const { id } = await remoteEnd.next();
  return {
    call,
    client,
    seen,
    elapsed: () => performance.now() - start,
    sendProgress: (value) => remoteEnd.post({ jsonrpc: "2.0", method: "$/progress", params: { token: id, value } }),
    answer: (result) => remoteEnd.post({ jsonrpc: "2.0", result, id }),
  };
}

describe("the progress of a call", () => {
  it("restarts the timeout, so that a call can last longer than its timeout", async () => {
    const { call, sendProgress, answer, seen, elapsed } = await startCall({ timeout: 700 });
    for (let n = 1; n <= 8; n++) {
      assert.isTrue(await isPending(call, 120));
      sendProgress(n);
    }
    assert.isAbove(elapsed(), 900);
    answer("done");
    assert.equal(await call, "done");
    assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("requires a function as onProgress: another value causes a TypeError, and nothing is sent", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    for (const onProgress of ["tell me", {}, 1]) {
      const error = await rejection(client.request("work", undefined, { onProgress }));
      assert.instanceOf(error, TypeError);
      assert.match(error.message, /onProgress/);
    }
    assert.deepEqual([transport.sent, client.pending], [[], 0]);
  });

  it("does not disable the timeout, which ends the call if no further progress arrives", async () => {
    const { call, client, sendProgress, elapsed } = await startCall({ timeout: 500 });
    await pause(250);
    sendProgress(1);
    const error = await rejection(call);
    assert.deepEqual([error.reason, client.pending], ["timeout", 0]);
    assert.isAtLeast(elapsed(), 740);
    assert.isBelow(elapsed(), 750 + MAX_LATENESS_MS);
  });

  it("does not restart the timeout of a call without onProgress, or of a call with another token", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport, { timeout: 120 });
    const calls = [client.request("deaf"), client.request("other", undefined, { onProgress() {} })];
    const errors = calls.map(rejection);
    const timer = setInterval(() => {
      for (const token of [1, 3, "2"])
        remoteEnd.post({ jsonrpc: "2.0", method: "$/progress", params: { token, value: 1 } });
    }, 20);
    try {
      for (const error of errors) assert.equal((await error).reason, "timeout");
    } finally {
      clearInterval(timer);
    }
  });

  it("does not extend the call beyond totalTimeout", async () => {
    const { call, sendProgress, seen, elapsed } = await startCall({ timeout: 800, totalTimeout: 1_200 });
    const timer = setInterval(() => sendProgress("still at it"), 20);
    try {
      assert.equal((await rejection(call)).reason, "timeout");
    } finally {
      clearInterval(timer);
    }
    assert.isAtLeast(elapsed(), 1_198);
    assert.isBelow(elapsed(), 1_200 + MAX_LATENESS_MS);
    assert.isAbove(seen.length, 3);
  });

  it("extends the call by default to at most sixty times its timeout", async () => {
    const { call, sendProgress, elapsed } = await startCall({ timeout: 20 });
    const timer = setInterval(() => sendProgress(1), 1);
    try {
      assert.equal((await rejection(call)).reason, "timeout");
    } finally {
      clearInterval(timer);
    }
    assert.isBelow(elapsed(), 1_200 + MAX_LATENESS_MS);
  });

  it("can transfer buffers, which are detached in the handler: progress from each of two peers", async () => {
    const { near, far } = channel();
    const peers = [new JSONRPCPeer(near), new JSONRPCPeer(far)];
    const remainingLengths = [];
    for (const peer of peers) {
      peer.method("work", (_, { progress }) => {
        const bytes = new Uint8Array([1, 2, 3]);
        progress({ bytes }, [bytes.buffer]);
        remainingLengths.push(bytes.byteLength);
      });
    }
    const seen = [];
    await Promise.all(
      peers.map((peer) => peer.request("work", undefined, { onProgress: ({ bytes }) => seen.push([...bytes]) })),
    );
    assert.deepEqual(
      [seen, remainingLengths],
      [
        [
          [1, 2, 3],
          [1, 2, 3],
        ],
        [0, 0],
      ],
    );
  });
});

describe("the totalTimeout of a call", () => {
  it("ends a call without progress if its timeout is longer or disabled", async () => {
    for (const timeout of [0, Infinity, 60_000]) {
      const client = new JSONRPCClient(recorder());
      const start = performance.now();
      const error = await rejection(client.request("slow", undefined, { timeout, totalTimeout: 50 }));
      assert.equal(error.reason, "timeout");
      assert.isBelow(performance.now() - start, 50 + MAX_LATENESS_MS);
    }
  });

  it("has no effect if it is 0: only the timeout applies", async () => {
    const client = new JSONRPCClient(recorder());
    const call = client.request("slow", undefined, { timeout: 0, totalTimeout: 0 });
    assert.isTrue(await isPending(call, 50));
    assert.equal(
      (await rejection(client.request("slow", undefined, { timeout: 20, totalTimeout: 0 }))).reason,
      "timeout",
    );
    client.destroy();
    assert.equal((await rejection(call)).reason, "destroyed");
  });

  for (const totalTimeout of [-1, NaN, "5"]) {
    it(`causes a RangeError if it is the ${typeof totalTimeout} ${totalTimeout}, and nothing is sent`, async () => {
      const transport = recorder();
      const client = new JSONRPCClient(transport);
      const error = await rejection(client.request("a", undefined, { totalTimeout }));
      assert.instanceOf(error, RangeError);
      assert.match(error.message, /^totalTimeout must be .*, got /);
      assert.deepEqual([transport.sent.length, client.pending], [0, 0]);
    });
  }
});
