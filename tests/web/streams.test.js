// Streams at the consumer: items, credit, timeouts and signals.

import { assert } from "chai";
import { CallError, ErrorCode, JSONRPCClient, JSONRPCPeer, JSONRPCServer, RPCError } from "./support/portway.js";
import { channel, loopback, scriptedChannel, recorder } from "./support/transports.js";
import { deferred, isPending, rejection, until } from "./support/outcomes.js";

/** Reads a stream to its end. Returns its items. */
async function all(items) {
  const received = [];
  for await (const item of items) received.push(item);
  return received;
}

async function* count(to) {
  for (let n = 1; n <= to; n++) yield n;
}

/** Waits for the request of a stream. Returns the request, and functions with which the test responds to it. */
async function nextStreamRequest(remoteEnd) {
  const { id, ...request } = await remoteEnd.next();
  return {
    request,
    item: (value) => remoteEnd.post({ jsonrpc: "2.0", method: "rpc.item", params: { id, value } }),
    end: () => remoteEnd.post({ jsonrpc: "2.0", result: null, id }),
    fail: (error) => remoteEnd.post({ jsonrpc: "2.0", error, id }),
  };
}

for (const [boundary, createPair] of [
  ["a port", channel],
  ["a transport that delivers synchronously", loopback],
]) {
  describe(`a stream over ${boundary}`, () => {
    it("returns the items of a handler in order, and then ends", async () => {
      const { near, far } = createPair();
      new JSONRPCServer(far).method("count", ({ to }) => count(to));
      const client = new JSONRPCClient(near);
      assert.deepEqual(
        await all(client.stream("count", { to: 100 })),
        Array.from({ length: 100 }, (_, i) => i + 1),
      );
      assert.equal(client.pending, 0);
    });

    it("may be empty", async () => {
      const { near, far } = createPair();
      new JSONRPCServer(far).method("nothing", () => count(0));
      assert.deepEqual(await all(new JSONRPCClient(near).stream("nothing")), []);
    });

    it("ends with the error that the handler throws after its last item", async () => {
      const { near, far } = createPair();
      new JSONRPCServer(far).method("some", async function* () {
        yield* count(3);
        throw new RPCError(-32005, "no more", { at: 3 });
      });
      const client = new JSONRPCClient(near);
      const received = [];
      const error = await rejection(
        (async () => {
          for await (const item of client.stream("some")) received.push(item);
        })(),
      );
      assert.deepEqual([received, error.code, error.message, error.data], [[1, 2, 3], -32005, "no more", { at: 3 }]);
      assert.equal(client.pending, 0);
    });

    it("runs concurrently with other streams and calls, in both directions", async () => {
      const { near, far } = createPair();
      const peers = [new JSONRPCPeer(near), new JSONRPCPeer(far)];
      for (const peer of peers) peer.method("count", ({ to }) => count(to)).method("echo", (params) => params);
      const lists = peers.flatMap((peer) => [20, 30, 40].map((to) => all(peer.stream("count", { to }))));
      const echoes = peers.map((peer) => peer.request("echo", [1]));
      assert.deepEqual(
        (await Promise.all(lists)).map(({ length }) => length),
        [20, 30, 40, 20, 30, 40],
      );
      assert.deepEqual(await Promise.all(echoes), [[1], [1]]);
    });

    it("ends at the peer after break, and after an error in the loop", async () => {
      for (const leave of [
        () => true,
        () => {
          throw new Error("enough");
        },
      ]) {
        const { near, far } = createPair();
        let ended = 0;
        new JSONRPCServer(far).method("count", async function* () {
          try {
            yield* count(Infinity);
          } finally {
            ended++;
          }
        });
        const client = new JSONRPCClient(near);
        const loop = async () => {
          for await (const n of client.stream("count")) if (n === 5 && leave()) break;
        };
        await loop().catch(({ message }) => assert.equal(message, "enough"));
        assert.equal(client.pending, 0);
        await until(() => ended > 0);
        assert.equal((await rejection(client.request("missing"))).code, ErrorCode.MethodNotFound);
        assert.equal(ended, 1);
      }
    });
  });
}

describe("the consumer of a stream", () => {
  it("requests the stream only when it requests the first item; the credit is the window", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const items = client.stream("logs", { level: 1 }, { window: 7 });
    assert.equal(client.pending, 0);
    const first = items.next();
    assert.equal(client.pending, 1);
    const { request, item, end } = await nextStreamRequest(remoteEnd);
    assert.deepEqual(request, {
      jsonrpc: "2.0",
      method: "rpc.stream",
      params: { method: "logs", params: { level: 1 }, credit: 7 },
    });
    item("a");
    end();
    assert.deepEqual(await first, { done: false, value: "a" });
    assert.deepEqual(await items.next(), { done: true, value: undefined });
    assert.deepEqual(await items.next(), { done: true, value: undefined });
  });

  it("is an iterator and an iterable", () => {
    const items = new JSONRPCClient(recorder()).stream("a");
    assert.equal(items[Symbol.asyncIterator](), items);
  });

  it("grants credit for the items that it has read, each time they are half of the window", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const items = new JSONRPCPeer(transport).stream("a", undefined, { window: 4 });
    const first = items.next();
    const { item } = await nextStreamRequest(remoteEnd);
    for (let n = 0; n < 4; n++) item(n);
    assert.equal((await first).value, 0);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [], "one of four items must cause no credit");
    await items.next();
    const credit = { jsonrpc: "2.0", method: "rpc.credit", params: { id: 1, count: 2 } };
    assert.deepEqual(await remoteEnd.next(), credit);
    await items.next();
    await items.next();
    assert.deepEqual(await remoteEnd.next(), credit);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  it("may request several items at the same time", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("count", () => count(3));
    const items = new JSONRPCClient(near).stream("count", undefined, { window: 1 });
    const received = await Promise.all(Array.from({ length: 5 }, () => items.next()));
    assert.deepEqual(
      received.map(({ value }) => value),
      [1, 2, 3, undefined, undefined],
    );
    assert.deepEqual(
      received.map(({ done }) => done),
      [false, false, false, true, true],
    );
  });

  it("gets all items that arrived before the end or an error, even if it reads them later", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    for (const fails of [false, true]) {
      const items = client.stream("a");
      const first = items.next();
      const { item, end, fail } = await nextStreamRequest(remoteEnd);
      [1, 2, 3].forEach(item);
      if (fails) fail({ code: 5, message: "broken" });
      else end();
      await first;
      await until(() => client.pending === 0);
      assert.deepEqual([(await items.next()).value, (await items.next()).value], [2, 3]);
      if (fails) assert.equal((await rejection(items.next())).code, 5);
      assert.isTrue((await items.next()).done);
    }
  });

  it("gets an error if the server sends more items than the credit, and cancels the stream at the peer", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const items = client.stream("flood", undefined, { window: 2 });
    const first = items.next();
    const { item } = await nextStreamRequest(remoteEnd);
    for (let n = 0; n < 5; n++) item(n);
    await first;
    await until(() => client.pending === 0);
    const error = await rejection(items.next());
    assert.instanceOf(error, CallError);
    assert.deepEqual(
      [error.reason, error.method, error.message],
      ["invalid-response", "flood", "JSON-RPC stream has more items than were asked for: flood (id=1)"],
    );
    // With a window of two, the consumer may grant a credit of one after the first item. The test does not wait for
    // this credit, and still sends too many items.
    const next = await remoteEnd.next();
    const cancel = next.method === "rpc.credit" ? await remoteEnd.next() : next;
    assert.deepEqual(cancel, { jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    item("late");
    assert.isTrue((await items.next()).done);
  });

  it("ends the stream by return(), even while an item is pending", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCPeer(transport);
    const items = client.stream("a");
    const pendingItems = [items.next(), items.next()];
    await remoteEnd.next();
    assert.deepEqual(await items.return("x"), { done: true, value: "x" });
    assert.deepEqual(await Promise.all(pendingItems), Array(2).fill({ done: true, value: undefined }));
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    await items.return();
    assert.deepEqual([client.pending, await remoteEnd.unreadBeforeResponse()], [0, []]);
  });

  it("sends nothing if it ends the stream before it requests an item", async () => {
    const transport = recorder();
    const items = new JSONRPCClient(transport).stream("a");
    await items.return();
    assert.isTrue((await items.next()).done);
    assert.deepEqual(transport.sent, []);
  });

  for (const window of [0, -1, 1.5, NaN, Infinity, "5", 65_537]) {
    it(`gets a RangeError at once if its window is the ${typeof window} ${window}`, () => {
      assert.throws(() => new JSONRPCClient(recorder()).stream("a", {}, { window }), RangeError, "from 1 to 65536");
    });
  }

  it("gets an error at once for an invalid timeout, and at the first item for invalid params", async () => {
    const client = new JSONRPCClient(recorder());
    assert.throws(() => client.stream("a", {}, { timeout: -1 }), RangeError);
    const items = client.stream("a", 5);
    assert.instanceOf(await rejection(items.next()), TypeError);
    assert.isTrue((await items.next()).done);
  });

  it("gets an error if the params cannot be cloned, and no call is pending", async () => {
    const { near } = channel();
    const client = new JSONRPCClient(near);
    assert.equal((await rejection(client.stream("a", { f: () => {} }).next())).name, "DataCloneError");
    assert.equal(client.pending, 0);
  });

  it("gets an error if the peer does not support streams", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const first = new JSONRPCClient(transport).stream("a").next();
    const { fail } = await nextStreamRequest(remoteEnd);
    fail({ code: -32601, message: "Method not found: rpc.stream" });
    assert.equal((await rejection(first)).code, ErrorCode.MethodNotFound);
  });

  it("does not receive progress of a call as an item, and a call does not receive an item as progress", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const progress = [];
    const call = client.request("work", {}, { onProgress: (value) => progress.push(value) });
    const items = client.stream("a");
    const first = items.next();
    await remoteEnd.next();
    const { item, end } = await nextStreamRequest(remoteEnd);
    remoteEnd.post({ jsonrpc: "2.0", method: "rpc.item", params: { id: 1, value: "stray" } });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/progress", params: { token: 2, value: "stray" } });
    remoteEnd.post({ jsonrpc: "2.0", method: "rpc.item", params: null });
    remoteEnd.post({ jsonrpc: "2.0", method: "rpc.item", params: { id: 99, value: 1 } });
    item("own");
    end();
    assert.equal((await first).value, "own");
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "done" });
    assert.equal(await call, "done");
    assert.deepEqual(progress, []);
  });

  it("can transfer buffers in the params, and receive transferred buffers in items", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("cut", async function* ({ bytes }, { transfer }) {
      for (let at = 0; at < bytes.length; at += 4) {
        const piece = bytes.slice(at, at + 4);
        transfer([piece.buffer]);
        yield piece;
        assert.equal(piece.byteLength, 0, "a transferred buffer must be detached at the sender");
      }
    });
    const bytes = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const pieces = await all(new JSONRPCClient(near).stream("cut", { bytes }, { transfer: [bytes.buffer] }));
    assert.equal(bytes.byteLength, 0);
    assert.deepEqual(
      pieces.map((piece) => [...piece]),
      [[1, 2, 3, 4], [5, 6, 7, 8], [9]],
    );
  });
});

describe("the timeout of a stream", () => {
  it("limits the wait for each item, and cancels the stream at the peer", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const items = client.stream("slow", undefined, { timeout: 400 });
    const first = items.next();
    const { item } = await nextStreamRequest(remoteEnd);
    item(1);
    await first;
    const error = await rejection(items.next());
    assert.deepEqual([error.reason, error.message], ["timeout", "JSON-RPC timeout: slow (id=1)"]);
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    assert.equal(client.pending, 0);
  });

  it("is the timeout of the client by default", async () => {
    const client = new JSONRPCClient(recorder(), { timeout: 20 });
    assert.equal((await rejection(client.stream("slow").next())).reason, "timeout");
  });

  it("restarts with each item", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const items = new JSONRPCClient(transport).stream("steady", undefined, { timeout: 700 });
    const start = performance.now();
    const received = all(items);
    const { item, end } = await nextStreamRequest(remoteEnd);
    for (let n = 0; n < 6; n++) {
      await isPending(received, 150);
      item(n);
    }
    end();
    assert.equal((await received).length, 6);
    assert.isAbove(performance.now() - start, 750);
  });

  it("does not run while the consumer requests no item", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const items = client.stream("a", undefined, { timeout: 500 });
    const first = items.next();
    const { item, end } = await nextStreamRequest(remoteEnd);
    item(1);
    await first;
    // This call ends later than the timeout of the stream would.
    const slowCall = client.request("slow", undefined, { timeout: 1_000 });
    assert.equal((await rejection(slowCall)).reason, "timeout");
    assert.equal(client.pending, 1, "the stream must still be open");
    item(2);
    end();
    assert.deepEqual(await all(items), [2]);
  });

  for (const timeout of [0, Infinity]) {
    it(`is disabled if it is ${timeout}`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const client = new JSONRPCClient(transport, { timeout: 20 });
      const items = client.stream("a", undefined, { timeout });
      const first = items.next();
      const { item } = await nextStreamRequest(remoteEnd);
      assert.isTrue(await isPending(first, 80));
      item(1);
      await first;
      const second = items.next();
      assert.isTrue(await isPending(second, 80));
      client.destroy();
      assert.equal((await rejection(second)).reason, "destroyed");
    });
  }
});

describe("the signal of a stream", () => {
  it("ends the stream at once at both peers, with its reason", async () => {
    const { near, far } = channel();
    let signal;
    const returned = deferred();
    new JSONRPCServer(far).method("count", async function* (_, context) {
      signal = context.signal;
      try {
        yield* count(Infinity);
      } finally {
        returned.resolve();
      }
    });
    const client = new JSONRPCClient(near);
    const controller = new AbortController();
    const items = client.stream("count", undefined, { signal: controller.signal });
    assert.equal((await items.next()).value, 1);
    const reason = new Error("enough");
    controller.abort(reason);
    assert.equal(client.pending, 0);
    assert.equal(await rejection(items.next()), reason, "buffered items must be dropped");
    assert.isTrue((await items.next()).done);
    await returned.promise;
    assert.isTrue(signal.aborted);
  });

  it("prevents the request if it is already aborted", async () => {
    const transport = recorder();
    const reason = new Error("too late");
    const items = new JSONRPCClient(transport).stream("a", undefined, { signal: AbortSignal.abort(reason) });
    assert.equal(await rejection(items.next()), reason);
    assert.deepEqual(transport.sent, []);
  });

  it("ends the stream at once with one cancellation, whatever the class of its reason is", async () => {
    for (const reason of [
      new RPCError(1, "enough"),
      await rejection(new JSONRPCClient(recorder()).request("a", [], { timeout: 1 })),
    ]) {
      const transport = recorder();
      const controller = new AbortController();
      const items = new JSONRPCClient(transport).stream("a", undefined, { signal: controller.signal });
      const first = items.next();
      for (const value of [1, 2]) transport.deliver({ jsonrpc: "2.0", method: "rpc.item", params: { id: 1, value } });
      await first;
      controller.abort(reason);
      assert.equal(await rejection(items.next()), reason, "buffered items must be dropped");
      assert.isTrue((await items.next()).done);
      assert.deepEqual(
        transport.sent.map(({ method }) => method),
        ["rpc.stream", "$/cancelRequest"],
      );
    }
  });

  it("sends one cancellation, and has no listener of the library afterwards", async () => {
    const transport = recorder();
    const controller = new AbortController();
    const { signal } = controller;
    let listeners = 0;
    for (const [name, step] of [
      ["addEventListener", 1],
      ["removeEventListener", -1],
    ]) {
      const original = signal[name];
      signal[name] = function (...args) {
        listeners += step;
        return original.apply(this, args);
      };
    }
    const items = new JSONRPCClient(transport).stream("a", undefined, { signal });
    const first = items.next();
    assert.equal(listeners, 1);
    controller.abort();
    assert.equal((await rejection(first)).name, "AbortError");
    await items.return();
    assert.equal(listeners, 0);
    assert.deepEqual(
      transport.sent.map(({ method }) => method),
      ["rpc.stream", "$/cancelRequest"],
    );
  });
});
