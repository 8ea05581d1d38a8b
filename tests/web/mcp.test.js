// The dialect `mcp`: cancellation, progress, results and refusals, as MCP 2025-11-25 specifies them.

import { assert } from "chai";
import { ErrorCode, JSONRPCClient, JSONRPCPeer, JSONRPCServer, RPCError, connect } from "./support/portway.js";
import { channel, recorder, scriptedChannel } from "./support/transports.js";
import { deferred, isPending, rejection, until } from "./support/outcomes.js";
import { cancelled, mcp, progressed, request, scriptedPeer } from "./support/mcp.js";

/** Returns two connected peers in the dialect, and the errors that they report. */
function connectedPeers() {
  const { near, far } = channel();
  const errors = [];
  const options = { ...mcp, onError: (error) => errors.push(error) };
  return { near: new JSONRPCPeer(near, options), far: new JSONRPCPeer(far, options), errors };
}

/** Registers a handler that never ends by itself. Returns an array of the contexts of its requests. */
function holdRequests(peer, method = "tools/call") {
  const contexts = [];
  peer.method(method, (_, context) => {
    contexts.push(context);
    return new Promise((_, reject) => context.signal.addEventListener("abort", () => reject(context.signal.reason)));
  });
  return contexts;
}

describe("in the dialect mcp, a call", () => {
  it("is cancelled by notifications/cancelled with its id and the text of the reason", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    for (const [reason, text] of [
      [new Error("given up"), "given up"],
      ["a text", "a text"],
      [7, "7"],
    ]) {
      const controller = new AbortController();
      const call = peer.request("tools/call", { name: "sum" }, { signal: controller.signal });
      const { id } = await remoteEnd.next();
      controller.abort(reason);
      assert.equal(await rejection(call), reason);
      assert.deepEqual(await remoteEnd.next(), cancelled({ requestId: id, reason: text }));
    }
  });

  it("is cancelled without a text if the reason cannot be converted to text", async () => {
    const { peer, remoteEnd, errors } = scriptedPeer();
    const controller = new AbortController();
    const call = peer.request("tools/call", undefined, { signal: controller.signal });
    const { id } = await remoteEnd.next();
    const reason = Object.create(null);
    controller.abort(reason);
    assert.equal(await rejection(call), reason);
    const { method, params } = await remoteEnd.next();
    assert.deepEqual([method, params.requestId, params.reason], ["notifications/cancelled", id, undefined]);
    assert.deepEqual(errors, []);
  });

  it("is cancelled at the peer if it times out", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const call = peer.request("tools/call", undefined, { timeout: 10 });
    const { id } = await remoteEnd.next();
    assert.equal((await rejection(call)).reason, "timeout");
    assert.deepEqual(await remoteEnd.next(), cancelled({ requestId: id, reason: "timeout" }));
  });

  it("sends no cancellation if its method is initialize", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const controller = new AbortController();
    const calls = [
      peer.request("initialize", {}, { signal: controller.signal }),
      peer.request("initialize", {}, { timeout: 10 }),
    ];
    const errors = calls.map(rejection);
    await remoteEnd.next();
    await remoteEnd.next();
    controller.abort();
    assert.deepEqual([(await errors[0]).name, (await errors[1]).reason], ["AbortError", "timeout"]);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  it("ignores a response that arrives after its cancellation", async () => {
    const { peer, remoteEnd, errors } = scriptedPeer();
    const controller = new AbortController();
    const call = peer.request("tools/call", undefined, { signal: controller.signal });
    const { id } = await remoteEnd.next();
    controller.abort("given up");
    await rejection(call);
    remoteEnd.post({ jsonrpc: "2.0", id, result: {} });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [cancelled({ requestId: id, reason: "given up" })]);
    assert.deepEqual([errors, peer.pending], [[], 0]);
  });

  it("has its id as the progress token, and receives the progress with this token, if it has onProgress", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const seen = [];
    const params = { name: "sum", _meta: { trace: "x" } };
    const call = peer.request("tools/call", params, { onProgress: (value) => seen.push(value) });
    const { id, params: sent } = await remoteEnd.next();
    assert.deepEqual(sent, { name: "sum", _meta: { trace: "x", progressToken: id } });
    assert.deepEqual(params, { name: "sum", _meta: { trace: "x" } });
    remoteEnd.post(progressed({ progressToken: id, progress: 1 }));
    remoteEnd.post(progressed({ progressToken: id, progress: 2, total: 5, message: "two" }));
    remoteEnd.post({ jsonrpc: "2.0", id, result: { ok: true } });
    assert.deepEqual(await call, { ok: true });
    assert.deepEqual(seen, [{ progress: 1 }, { progress: 2, total: 5, message: "two" }]);
  });

  it("has params with only the token if it has onProgress but no params", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    peer.request("tools/list", undefined, { onProgress() {} }).catch(() => {});
    const { id, params } = await remoteEnd.next();
    assert.deepEqual(params, { _meta: { progressToken: id } });
    peer.destroy();
  });

  it("has no progress token if it has no onProgress", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    peer.request("tools/list", { cursor: "x" }).catch(() => {});
    const sent = await remoteEnd.next();
    assert.deepEqual(sent, request(sent.id, "tools/list", { cursor: "x" }));
    peer.destroy();
  });

  it("lasts longer than its timeout while progress arrives", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const call = peer.request("tools/call", undefined, { timeout: 700, onProgress() {} });
    call.catch(() => {});
    const { id } = await remoteEnd.next();
    for (let n = 1; n <= 8; n++) {
      assert.isTrue(await isPending(call, 120));
      remoteEnd.post(progressed({ progressToken: id, progress: n }));
    }
    remoteEnd.post({ jsonrpc: "2.0", id, result: { n: 8 } });
    assert.deepEqual(await call, { n: 8 });
  });

  it("rejects with a TypeError, and sends nothing, if its params are an array", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const error = await rejection(peer.request("tools/call", [1, 2]));
    assert.instanceOf(error, TypeError);
    assert.match(error.message, /^params of "tools\/call" must be an object in the dialect "mcp", got an array$/);
    assert.throws(() => peer.notify("notifications/x", [1]), TypeError, /must be an object/);
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), peer.pending], [[], 0]);
  });

  it("rejects with a TypeError, and sends nothing, in a batch or a stream", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const errors = [
      await rejection(peer.batch([{ method: "tools/list" }])),
      await rejection(peer.stream("tools/call").next()),
      await rejection(peer.request("rpc.hello")),
    ];
    for (const error of errors) assert.instanceOf(error, TypeError);
    assert.match(errors[0].message, /has no batches; use request\(\)$/);
    assert.match(errors[1].message, /^"rpc.stream" is refused: the dialect "mcp" has no streams/);
    assert.throws(() => peer.notify("rpc.bye"), TypeError, /no rpc\.\* methods/);
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), peer.pending], [[], 0]);
  });

  it("receives an error of the peer with its code and data", async () => {
    const { near, far } = connectedPeers();
    far.method("tools/call", () => {
      throw new RPCError(-32602, "unknown tool", { name: "sum" });
    });
    const error = await rejection(near.request("tools/call", { name: "sum" }));
    assert.deepEqual([error.code, error.message, error.data], [-32602, "unknown tool", { name: "sum" }]);
  });
});

describe("in the dialect mcp, a request of the peer", () => {
  it("is not answered after it was cancelled, and its signal has the text of the reason", async () => {
    const { peer, remoteEnd, errors } = scriptedPeer();
    const contexts = holdRequests(peer);
    remoteEnd.post(request(1, "tools/call"));
    remoteEnd.post(cancelled({ requestId: 1, reason: "the user has left" }));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    const [{ signal }] = contexts;
    assert.deepEqual(
      [signal.aborted, signal.reason.name, signal.reason.message],
      [true, "AbortError", "the user has left"],
    );
    assert.deepEqual(errors, []);
  });

  for (const reason of [undefined, "", 5, { text: "x" }]) {
    it(`has an AbortError as the reason of its signal if the reason is ${JSON.stringify(reason)}`, async () => {
      const { peer, remoteEnd } = scriptedPeer();
      const contexts = holdRequests(peer);
      remoteEnd.post(request("a", "tools/call"));
      remoteEnd.post(cancelled({ requestId: "a", reason }));
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
      assert.equal(contexts[0].signal.reason.name, "AbortError");
    });
  }

  for (const [end, settle] of [
    ["returns a result", (result) => result.resolve({ late: true })],
    ["throws an error", (result) => result.reject(new RPCError(-32004, "broken"))],
  ]) {
    it(`is not answered if its handler ${end} after the cancellation`, async () => {
      const { peer, remoteEnd, errors } = scriptedPeer();
      const result = deferred();
      peer.method("tools/call", () => result.promise);
      remoteEnd.post(request(1, "tools/call"));
      remoteEnd.post(cancelled({ requestId: 1 }));
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
      settle(result);
      await result.promise.catch(() => {});
      assert.deepEqual([await remoteEnd.unreadBeforeResponse(), errors], [[], []]);
    });
  }

  it("sends no progress after it was cancelled", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const contexts = holdRequests(peer);
    remoteEnd.post(request(1, "tools/call", { _meta: { progressToken: "t" } }));
    remoteEnd.post(cancelled({ requestId: 1 }));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    contexts[0].progress(1);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  for (const progressToken of ["t", 0, 7]) {
    it(`sends its progress with the token ${JSON.stringify(progressToken)} of the peer`, async () => {
      const { peer, remoteEnd } = scriptedPeer();
      peer.method("tools/call", (params, { progress }) => {
        progress(1);
        progress({ progress: 2, total: 4, message: "half", progressToken: "another" });
        return { params };
      });
      const params = { name: "sum", _meta: { progressToken } };
      remoteEnd.post(request(3, "tools/call", params));
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [
        progressed({ progressToken, progress: 1 }),
        progressed({ progressToken, progress: 2, total: 4, message: "half" }),
        { jsonrpc: "2.0", id: 3, result: { params } },
      ]);
    });
  }

  for (const params of [
    undefined,
    {},
    { _meta: null },
    { _meta: { progressToken: null } },
    { _meta: { progressToken: {} } },
  ]) {
    it(`sends no progress if its params are ${JSON.stringify(params)}`, async () => {
      const { peer, remoteEnd } = scriptedPeer();
      peer.method("tools/call", (_, { progress }) => {
        progress(1);
        progress({ progress: 2, total: 4 });
        return { done: true };
      });
      remoteEnd.post(request(3, "tools/call", params));
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [{ jsonrpc: "2.0", id: 3, result: { done: true } }]);
    });
  }

  for (const [value, text] of [
    [undefined, "undefined"],
    [null, "null"],
    ["half", "a string"],
    [NaN, "NaN"],
    [{}, "{}"],
    [{ progress: "1" }, "an object without a number"],
  ]) {
    it(`is answered with -32603, with and without a token, if its handler passes ${text} to progress()`, async () => {
      const { peer, remoteEnd } = scriptedPeer();
      peer.method("tools/call", (_, { progress }) => progress(value));
      remoteEnd.post(request(1, "tools/call"));
      remoteEnd.post(request(2, "tools/call", { _meta: { progressToken: 2 } }));
      for (const { error } of await remoteEnd.unreadBeforeResponse()) {
        assert.equal(error.code, ErrorCode.InternalError);
        assert.match(error.message, /^progress must be a finite number/);
      }
    });
  }

  it("is answered with {} if its method is ping, and ping has no handler", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    remoteEnd.post(request(1, "ping"));
    remoteEnd.post(request(2, "pong"));
    const [ping, pong] = await remoteEnd.unreadBeforeResponse();
    assert.deepEqual(ping, { jsonrpc: "2.0", id: 1, result: {} });
    assert.equal(pong.error.code, ErrorCode.MethodNotFound);
    peer.method("ping", () => ({ own: true }));
    remoteEnd.post(request(3, "ping"));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [{ jsonrpc: "2.0", id: 3, result: { own: true } }]);
    const plain = scriptedChannel();
    new JSONRPCServer(plain.transport).method("other", () => {});
    plain.remoteEnd.post(request(4, "ping"));
    const [refusal] = await plain.remoteEnd.unreadBeforeResponse();
    assert.equal(refusal.error.code, ErrorCode.MethodNotFound);
  });

  it("is answered with {} if its handler returns nothing or null", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    peer
      .method("ping", () => {})
      .method("slow", async () => {})
      .method("empty", () => null);
    for (const method of ["ping", "slow", "empty"]) remoteEnd.post(request(method, method));
    const answers = await remoteEnd.unreadBeforeResponse();
    assert.sameDeepMembers(
      answers,
      ["ping", "slow", "empty"].map((id) => ({ jsonrpc: "2.0", id, result: {} })),
    );
  });

  for (const [result, got] of [
    [5, "number"],
    ["text", "string"],
    [true, "boolean"],
    [[1], "an array"],
    [7n, "bigint"],
  ]) {
    it(`is answered with -32603 if its handler returns ${String(result)} (${got})`, async () => {
      const { peer, remoteEnd } = scriptedPeer();
      peer.method("tools/call", () => result);
      remoteEnd.post(request(1, "tools/call"));
      const message = `the result must be an object in the dialect "mcp", got ${got}`;
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [
        { jsonrpc: "2.0", id: 1, error: { code: ErrorCode.InternalError, message } },
      ]);
    });
  }

  it("is answered with -32603 if its handler returns a stream", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    peer.method("logs", async function* () {
      yield 1;
    });
    remoteEnd.post(request(1, "logs"));
    const [{ error }] = await remoteEnd.unreadBeforeResponse();
    assert.equal(error.code, ErrorCode.InternalError);
  });

  it("can be cancelled if its id is 0 or a string", async () => {
    const { peer, remoteEnd } = scriptedPeer();
    const contexts = holdRequests(peer);
    for (const id of [0, "0", "a"]) remoteEnd.post(request(id, "tools/call"));
    remoteEnd.post(cancelled({ requestId: "0" }));
    remoteEnd.post(cancelled({ requestId: 0 }));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.deepEqual(
      contexts.map(({ signal }) => signal.aborted),
      [true, true, false],
    );
  });
});

describe("in the dialect mcp, two peers", () => {
  it("cancel each other's requests: the reason reaches the handler, and neither peer reports an error", async () => {
    const { near, far, errors } = connectedPeers();
    for (const [caller, server] of [
      [near, far],
      [far, near],
    ]) {
      const contexts = holdRequests(server);
      const controller = new AbortController();
      const call = caller.request("tools/call", {}, { signal: controller.signal });
      await until(() => contexts.length === 1);
      controller.abort(new Error("no longer needed"));
      assert.equal((await rejection(call)).message, "no longer needed");
      await until(() => contexts[0].signal.aborted);
      assert.equal(contexts[0].signal.reason.message, "no longer needed");
      server.method("ping", () => {});
      assert.deepEqual(await caller.request("ping"), {});
    }
    assert.deepEqual([errors, near.ignored, far.ignored], [[], 0, 0]);
  });

  it("exchange progress", async () => {
    const { near, far } = connectedPeers();
    far.method("tools/call", async (_, { progress }) => {
      progress(1);
      progress({ progress: 2, total: 2, message: "done" });
    });
    const seen = [];
    assert.deepEqual(await near.request("tools/call", {}, { onProgress: (value) => seen.push(value) }), {});
    assert.deepEqual(seen, [{ progress: 1 }, { progress: 2, total: 2, message: "done" }]);
  });
});

describe("the option dialect", () => {
  it("must be mcp or undefined", () => {
    for (const dialect of ["lsp", "", null, 1]) {
      for (const Class of [JSONRPCClient, JSONRPCServer, JSONRPCPeer])
        assert.throws(() => new Class(recorder(), { dialect }), TypeError, /^dialect must be "mcp" or undefined, got /);
    }
    const transport = recorder();
    new JSONRPCClient(transport, { dialect: undefined }).notify("a", [1]);
    assert.deepEqual(transport.sent, [{ jsonrpc: "2.0", method: "a", params: [1] }]);
  });

  it("applies to all clients and servers on a transport if the first of them has it", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCClient(transport, mcp);
    new JSONRPCServer(transport).method("ping", () => {});
    new JSONRPCServer(transport, mcp).method("pong", () => {});
    remoteEnd.post(request(1, "ping"));
    remoteEnd.post(request(2, "pong"));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 2, result: {} },
    ]);
  });

  it("causes a TypeError, and does not change the transport, if the transport is already used without a dialect", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const server = new JSONRPCServer(transport).method("ping", () => {});
    assert.throws(() => new JSONRPCClient(transport, mcp), TypeError, /^dialect must be "mcp" for the first/);
    remoteEnd.post(request(1, "ping"));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [{ jsonrpc: "2.0", id: 1, result: null }]);
    server.destroy();
  });

  it("excludes coalescing", () => {
    for (const coalesce of [true, "columns"])
      assert.throws(() => new JSONRPCPeer(recorder(), { ...mcp, coalesce }), TypeError, /^coalesce must be false/);
    const transport = recorder();
    const peer = new JSONRPCPeer(transport, { ...mcp, coalesce: false });
    assert.throws(() => new JSONRPCServer(transport, { coalesce: true }), TypeError, /^coalesce must be false/);
    peer.destroy();
  });

  it("makes connect reject with a TypeError, without sending a message", async () => {
    const { port1, port2 } = new MessageChannel();
    const received = [];
    port2.onmessage = ({ data }) => received.push(data);
    const error = await rejection(connect(port1, mcp));
    assert.instanceOf(error, TypeError);
    assert.match(error.message, /^connect must have no dialect/);
    port1.postMessage("mark");
    await until(() => received.length > 0);
    assert.deepEqual(received, ["mark"]);
    port1.close();
  });

  it("disables the lists of a transport that coalesces", async () => {
    const transport = Object.assign(recorder(), { coalesces: true, columns: true });
    const client = new JSONRPCClient(transport, mcp);
    for (let n = 0; n < 3; n++) client.notify("notifications/x", { n });
    await until(() => transport.sent.length === 3);
    assert.deepEqual(
      transport.sent.map(({ params }) => params.n),
      [0, 1, 2],
    );
  });
});

it("in the dialect mcp, no method with a name rpc.* or $/* is sent from the first call to destroy()", async () => {
  const { near, far } = channel();
  const sent = [];
  const recorded = (transport) => ({
    send: (message, transfer) => (sent.push(message), transport.send(message, transfer)),
    onMessage: (handler) => transport.onMessage(handler),
    destroy: () => transport.destroy(),
  });
  const a = new JSONRPCPeer(recorded(near), mcp);
  const b = new JSONRPCPeer(recorded(far), mcp);
  const contexts = holdRequests(b, "slow");
  b.method("tools/call", (_, { progress }) => progress(1));
  await a.request("tools/call", {}, { onProgress() {} });
  const controller = new AbortController();
  const call = a.request("slow", {}, { signal: controller.signal });
  await until(() => contexts.length === 1);
  controller.abort();
  await rejection(call);
  await until(() => contexts[0].signal.aborted);
  a.destroy();
  b.destroy();
  assert.isAtLeast(sent.length, 5);
  for (const { method } of sent) assert.notMatch(method ?? "", /^(rpc\.|\$\/)/);
});
