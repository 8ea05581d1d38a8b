// Peers, transports and code of the application that misbehave. Other calls and peers must not be affected.

import { assert } from "chai";
import { CallError, JSONRPCClient, JSONRPCPeer, JSONRPCServer, RPCError, validateMessage } from "./support/portway.js";
import { recorder } from "./support/transports.js";
import { pause, rejection } from "./support/outcomes.js";

/** Returns a message whose member `key` has a getter that throws. */
const throwing = (key, rest) =>
  Object.defineProperty({ jsonrpc: "2.0", ...rest }, key, { get: boom, enumerable: true });

function boom() {
  throw new Error("boom");
}

/** Creates a peer on a recording transport. Returns the peer, its transport and its reported errors. */
function createPeer(options) {
  const transport = recorder();
  const errors = [];
  return {
    transport,
    errors,
    peer: new JSONRPCPeer(transport, { onError: (error) => errors.push(error.message), ...options }),
  };
}

describe("messages with getters that throw, over a transport that does not clone", () => {
  it("end the call to which they respond if their id can be read", async () => {
    const { transport, peer: client } = createPeer();
    const call = client.request("a");
    transport.deliver({ jsonrpc: "2.0", id: 1, error: throwing("code") });
    assert.equal((await rejection(call)).message, "boom");
    assert.equal(client.pending, 0);
  });

  it("are reported, and do not affect the next batch", async () => {
    const { transport, errors, peer: client } = createPeer();
    const calls = ["a", "b", "c"].map((method) => client.request(method));
    transport.deliver([{ jsonrpc: "2.0", id: 1, result: "lost" }, throwing("result", { id: 2 })]);
    assert.deepEqual(errors, ["boom"]);
    transport.deliver([3, 2, 1].map((id) => ({ jsonrpc: "2.0", id, result: `of ${id}` })));
    assert.deepEqual(await Promise.all(calls), ["of 1", "of 2", "of 3"]);
  });

  it("are read only once: getters that would throw at a second read leave no call or request open", async () => {
    const { transport, errors, peer: both } = createPeer({ limits: { inFlight: 3 } });
    both.method("echo", (params) => params);
    /** Returns a message whose getters throw at the second read. */
    const readableOnce = (members) => {
      const message = {};
      for (const [key, value] of Object.entries({ jsonrpc: "2.0", ...members })) {
        let reads = key === "jsonrpc" ? -1 : 0;
        Object.defineProperty(message, key, { enumerable: true, get: () => (reads++ > 0 ? boom() : value) });
      }
      return message;
    };
    // For a call that resolves, `rejection` throws an error with the result in its message.
    const calls = ["a", "b", "c", "d"].map((method) => rejection(both.request(method)).catch(({ message }) => message));
    transport.deliver(readableOnce({ id: 1, result: 1 }));
    transport.deliver(readableOnce({ id: 2, error: { code: 1, message: "x" } }));
    transport.deliver([readableOnce({ id: 3, result: 3 }), { jsonrpc: "2.0", id: 4, result: 4 }]);
    const outcomes = await Promise.race([Promise.all(calls), pause(500)]);
    assert.deepEqual(
      outcomes?.map((outcome) => outcome.message ?? outcome),
      [1, 2, 3, 4].map((n) => (n === 2 ? "x" : `the promise must reject, but it resolved with ${n}`)),
    );
    transport.sent.length = 0;
    for (let id = 0; id < 5; id++) transport.deliver(readableOnce({ method: "echo", params: [id], id }));
    transport.deliver([readableOnce({ method: "echo", id: "a", params: ["a"] }), readableOnce({ method: 5, id: "b" })]);
    assert.deepEqual(
      transport.sent.slice(0, 5).map(({ result }) => result),
      [[0], [1], [2], [3], [4]],
    );
    assert.sameDeepMembers(
      transport.sent[5]?.map(({ id, error }) => [id, error?.code]),
      [
        ["b", -32600],
        ["a", undefined],
      ],
    );
    assert.deepEqual(errors, []);
  });

  it("may deliver other messages while the library reads their members", async () => {
    const { transport, peer: client } = createPeer();
    const calls = ["a", "b", "c", "d"].map((method) => client.request(method));
    const answer = (id) => ({ jsonrpc: "2.0", id, result: id });
    const leading = Object.defineProperty({ jsonrpc: "2.0", result: 2 }, "id", {
      get() {
        transport.deliver([answer(3), answer(4)]);
        return 2;
      },
    });
    transport.deliver([answer(1), leading]);
    assert.deepEqual(await Promise.all(calls), [1, 2, 3, 4]);
  });

  it("are invalid for validateMessage; a getter may call validateMessage without an effect on the outer result", () => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    for (const message of [proxy, [proxy], throwing("id")]) assert.isFalse(validateMessage(message).isValid);
    const reentrant = {
      jsonrpc: "2.0",
      method: "a",
      get id() {
        return validateMessage(5).errors.length;
      },
    };
    assert.deepEqual(validateMessage(reentrant), { isValid: true, errors: [], warnings: [] });
  });
});

describe("an onError that throws", () => {
  it("does not prevent the response to a request, and throws nothing to the transport", async () => {
    // The library limits the number of lines that it prints in a second, and other tests may have just printed lines.
    await pause(1_000);
    const { transport, peer: server } = createPeer({ onError: boom });
    server.method("a", () => 1).onNotify("n", boom);
    const { error } = console;
    const events = [];
    console.error = (...args) => events.push(args);
    try {
      transport.deliver([
        { jsonrpc: "2.0", method: "n" },
        { jsonrpc: "2.0", method: "a", id: 1 },
      ]);
    } finally {
      console.error = error;
    }
    assert.deepEqual(transport.sent, [[{ jsonrpc: "2.0", result: 1, id: 1 }]]);
    assert.isAbove(events.length, 0);
  });
});

describe("a handler's result", () => {
  it("may consist of nested promises and thenables", async () => {
    const { transport, peer: server } = createPeer();
    server.method("a", () => ({ then: (done) => done(Promise.resolve({ then: (last) => last(5) })) }));
    server.method("b", () => ({ then: (done) => done(throwing("then")) }));
    for (const [index, method] of ["a", "b"].entries()) transport.deliver({ jsonrpc: "2.0", method, id: index });
    await pause(5);
    const replies = transport.sent.sort((a, b) => a.id - b.id).map(({ result, error }) => result ?? error.message);
    assert.deepEqual(replies, [5, "boom"]);
  });

  it("causes one error response if it is a thenable that resolves to itself", async () => {
    const { transport, peer: server } = createPeer();
    server.method("a", () => {
      const promise = { then: (done) => done(promise) };
      return promise;
    });
    transport.deliver({ jsonrpc: "2.0", method: "a", id: 1 });
    assert.deepEqual(
      transport.sent.map(({ id, error }) => [id, error.code]),
      [[1, -32603]],
    );
  });

  it("is replaced by an error without the transfer list if the handler throws", async () => {
    const { transport, peer: server } = createPeer();
    server.method("a", (_, { transfer }) => {
      transfer([new ArrayBuffer(8)]);
      throw new RPCError(1, "no", { why: 1 });
    });
    transport.deliver({ jsonrpc: "2.0", method: "a", id: 1 });
    assert.isUndefined(transport.transfers);
    assert.deepEqual(transport.sent[0].error, { code: 1, message: "no", data: { why: 1 } });
  });
});

describe("a server that is destroyed while a client uses its transport", () => {
  it("sends no further progress or notifications", () => {
    const transport = recorder();
    new JSONRPCClient(transport);
    const contexts = [];
    const record = (_, context) => (contexts.push(context), new Promise(() => {}));
    const server = new JSONRPCServer(transport)
      .method("a", record)
      .onNotify("n", (_, context) => void contexts.push(context));
    transport.deliver({ jsonrpc: "2.0", method: "a", id: 1 });
    transport.deliver({ jsonrpc: "2.0", method: "n" });
    server.destroy();
    for (const context of contexts) {
      context.progress(1);
      context.notify("x");
    }
    assert.deepEqual(
      [contexts.length, transport.sent.map(({ id, error }) => [id, error.data.reason])],
      [2, [[1, "destroyed"]]],
    );
  });
});

describe("a sent batch that is longer than the limit for received batches", () => {
  it("gets all responses, and no error is sent", async () => {
    const { transport, peer: client } = createPeer();
    const calls = client.batch(Array.from({ length: 1_500 }, () => ({ method: "a" })));
    transport.deliver(transport.sent[0].map(({ id }) => ({ jsonrpc: "2.0", id, result: id })));
    assert.isTrue((await calls).every(({ value }, index) => value === index + 1));
    assert.equal(transport.sent.length, 1);
  });

  it("may get its responses in one array with requests: only the requests count for the limit", async () => {
    const { transport, peer: server } = createPeer({ limits: { batchItems: 2 } });
    server.method("a", () => 1);
    const requests = (count) => Array.from({ length: count }, (_, id) => ({ jsonrpc: "2.0", method: "a", id }));
    const answers = Array.from({ length: 5 }, (_, id) => ({ jsonrpc: "2.0", id, result: 1 }));
    transport.deliver([...answers, ...requests(2)]);
    transport.deliver([...answers, ...requests(3)]);
    assert.equal(transport.sent[0].length, 2);
    assert.equal(transport.sent[1].error.data.reason, "batch-too-large");
  });
});

describe("an array of requests and responses that has too many requests", () => {
  it("is refused, but its responses end their calls", async () => {
    const { transport, peer } = createPeer({ limits: { batchItems: 2 } });
    const call = peer.request("a");
    const requests = Array.from({ length: 3 }, (_, id) => ({ jsonrpc: "2.0", method: "b", id }));
    transport.deliver([...requests, { jsonrpc: "2.0", id: transport.sent[0].id, result: 7 }]);
    assert.equal(await call, 7);
    assert.equal(transport.sent[1].error.data.reason, "batch-too-large");
  });
});

describe("many calls at once", () => {
  // These tests took minutes when the work for one call grew with the number of the other calls.
  const many = 50_000;
  const assertQuick = (start) => assert.isBelow(performance.now() - start, 10_000);

  it("get their responses without delay", async () => {
    const { transport, peer: client } = createPeer();
    const calls = Array.from({ length: many }, () => client.request("a"));
    const start = performance.now();
    for (let id = 1; id <= many; id++) transport.deliver({ jsonrpc: "2.0", id, result: id });
    assertQuick(start);
    assert.equal(await calls[many - 1], many);
  });

  it("end without delay when the client is destroyed", async () => {
    const { peer: client } = createPeer();
    const calls = Array.from({ length: many }, () => rejection(client.request("a")));
    const start = performance.now();
    client.destroy();
    assertQuick(start);
    await Promise.all(calls);
  });

  it("may share one signal, and leave no listeners on this signal", async () => {
    const { transport, peer: client } = createPeer();
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    for (const [name, change] of [
      ["addEventListener", 1],
      ["removeEventListener", -1],
    ]) {
      const original = signal[name];
      signal[name] = function (...args) {
        listeners += change;
        return original.apply(this, args);
      };
    }
    const start = performance.now();
    const calls = Array.from({ length: many }, () => client.request("a", undefined, { signal }));
    for (let id = 1; id <= many - 2; id++) transport.deliver({ jsonrpc: "2.0", id, result: id });
    assertQuick(start);
    assert.isAbove(listeners, 0);
    controller.abort("enough");
    assert.deepEqual([await rejection(calls[many - 1]), await rejection(calls[many - 2])], ["enough", "enough"]);
    assert.deepEqual([listeners, client.pending], [0, 0]);
  });
});

describe("a timeout", () => {
  it("never ends a call early, not even by a fraction of a millisecond", async () => {
    const { peer: client } = createPeer();
    for (const timeout of [0.5, 1, 2, 3, 5.9, 7, 0.5, 1, 2, 3, 5.9, 7]) {
      const start = performance.now();
      assert.instanceOf(await rejection(client.request("a", undefined, { timeout })), CallError);
      assert.isAtLeast(performance.now() - start, timeout);
    }
  });
});
