// The wasm traps in these tests because its memory or its stack is exhausted. Each test has its own copy of the
// library.
import { assert } from "chai";
import {
  CallError as MainCallError,
  JSONRPCClient as MainClient,
  JSONRPCServer as MainServer,
  freshCopy,
  wasmBytes,
} from "./support/portway.js";
import { channel, scriptedChannel, recorder } from "./support/transports.js";
import { printed } from "./support/console.js";
import { pause, rejection, until } from "./support/outcomes.js";
import { withSmallMemory } from "./support/small-memory.js";

/** Returns a copy of the library whose memory is exhausted by a few thousand calls. */
async function smallCopy() {
  const copy = await freshCopy();
  await copy.default(withSmallMemory(await wasmBytes(), 2));
  return copy;
}

/** Makes calls until the wasm traps. Returns the client and all calls. */
async function exhaust({ JSONRPCClient }) {
  const client = new JSONRPCClient({ send() {}, onMessage() {} }, { timeout: 0 });
  const calls = [];
  let hasTrapped = false;
  while (!hasTrapped) {
    assert.isBelow(calls.length, 900_000, "the memory was not exhausted");
    for (let n = 0; n < 1_000; n++) {
      calls.push(client.request("a"));
      calls.at(-1).catch(() => (hasTrapped = true));
    }
    await new Promise((resolve) => setTimeout(resolve));
  }
  return { client, calls };
}

describe("wasm that has trapped because its memory is exhausted", () => {
  it("ends every pending call with the reason wasm-died, and later calls are refused", async () => {
    const copy = await smallCopy();
    const { client, calls } = await exhaust(copy);
    const outcomes = await Promise.allSettled(calls);
    for (const { reason } of outcomes) assert.equal(reason.reason, "wasm-died");
    const error = await rejection(client.request("later"));
    assert.instanceOf(error, copy.CallError);
    assert.equal(error.reason, "wasm-died");
    assert.include(error.message, "init()");
    assert.instanceOf(error.cause, Error);
    assert.equal((await rejection(client.batch([{ method: "b" }]))).reason, "wasm-died");
    assert.equal(client.pending, 0);
    client.destroy();
  }).timeout(60_000);

  it("ends the calls of each other `JSONRPCPeer` of the copy, and answers the requests that it still handles with an error", async () => {
    const copy = await smallCopy();
    const { transport, remoteEnd } = scriptedChannel();
    const otherPeer = new copy.JSONRPCPeer(transport, { timeout: 0 });
    let signal;
    otherPeer.method("work", (_, context) => ((signal = context.signal), new Promise(() => {})));
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: "mine" });
    remoteEnd.post([
      { jsonrpc: "2.0", method: "work", id: 8 },
      { jsonrpc: "2.0", method: "none", id: 9 },
    ]);
    await until(() => signal !== undefined);
    const call = rejection(otherPeer.request("theirs"));
    assert.equal((await remoteEnd.next()).method, "theirs");
    await exhaust(copy);
    assert.equal((await call).reason, "wasm-died");
    const answers = [await remoteEnd.next(), await remoteEnd.next(), await remoteEnd.next()];
    assert.sameMembers(
      answers.map(({ id }) => id),
      ["mine", 8, 9],
    );
    for (const { error } of answers) assert.oneOf(error.code, [-32603, -32601]);
    assert.isTrue(signal.aborted);
    otherPeer.destroy();
  }).timeout(60_000);

  it("ends the streams that another `JSONRPCPeer` consumes and produces, and the remote end gets a message for each of them", async () => {
    const copy = await smallCopy();
    const { transport, remoteEnd } = scriptedChannel();
    const otherPeer = new copy.JSONRPCPeer(transport, { timeout: 0 });
    let ended = 0;
    otherPeer.method("count", async function* () {
      try {
        for (let n = 1; ; n++) yield n;
      } finally {
        ended++;
      }
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "rpc.stream", params: { method: "count", credit: 1 }, id: "mine" });
    assert.equal((await remoteEnd.next()).params.value, 1);
    const items = otherPeer.stream("theirs");
    const first = rejection(items.next());
    const { id } = await remoteEnd.next();
    await exhaust(copy);
    assert.equal((await first).reason, "wasm-died");
    assert.isTrue((await items.next()).done);
    const sent = [await remoteEnd.next(), await remoteEnd.next()];
    assert.deepEqual([sent[0].id, sent[0].error.code], ["mine", -32603]);
    assert.deepEqual(sent[1], { jsonrpc: "2.0", method: "$/cancelRequest", params: { id } });
    await until(() => ended === 1);
    remoteEnd.post({ jsonrpc: "2.0", method: "rpc.credit", params: { id: "mine", count: 1 } });
    otherPeer.destroy();
  }).timeout(60_000);

  it("causes one error response to each later request of the peer", async () => {
    const copy = await smallCopy();
    const { transport, remoteEnd } = scriptedChannel();
    const server = new copy.JSONRPCServer(transport).method("a", () => "served");
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 1 });
    assert.equal((await remoteEnd.next()).result, "served");
    await exhaust(copy);
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 2 });
    remoteEnd.post({ jsonrpc: "2.0", method: "a" });
    remoteEnd.post({ jsonrpc: "2.0", result: 1, id: 7 });
    remoteEnd.post([{ jsonrpc: "2.0", method: "a", id: 3 }]);
    const answers = [await remoteEnd.next(), await remoteEnd.next()];
    assert.deepEqual(
      answers.map(({ id, error }) => [id, error.code]),
      [
        [2, -32603],
        [3, -32603],
      ],
    );
    assert.include(answers[0].error.message, "died");
    assert.deepEqual(
      answers.map(({ error }) => error.data),
      [{ reason: "peer-died" }, { reason: "peer-died" }],
    );
    server.destroy();
  }).timeout(60_000);

  for (const size of [1, 100]) {
    it(`causes exactly one response to each request before and after the trap (requests per message: ${size})`, async () => {
      const copy = await smallCopy();
      const transport = recorder();
      const limits = { inFlight: Infinity, batchItems: Infinity };
      const server = new copy.JSONRPCServer(transport, { limits }).method("work", () => new Promise(() => {}));
      let count = 0;
      while (transport.sent.length === 0) {
        assert.isBelow(count, 900_000, "the memory was not exhausted");
        for (const nextCount = count + 1_000; count < nextCount; ) {
          const requests = Array.from({ length: size }, () => ({ jsonrpc: "2.0", method: "work", id: count++ }));
          transport.deliver(size === 1 ? requests[0] : requests);
        }
        await pause(0);
      }
      assert.sameMembers(
        transport.sent.flat().map(({ id }) => id),
        Array.from({ length: count }, (_, id) => id),
      );
      server.destroy();
    }).timeout(60_000);
  }

  it("does not prevent the response of a handler that has caused the trap", async () => {
    const copy = await smallCopy();
    const transport = recorder();
    const isAlive = () => {
      try {
        return copy.validateMessage({}) !== undefined;
      } catch {
        return false;
      }
    };
    const client = new copy.JSONRPCClient({ send() {}, onMessage() {} }, { timeout: 0 });
    const server = new copy.JSONRPCServer(transport).method("work", () => {
      while (isAlive()) for (let n = 0; n < 1_000; n++) client.request("a").catch(() => {});
      return "done";
    });
    transport.deliver({ jsonrpc: "2.0", method: "work", id: 1 });
    transport.deliver([{ jsonrpc: "2.0", method: "work", id: 2 }]);
    await pause(0);
    assert.deepEqual(
      transport.sent.map(({ id }) => id),
      [1, 2],
    );
    assert.equal(transport.sent[0].result, "done");
    server.destroy();
    client.destroy();
  }).timeout(60_000);

  it("makes the constructors throw until init has loaded the wasm again", async () => {
    const copy = await smallCopy();
    const { client: oldClient } = await exhaust(copy);
    assert.throws(() => new copy.JSONRPCClient(recorder()), copy.CallError, "init()");
    assert.throws(() => copy.validateMessage({}), copy.CallError, "init()");
    await copy.default(await wasmBytes());
    const { near, far } = channel();
    const server = new copy.JSONRPCServer(far).method("echo", (params) => params);
    const client = new copy.JSONRPCClient(near);
    assert.deepEqual(await client.request("echo", [1]), [1]);
    assert.equal((await rejection(oldClient.request("a"))).reason, "wasm-died", "old clients must stay unusable");
    oldClient.destroy();
    assert.deepEqual(await client.request("echo", [2]), [2]);
    client.destroy();
    server.destroy();
  }).timeout(60_000);

  it("does not affect another copy of the library", async () => {
    const copy = await smallCopy();
    const { near, far } = channel();
    new MainServer(far).method("echo", (params) => params);
    const client = new MainClient(near);
    await exhaust(copy);
    assert.deepEqual(await client.request("echo", [1]), [1]);
    assert.notEqual(copy.CallError, MainCallError);
  }).timeout(60_000);
});

describe("an exhausted stack", () => {
  it("leaves no call pending; the library either still works or reports that its wasm has trapped", async () => {
    // If a promise is created when the stack is exhausted, the library cannot handle its rejection. The engine reports
    // this rejection, so `printed` expects such lines.
    await printed(async () => {
      const copy = await freshCopy();
      await copy.default(await wasmBytes());
      const { near, far } = channel();
      const server = new copy.JSONRPCServer(far).method("echo", (params) => params);
      const client = new copy.JSONRPCClient(near);
      const calls = [];
      const recurse = () => {
        try {
          recurse();
        } catch {
          // Makes a call at each depth of the stack, while the stack unwinds.
          if (calls.length < 2_000) {
            const call = client.request("echo", [calls.length]);
            calls.push(call);
            call.catch(() => {});
          }
        }
        if (calls.length < 2_000) throw new Error("on the way back");
      };
      try {
        recurse();
      } catch {
        // recurse() throws if it has made fewer than 2 000 calls.
      }
      assert.isAbove(calls.length, 0);
      const outcomes = await Promise.allSettled(calls);
      const after = await client.request("echo", ["after"]).catch((error) => error);
      if (after.reason === "wasm-died") {
        await copy.default(await wasmBytes());
        const next = channel();
        new copy.JSONRPCServer(next.far).method("echo", (params) => params);
        assert.deepEqual(await new copy.JSONRPCClient(next.near).request("echo", [1]), [1]);
      } else {
        assert.deepEqual(after, ["after"]);
        assert.isTrue(outcomes.some(({ status }) => status === "fulfilled"));
      }
      client.destroy();
      server.destroy();
    });
  }).timeout(60_000);
});
