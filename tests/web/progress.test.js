import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer } from "./support/portway.js";
import { channel, scriptedChannel, recorder } from "./support/transports.js";
import { isOpen, pause, rejection } from "./support/outcomes.js";

/** Timers are late on a busy machine. Short timers fire within this time. */
const SOON = 2_500;

/** Makes a call to the test. `sendProgress` sends its progress, and `answer` its response. */
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
  it("restarts the timeout", async () => {
    const { call, sendProgress, answer, seen, elapsed } = await startCall({ timeout: 700 });
    for (let n = 1; n <= 8; n++) {
      assert.isTrue(await isOpen(call, 120));
      sendProgress(n);
    }
    assert.isAbove(elapsed(), 900);
    answer("done");
    assert.equal(await call, "done");
    assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("needs a function as onProgress: another value is a TypeError, and nothing is sent", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    for (const onProgress of ["tell me", {}, 1]) {
      const error = await rejection(client.request("work", undefined, { onProgress }));
      assert.instanceOf(error, TypeError);
      assert.match(error.message, /onProgress/);
    }
    assert.deepEqual([transport.sent, client.pending], [[], 0]);
  });

  it("restarts the timeout, which ends the call after the last progress", async () => {
    const { call, client, sendProgress, elapsed } = await startCall({ timeout: 500 });
    await pause(250);
    sendProgress(1);
    const error = await rejection(call);
    assert.deepEqual([error.reason, client.pending], ["timeout", 0]);
    assert.isAtLeast(elapsed(), 740);
    assert.isBelow(elapsed(), 750 + SOON);
  });

  it("does not restart the timeout of a call without onProgress, or of another call", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport, { timeout: 120 });
    const calls = [client.request("deaf"), client.request("other", undefined, { onProgress() {} })];
    const ends = calls.map(rejection);
    const timer = setInterval(() => {
      for (const token of [1, 3, "2"])
        remoteEnd.post({ jsonrpc: "2.0", method: "$/progress", params: { token, value: 1 } });
    }, 20);
    try {
      for (const end of ends) assert.equal((await end).reason, "timeout");
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
    assert.isBelow(elapsed(), 1_200 + SOON);
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
    assert.isBelow(elapsed(), 1_200 + SOON);
  });

  it("arrives with the transfer list of the handler, in both directions, and detaches the buffers at the sender", async () => {
    const { near, far } = channel();
    const peers = [new JSONRPCPeer(near), new JSONRPCPeer(far)];
    const left = [];
    for (const peer of peers) {
      peer.method("work", (_, { progress }) => {
        const bytes = new Uint8Array([1, 2, 3]);
        progress({ bytes }, [bytes.buffer]);
        left.push(bytes.byteLength);
      });
    }
    const seen = [];
    await Promise.all(
      peers.map((peer) => peer.request("work", undefined, { onProgress: ({ bytes }) => seen.push([...bytes]) })),
    );
    assert.deepEqual(
      [seen, left],
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
  it("applies without progress, and with a longer timeout or none", async () => {
    for (const timeout of [0, Infinity, 60_000]) {
      const client = new JSONRPCClient(recorder());
      const start = performance.now();
      const error = await rejection(client.request("slow", undefined, { timeout, totalTimeout: 50 }));
      assert.equal(error.reason, "timeout");
      assert.isBelow(performance.now() - start, 50 + SOON);
    }
  });

  it("is absent if it is 0, and then only the timeout applies", async () => {
    const client = new JSONRPCClient(recorder());
    const call = client.request("slow", undefined, { timeout: 0, totalTimeout: 0 });
    assert.isTrue(await isOpen(call, 50));
    assert.equal(
      (await rejection(client.request("slow", undefined, { timeout: 20, totalTimeout: 0 }))).reason,
      "timeout",
    );
    client.destroy();
    assert.equal((await rejection(call)).reason, "destroyed");
  });

  for (const totalTimeout of [-1, NaN, "5"]) {
    it(`is a RangeError if it is ${JSON.stringify(totalTimeout)} (${totalTimeout}), and nothing is sent`, async () => {
      const transport = recorder();
      const client = new JSONRPCClient(transport);
      const error = await rejection(client.request("a", undefined, { totalTimeout }));
      assert.instanceOf(error, RangeError);
      assert.match(error.message, /^totalTimeout must be .*, got /);
      assert.deepEqual([transport.sent.length, client.pending], [0, 0]);
    });
  }
});
