// Peers that break the rules of the dialect `mcp`.

import { assert } from "chai";
import { ErrorCode, JSONRPCClient, JSONRPCServer } from "./support/portway.js";
import { recorder, scriptedChannel } from "./support/transports.js";
import { deferred, isPending, rejection } from "./support/outcomes.js";
import { cancelled, mcp, progressed, request, scriptedPeer } from "./support/mcp.js";

const REFUSAL = { jsonrpc: "2.0", id: null, error: { code: ErrorCode.InvalidRequest } };

/** Checks that a message is the refusal -32600 with the id null. */
function assertRefusal({ jsonrpc, id, error: { code } }) {
  assert.deepEqual({ jsonrpc, id, error: { code } }, REFUSAL);
}

describe("in the dialect mcp, a cancellation", () => {
  for (const params of [
    undefined,
    null,
    [],
    {},
    { requestId: null },
    { requestId: {} },
    { requestId: 2 },
    { requestId: "1" },
    { id: 1 },
  ]) {
    it(`does not affect the running request 1 if the params of the cancellation are ${JSON.stringify(params)}`, async () => {
      const { peer, remoteEnd, errors } = scriptedPeer();
      const result = deferred();
      let signal;
      peer.method("tools/call", (_, context) => ((signal = context.signal), result.promise));
      remoteEnd.post(request(1, "tools/call"));
      remoteEnd.post(cancelled(params));
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
      assert.isFalse(signal.aborted);
      result.resolve({ n: 1 });
      assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", id: 1, result: { n: 1 } });
      assert.deepEqual(errors, []);
    });
  }

  it("is ignored, and the request is answered, if the method of the request is initialize", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const result = deferred();
    let signal;
    peer.method("initialize", (_, context) => ((signal = context.signal), result.promise));
    remoteEnd.post(request(0, "initialize"));
    remoteEnd.post(cancelled({ requestId: 0, reason: "no" }));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.isFalse(signal.aborted);
    result.resolve({ protocolVersion: "2025-11-25" });
    assert.deepEqual((await remoteEnd.next()).result, { protocolVersion: "2025-11-25" });
  });

  it("is ignored if it arrives after the answer, or a second time", async () => {
    const { peer, remoteEnd, errors } = scriptedPeer();
    peer.method("quick", () => ({})).method("slow", () => new Promise(() => {}));
    remoteEnd.post(request(1, "quick"));
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", id: 1, result: {} });
    for (const id of [1, 1]) remoteEnd.post(cancelled({ requestId: id }));
    remoteEnd.post(request(2, "slow"));
    for (const id of [2, 2]) remoteEnd.post(cancelled({ requestId: id }));
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), errors], [[], []]);
  });

  it("does not end a call of the receiving peer, even if the cancellation contains the id of the call", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const call = peer.request("sampling/createMessage", {}, { timeout: 0 });
    const { id } = await remoteEnd.next();
    remoteEnd.post(cancelled({ requestId: id }));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.isTrue(await isPending(call));
    remoteEnd.post({ jsonrpc: "2.0", id, result: {} });
    assert.deepEqual(await call, {});
  });

  it("allows a new request with the same id: each request has its own handler, and only the second is answered", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const results = [deferred(), deferred()];
    const contexts = [];
    peer.method("tools/call", (_, context) => results[contexts.push(context) - 1].promise);
    remoteEnd.post(request(1, "tools/call", { _meta: { progressToken: "first" } }));
    remoteEnd.post(cancelled({ requestId: 1 }));
    remoteEnd.post(request(1, "tools/call", { _meta: { progressToken: "second" } }));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.deepEqual(
      contexts.map(({ signal }) => signal.aborted),
      [true, false],
    );
    results[0].resolve({ n: 1 });
    await results[0].promise;
    for (const context of contexts) context.progress(5);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [progressed({ progressToken: "second", progress: 5 })]);
    results[1].resolve({ n: 2 });
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", id: 1, result: { n: 2 } });
  });

  it("is not a message, and is ignored, if the member jsonrpc is missing", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    let signal;
    peer.method("tools/call", (_, context) => ((signal = context.signal), new Promise(() => {})));
    remoteEnd.post(request(1, "tools/call"));
    remoteEnd.post({ method: "notifications/cancelled", params: { requestId: 1 } });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.isFalse(signal.aborted);
  });

  it("is a request for an unknown method if it has an id", async () => {
    const { remoteEnd } = scriptedPeer();
    remoteEnd.post({ ...cancelled({ requestId: 1 }), id: 2 });
    const [{ id, error }] = await remoteEnd.unreadBeforeResponse();
    assert.deepEqual([id, error.code], [2, ErrorCode.MethodNotFound]);
  });
});

it("in the dialect mcp, cancelled requests whose handlers still run are limited to four times inFlight", async () => {
  const { peer, remoteEnd } = scriptedPeer({ limits: { inFlight: 2 } });
  const results = [];
  peer.method("tools/call", () => {
    results.push(deferred());
    return results.at(-1).promise;
  });
  const start = async (id) => {
    remoteEnd.post(request(id, "tools/call"));
    remoteEnd.post(cancelled({ requestId: id }));
    return remoteEnd.unreadBeforeResponse();
  };
  for (let id = 1; id <= 8; id++) assert.deepEqual(await start(id), []);
  const refused = await start(9);
  assert.deepEqual([refused[0].id, refused[0].error.data.reason], [9, "too-many-requests"]);
  assert.equal(results.length, 8);
  // A handler that ends makes room for another request.
  results[0].resolve();
  await results[0].promise;
  assert.deepEqual(await start(10), []);
  assert.equal(results.length, 9);
});

describe("in the dialect mcp, progress", () => {
  it("is an ordinary notification if no call has announced its token", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const received = [];
    const progress = [];
    peer.onNotify("notifications/progress", (params) => received.push(params));
    const calls = [
      peer.request("a", {}, { timeout: 0, onProgress: (value) => progress.push(value) }),
      peer.request("b", {}, { timeout: 0 }),
    ];
    const ids = [(await remoteEnd.next()).id, (await remoteEnd.next()).id];
    const foreign = [
      { progressToken: String(ids[0]), progress: 1 },
      { progressToken: ids[1], progress: 2 },
      { progressToken: "t", progress: 3 },
      { progress: 4 },
    ];
    for (const params of foreign) remoteEnd.post(progressed(params));
    remoteEnd.post(progressed({ progressToken: ids[0], progress: 5 }));
    await remoteEnd.unreadBeforeResponse();
    assert.deepEqual([received, progress], [foreign, [{ progress: 5 }]]);
    for (const id of ids) remoteEnd.post({ jsonrpc: "2.0", id, result: {} });
    await Promise.all(calls);
    remoteEnd.post(progressed({ progressToken: ids[0], progress: 6 }));
    await remoteEnd.unreadBeforeResponse();
    assert.deepEqual([received.at(-1).progress, progress.length], [6, 1]);
  });

  it("does not restart a timeout if no call has announced its token", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const call = rejection(peer.request("a", {}, { timeout: 120 }));
    const { id } = await remoteEnd.next();
    const timer = setInterval(() => remoteEnd.post(progressed({ progressToken: id, progress: 1 })), 20);
    try {
      assert.equal((await call).reason, "timeout");
    } finally {
      clearInterval(timer);
    }
  });

  it("is ignored if it has no params, or params that are not an object", async () => {
    const { peer, remoteEnd, errors } = scriptedPeer();
    const call = peer.request("a", {}, { timeout: 0, onProgress: () => assert.fail("no progress") });
    const { id } = await remoteEnd.next();
    for (const params of [undefined, null, [id], 5]) remoteEnd.post(progressed(params));
    await remoteEnd.unreadBeforeResponse();
    remoteEnd.post({ jsonrpc: "2.0", id, result: {} });
    assert.deepEqual([await call, errors], [{}, []]);
  });
});

describe("in the dialect mcp, an array of messages", () => {
  it("is refused once with -32600 and the id null, and no handler runs", async () => {
    const { peer, remoteEnd, errors } = scriptedPeer();
    let runs = 0;
    peer.method("ping", () => void runs++).onNotify("notifications/x", () => void runs++);
    for (const batch of [
      [request(1, "ping"), request(2, "ping")],
      [{ jsonrpc: "2.0", method: "notifications/x" }],
      [cancelled({ requestId: 1 })],
      [{ jsonrpc: "2.0", id: 1 }, { jsonrpc: "2.0" }],
    ]) {
      remoteEnd.post(batch);
      const answers = await remoteEnd.unreadBeforeResponse();
      assert.equal(answers.length, 1);
      assertRefusal(answers[0]);
    }
    assert.deepEqual([runs, errors], [0, []]);
  });

  it("ends the calls of its responses, and is refused only if it also contains other messages", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    let runs = 0;
    peer.method("ping", () => void runs++);
    const calls = [peer.request("a"), peer.request("b"), peer.request("c")];
    const ids = [];
    while (ids.length < 3) ids.push((await remoteEnd.next()).id);
    remoteEnd.post([
      { jsonrpc: "2.0", id: ids[0], result: { n: 0 } },
      request(ids[0], "ping"),
      { jsonrpc: "2.0", id: ids[1], error: { code: 5, message: "no" } },
      { jsonrpc: "2.0", id: ids[0], result: { n: "late" } },
      { jsonrpc: "2.0", id: 999, result: {} },
      request(8, "ping"),
    ]);
    assert.deepEqual(await calls[0], { n: 0 });
    assert.equal((await rejection(calls[1])).code, 5);
    const answers = await remoteEnd.unreadBeforeResponse();
    assert.equal(answers.length, 1);
    assertRefusal(answers[0]);
    // An array that has only responses is not answered.
    remoteEnd.post([{ jsonrpc: "2.0", id: ids[2], result: { n: 2 } }]);
    assert.deepEqual(await calls[2], { n: 2 });
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), runs], [[], 0]);
  });

  it("is ignored if it is empty or contains values that are not messages", async () => {
    const { remoteEnd, errors } = scriptedPeer();
    for (const batch of [[], [1], [null, request(1, "ping")], [[request(1, "ping")]], Array(100)])
      remoteEnd.post(batch);
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), errors], [[], []]);
  });

  it("is not answered by a client", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport, mcp);
    remoteEnd.post([request(1, "ping")]);
    remoteEnd.post(request(null, "ping"));
    const call = client.request("a");
    const { id } = await remoteEnd.next();
    remoteEnd.post({ jsonrpc: "2.0", id, result: {} });
    await call;
    assert.equal(remoteEnd.received.length, 1);
  });
});

describe("in the dialect mcp, a request", () => {
  it("is refused with -32600, and no handler runs, if its id is null", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    let runs = 0;
    peer.method("ping", () => void runs++);
    remoteEnd.post(request(null, "ping"));
    const answers = await remoteEnd.unreadBeforeResponse();
    assert.deepEqual([answers.length, runs], [1, 0]);
    assertRefusal(answers[0]);
  });

  it("is answered with -32601 if its method is rpc.stream, rpc.hello or another method of rpc.*", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    peer.method("logs", async function* () {
      yield { n: 1 };
    });
    for (const [method, params] of [
      ["rpc.stream", { method: "logs", credit: 16 }],
      ["rpc.hello", {}],
      ["rpc.ping", undefined],
    ]) {
      remoteEnd.post(request(method, method, params));
      const answers = await remoteEnd.unreadBeforeResponse();
      assert.deepEqual(
        answers.map(({ id, error }) => [id, error.code]),
        [[method, ErrorCode.MethodNotFound]],
      );
    }
  });
});

it("in the dialect mcp, the notifications of this library have no effect", async () => {
  const { peer, remoteEnd, errors } = scriptedPeer();
  let signal;
  let runs = 0;
  peer.method("ping", () => void runs++);
  peer.method("tools/call", (_, context) => ((signal = context.signal), new Promise(() => {})));
  const call = peer.request("a", {}, { timeout: 0, onProgress: () => assert.fail("no progress") });
  const { id } = await remoteEnd.next();
  remoteEnd.post(request(1, "tools/call"));
  for (const [method, params] of [
    ["$/cancelRequest", { id: 1 }],
    ["$/progress", { token: id, value: 1 }],
    ["rpc.columns", { method: "ping", id: [5, 6] }],
    ["rpc.item", { id, value: 1 }],
    ["rpc.credit", { id: 1, count: 5 }],
    ["rpc.bye", {}],
  ])
    remoteEnd.post({ jsonrpc: "2.0", method, params });
  assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  assert.deepEqual([signal.aborted, runs, peer.pending, errors], [false, 0, 1, []]);
  remoteEnd.post({ jsonrpc: "2.0", id, result: {} });
  await call;
});

it("in the dialect mcp, getters that throw in a message are reported, and the request is answered", () => {
  const transport = recorder();
  const errors = [];
  new JSONRPCServer(transport, { ...mcp, onError: (error) => errors.push(error.message) }).method("ping", () => {});
  const throwing = (message) => ({
    get() {
      throw new Error(message);
    },
    enumerable: true,
  });
  transport.deliver(Object.defineProperty({ jsonrpc: "2.0", id: 1 }, "method", throwing("no method")));
  assert.deepEqual([errors, transport.sent], [["no method"], []]);
  transport.deliver({
    jsonrpc: "2.0",
    id: 2,
    method: "ping",
    params: Object.defineProperty({}, "_meta", throwing("no")),
  });
  assert.deepEqual(transport.sent, [{ jsonrpc: "2.0", id: 2, result: {} }]);
  transport.deliver(Object.defineProperty({}, "jsonrpc", throwing("no version")));
  for (const foreign of [null, "text", 5, undefined]) transport.deliver(foreign);
  assert.deepEqual([errors, transport.sent.length], [["no method", "no version"], 1]);
});
