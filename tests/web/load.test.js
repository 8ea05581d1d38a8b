// Thousands of calls at once, and the memory that the wasm needs.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { channel, loopback, scriptedChannel, recorder } from "./support/transports.js";
import { copyWithMemory } from "./support/memory.js";
import { rejection, until } from "./support/outcomes.js";

/** Returns the values in a pseudo-random order, which is the same in every run. */
function shuffled(list, seed = 42) {
  let state = seed;
  const random = () => (state = (state * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
  return list
    .map((value) => [random(), value])
    .sort(([a], [b]) => a - b)
    .map(([, value]) => value);
}

describe("thousands of calls at once", () => {
  it("each get their own result if the responses arrive in random order, with notifications between the responses", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport, { timeout: 0 });
    const calls = Array.from({ length: 10_000 }, (_, n) => client.request("a", [n]));
    await until(() => remoteEnd.received.length === 10_000);
    for (const { id, params } of shuffled(remoteEnd.received)) {
      if (id % 10 === 0) remoteEnd.post({ jsonrpc: "2.0", method: "note" });
      remoteEnd.post({ jsonrpc: "2.0", id, result: params[0] });
    }
    const results = await Promise.all(calls);
    assert.isTrue(results.every((result, n) => result === n));
    assert.equal(client.pending, 0);
  });

  it("all get the results of asynchronous handlers", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far, { limits: { inFlight: 10_000 } }).method("double", async ([n]) => {
      for (let awaits = n % 5; awaits > 0; awaits--) await undefined;
      return n * 2;
    });
    const client = new JSONRPCClient(near);
    const results = await Promise.all(Array.from({ length: 10_000 }, (_, n) => client.request("double", [n])));
    assert.isTrue(results.every((result, n) => result === n * 2));
  });

  it("and as many notifications are sent in the order in which request() and notify() were called", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport, { timeout: 0 });
    for (let n = 0; n < 5_000; n++) {
      client.request("a", [n]).catch(() => {});
      client.notify("b", [n]);
    }
    await until(() => remoteEnd.received.length === 10_000);
    assert.isTrue(remoteEnd.received.every(({ params }, index) => params[0] === Math.floor(index / 2)));
  });

  it("all end when the client is destroyed", async () => {
    const client = new JSONRPCClient(recorder());
    const calls = Array.from({ length: 10_000 }, () => rejection(client.request("a")));
    client.destroy();
    const errors = await Promise.all(calls);
    assert.isTrue(errors.every(({ reason }) => reason === "destroyed"));
  });
});

describe("memory", () => {
  it("of wasm does not grow with the number of created and destroyed peers", async () => {
    const { library, memory } = await copyWithMemory();
    const cycle = async (n) => {
      const { near, far } = loopback();
      const server = new library.JSONRPCPeer(far).method("echo", (params) => params);
      const client = new library.JSONRPCPeer(near);
      assert.deepEqual(await client.request("echo", [n]), [n]);
      const pendingCall = n % 2 ? client.request("missing").catch(() => {}) : undefined;
      client.destroy();
      server.destroy();
      await pendingCall;
    };
    for (let n = 0; n < 200; n++) await cycle(n);
    const before = memory.buffer.byteLength;
    for (let n = 0; n < 10_000; n++) await cycle(n);
    assert.equal(memory.buffer.byteLength, before);
  });

  it("of wasm does not grow with the number of ended and aborted calls", async () => {
    const { library, memory } = await copyWithMemory();
    const { near, far } = loopback();
    new library.JSONRPCServer(far)
      .method("echo", (params) => params)
      .method(
        "hang",
        (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      );
    const client = new library.JSONRPCClient(near);
    const round = async () => {
      const abort = new AbortController();
      const { signal } = abort;
      const calls = Array.from({ length: 50 }, (_, n) => client.request(n % 2 ? "echo" : "missing", [n]));
      const aborted = Array.from({ length: 50 }, (_, n) => rejection(client.request("hang", [n], { signal })));
      const batch = client.batch(Array.from({ length: 50 }, (_, n) => ({ method: "echo", params: [`${n}`] })));
      abort.abort();
      await Promise.allSettled([...calls, batch]);
      for (const { name } of await Promise.all(aborted)) assert.equal(name, "AbortError");
    };
    for (let n = 0; n < 20; n++) await round();
    const before = memory.buffer.byteLength;
    for (let n = 0; n < 200; n++) await round();
    assert.equal(memory.buffer.byteLength, before);
    assert.equal(client.pending, 0);
  });

  it("of wasm does not grow with the size of messages", async () => {
    const { library, memory } = await copyWithMemory();
    const { near, far } = loopback();
    new library.JSONRPCServer(far).method("echo", (params) => params);
    const client = new library.JSONRPCClient(near);
    await client.request("echo", ["warm"]);
    const before = memory.buffer.byteLength;
    await client.request("echo", { bytes: new Uint8Array(8 << 20), text: "x".repeat(1 << 20) });
    assert.equal(memory.buffer.byteLength, before);
  });

  it("of wasm may grow, and the library still reads the same texts from this memory", async () => {
    const { library, memory } = await copyWithMemory();
    const invalid = { jsonrpc: "1.0", method: 1 };
    const { errors } = library.validateMessage(invalid);
    assert.isAbove(errors.length, 0);
    const client = new library.JSONRPCClient({ send() {}, onMessage() {} });
    const before = memory.buffer.byteLength;
    for (let n = 0; memory.buffer.byteLength === before; n++) {
      assert.isBelow(n, 1_000_000, "the memory does not grow");
      client.request("a").catch(() => {});
    }
    assert.deepEqual(library.validateMessage(invalid).errors, errors);
    const sent = [];
    const server = new library.JSONRPCServer({
      send: (message) => sent.push(message),
      onMessage: (handler) => handler({ jsonrpc: "2.0", method: 1, id: 5 }),
    });
    await Promise.resolve();
    assert.deepEqual(sent, [{ jsonrpc: "2.0", error: { code: -32600, message: "Invalid Request" }, id: 5 }]);
    server.destroy();
    client.destroy();
  });

  it("of wasm is not sent with a message: the buffer of a received array has only the bytes of the array", async () => {
    const { near, far } = channel();
    const peer = new JSONRPCPeer(far).method("bytes", () => new Uint8Array([1, 2, 3, 4]));
    const result = await new JSONRPCClient(near).request("bytes");
    assert.equal(result.buffer.byteLength, 4);
    peer.destroy();
  });
});
