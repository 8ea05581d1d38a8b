// Batches that a client sends, and batches that a server receives.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer, RPCError } from "./support/portway.js";
import { channel, loopback, scriptedChannel, recorder } from "./support/transports.js";
import { deferred, rejection } from "./support/outcomes.js";

const valuesOrMessages = (outcomes) =>
  outcomes.map(({ status, value, reason }) => (status === "fulfilled" ? value : reason.message));

describe("a batch of calls", () => {
  it("is sent as one array", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCClient(transport).batch([{ method: "a", params: [1] }, { method: "b", notify: true }, { method: "c" }]);
    assert.deepEqual(await remoteEnd.next(), [
      { jsonrpc: "2.0", method: "a", params: [1], id: 1 },
      { jsonrpc: "2.0", method: "b" },
      { jsonrpc: "2.0", method: "c", id: 2 },
    ]);
  });

  it("rejects an argument that is not an array of calls", async () => {
    const client = new JSONRPCClient(scriptedChannel().transport);
    for (const calls of [undefined, null, {}, "a", [null], [undefined], ["a"], [{}]]) {
      assert.instanceOf(await rejection(client.batch(calls)), TypeError);
    }
    assert.equal(client.pending, 0);
  });

  it("resolves to the outcome of each call, in the order of the calls", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far)
      .method("echo", async ([value]) => value)
      .method("fail", () => {
        throw new RPCError(5, "failed");
      })
      .onNotify("note", () => {});
    const outcomes = await new JSONRPCClient(near).batch([
      { method: "echo", params: ["first"] },
      { method: "fail" },
      { method: "note", notify: true },
      { method: "missing" },
      { method: "echo", params: ["last"] },
    ]);
    assert.deepEqual(valuesOrMessages(outcomes), ["first", "failed", undefined, "Method not found: missing", "last"]);
    assert.instanceOf(outcomes[1].reason, RPCError);
  });

  it("accepts its responses alone or in arrays, in any order", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const batch = new JSONRPCClient(transport).batch([{ method: "a" }, { method: "b" }, { method: "c" }]);
    remoteEnd.post([
      { jsonrpc: "2.0", id: 3, result: "c" },
      { jsonrpc: "2.0", id: 1, result: "a" },
    ]);
    remoteEnd.post({ jsonrpc: "2.0", id: 2, result: "b" });
    assert.deepEqual(valuesOrMessages(await batch), ["a", "b", "c"]);
  });

  it("resolves at once and sends nothing if it is empty", async () => {
    const transport = recorder();
    assert.deepEqual(await new JSONRPCClient(transport).batch([]), []);
    assert.equal(transport.sent.length, 0);
  });

  it("resolves at once, without a response, if it has only notifications", async () => {
    const { near, far } = channel();
    const seen = [];
    new JSONRPCServer(far).onNotify("note", (params) => void seen.push(params)).method("ping", () => "pong");
    const client = new JSONRPCClient(near);
    const outcomes = await client.batch([
      { method: "note", params: [1], notify: true },
      { method: "note", params: [2], notify: true },
    ]);
    assert.deepEqual(valuesOrMessages(outcomes), [undefined, undefined]);
    await client.request("ping");
    assert.deepEqual(seen, [[1], [2]]);
  });

  it("fails all of its calls if the peer refuses batches", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const batch = new JSONRPCClient(transport).batch([{ method: "a" }, { method: "b" }]);
    await remoteEnd.next();
    const error = { code: -32600, message: "Batch requests not supported", data: { reason: "batch-not-supported" } };
    remoteEnd.post({ jsonrpc: "2.0", id: null, error });
    const outcomes = await batch;
    assert.deepEqual(valuesOrMessages(outcomes), [error.message, error.message]);
    assert.deepEqual(outcomes[0].reason.data, error.data);
  });

  const errorWithoutCall = { jsonrpc: "2.0", id: null, error: { code: -32600, message: "no call" } };
  for (const [array, options] of [
    ["batch", {}],
    ["list", { coalesce: true }],
  ]) {
    for (const ids of [
      [null, 2, 3],
      [2, null, 3],
      [2, 3, null],
    ]) {
      it(`fails only the call without a response if a received ${array} contains an error with the id null: ids ${JSON.stringify(ids)}`, async () => {
        const { transport, remoteEnd } = scriptedChannel();
        const client = new JSONRPCClient(transport, options);
        const batch = client.batch([{ method: "a" }, { method: "b" }, { method: "c" }]);
        remoteEnd.post(ids.map((id) => (id === null ? errorWithoutCall : { jsonrpc: "2.0", id, result: id })));
        assert.deepEqual(valuesOrMessages(await batch), ["no call", 2, 3]);
      });
    }

    it(`fails no call if a received ${array} contains an error with the id null and a response to each call`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const errors = [];
      const client = new JSONRPCClient(transport, { ...options, onError: ({ message }) => errors.push(message) });
      const batches = [1, 2].map(() => client.batch([{ method: "a" }, { method: "b" }]));
      remoteEnd.post([errorWithoutCall, { jsonrpc: "2.0", id: 1, result: 1 }, { jsonrpc: "2.0", id: 2, result: 2 }]);
      assert.deepEqual([valuesOrMessages(await batches[0]), errors, client.pending], [[1, 2], ["no call"], 2]);
      remoteEnd.post([3, 4].map((id) => ({ jsonrpc: "2.0", id, result: id })));
      assert.deepEqual(valuesOrMessages(await batches[1]), [3, 4]);
    });
  }

  it("is not ended by an error with the id null while another call is pending", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const errors = [];
    const client = new JSONRPCClient(transport, { onError: ({ message }) => errors.push(message) });
    const batch = client.batch([{ method: "a" }]);
    const call = client.request("b");
    remoteEnd.post(errorWithoutCall);
    for (const id of [1, 2]) remoteEnd.post({ jsonrpc: "2.0", id, result: id });
    assert.deepEqual([valuesOrMessages(await batch), await call, errors], [[1], 2, ["no call"]]);
  });

  it("fails each of its calls after the timeout", async () => {
    const client = new JSONRPCClient(recorder());
    const outcomes = await client.batch([{ method: "a" }, { method: "b" }], { timeout: 10 });
    assert.deepEqual(valuesOrMessages(outcomes), ["JSON-RPC timeout: a (id=1)", "JSON-RPC timeout: b (id=2)"]);
    assert.equal(client.pending, 0);
  });

  it("fails each of its calls when its signal is aborted, and sends a cancellation for each call", async () => {
    const transport = recorder();
    const controller = new AbortController();
    const batch = new JSONRPCClient(transport).batch([{ method: "a" }, { method: "b" }], { signal: controller.signal });
    controller.abort(new Error("given up"));
    assert.deepEqual(valuesOrMessages(await batch), ["given up", "given up"]);
    assert.deepEqual(
      transport.sent.slice(1).map(({ method, params, id }) => [method, params, id]),
      [
        ["$/cancelRequest", { id: 1 }, undefined],
        ["$/cancelRequest", { id: 2 }, undefined],
      ],
    );
  });

  it("is not sent if its signal is already aborted", async () => {
    const transport = recorder();
    const reason = new Error("too late");
    const error = await rejection(
      new JSONRPCClient(transport).batch([{ method: "a" }], { signal: AbortSignal.abort(reason) }),
    );
    assert.deepEqual([error, transport.sent.length], [reason, 0]);
  });

  it("rejects as a whole and sends nothing if one of its calls is invalid", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    assert.instanceOf(await rejection(client.batch([{ method: "a" }, { method: 5 }])), TypeError);
    assert.instanceOf(await rejection(client.batch([{ method: "a", params: "text" }])), TypeError);
    assert.deepEqual([transport.sent.length, client.pending], [0, 0]);
  });

  it("reports to onError that a notification cannot be cloned, and sends the other messages", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("one", () => 1);
    const errors = [];
    const client = new JSONRPCClient(near, { onError: ({ name }) => errors.push(name) });
    const [outcome] = await client.batch([{ method: "one" }, { method: "note", params: { f() {} }, notify: true }]);
    assert.deepEqual([outcome.value, errors], [1, ["DataCloneError"]]);
  });

  it("sends the other calls if one of its calls cannot be cloned", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("echo", ([value]) => value);
    const client = new JSONRPCClient(near);
    const outcomes = await client.batch([
      { method: "echo", params: [1] },
      { method: "echo", params: [() => {}] },
      { method: "echo", params: [3] },
    ]);
    assert.deepEqual([outcomes[0].value, outcomes[1].reason.name, outcomes[2].value], [1, "DataCloneError", 3]);
    assert.equal(client.pending, 0);
  });

  it("fails all of its calls when the client is destroyed", async () => {
    const client = new JSONRPCClient(recorder());
    const batch = client.batch([{ method: "a" }, { method: "b" }]);
    client.destroy();
    assert.deepEqual(valuesOrMessages(await batch), ["JSON-RPC client destroyed", "JSON-RPC client destroyed"]);
    assert.equal((await rejection(client.batch([{ method: "a" }]))).message, "JSON-RPC client destroyed");
  });

  it("works over a transport that delivers messages synchronously", async () => {
    const { near, far } = loopback();
    new JSONRPCServer(far).method("echo", ([value]) => value);
    const client = new JSONRPCClient(near);
    const outcomes = await client.batch([1, 2, 3].map((value) => ({ method: "echo", params: [value] })));
    assert.deepEqual(valuesOrMessages(outcomes), [1, 2, 3]);
    assert.equal(client.pending, 0);
  });
});

describe("a received batch", () => {
  it("is answered in one array, after the last of its requests has ended", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const slow = deferred();
    new JSONRPCServer(transport).method("slow", () => slow.promise).method("fast", () => "fast");
    remoteEnd.post([
      { jsonrpc: "2.0", method: "slow", id: "s" },
      { jsonrpc: "2.0", method: "fast", id: "f" },
    ]);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    slow.resolve("slow");
    const reply = await remoteEnd.next();
    assert.sameDeepMembers(reply, [
      { jsonrpc: "2.0", result: "slow", id: "s" },
      { jsonrpc: "2.0", result: "fast", id: "f" },
    ]);
  });

  it("is answered separately from another batch", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const waits = { a: deferred(), b: deferred() };
    new JSONRPCServer(transport).method("wait", ([key]) => waits[key].promise);
    for (const key of ["a", "b"]) {
      remoteEnd.post([1, 2].map((n) => ({ jsonrpc: "2.0", method: "wait", params: [key], id: key + n })));
    }
    await remoteEnd.unreadBeforeResponse();
    waits.b.resolve("b");
    assert.sameMembers(
      (await remoteEnd.next()).map(({ id }) => id),
      ["b1", "b2"],
    );
    waits.a.resolve("a");
    assert.sameMembers(
      (await remoteEnd.next()).map(({ id }) => id),
      ["a1", "a2"],
    );
  });

  it("runs the handlers of its notifications and of its requests", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const seen = [];
    new JSONRPCServer(transport).onNotify("note", ([n]) => void seen.push(n)).method("ping", () => "pong");
    remoteEnd.post([
      { jsonrpc: "2.0", method: "note", params: [1] },
      { jsonrpc: "2.0", method: "ping", id: 1 },
      { jsonrpc: "2.0", method: "note", params: [2] },
    ]);
    assert.deepEqual(await remoteEnd.next(), [{ jsonrpc: "2.0", result: "pong", id: 1 }]);
    assert.deepEqual(seen, [1, 2]);
  });

  it("is answered with an error in place of a result that cannot be cloned, and with the other results", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("bad", () => () => {}).method("good", () => "good");
    remoteEnd.post([
      { jsonrpc: "2.0", method: "bad", id: 1 },
      { jsonrpc: "2.0", method: "good", id: 2 },
    ]);
    const replies = Object.fromEntries((await remoteEnd.next()).map((reply) => [reply.id, reply]));
    assert.equal(replies[1].error.code, -32603);
    assert.equal(replies[2].result, "good");
  });

  it("is answered with one reply, which transfers the buffers of all handlers", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const buffers = [];
    new JSONRPCServer(transport).method("read", ([byte], context) => {
      const { buffer } = new Uint8Array([byte]);
      buffers.push(buffer);
      context.transfer([buffer]);
      return buffer;
    });
    remoteEnd.post([
      { jsonrpc: "2.0", method: "read", params: [1], id: 1 },
      { jsonrpc: "2.0", method: "read", params: [2], id: 2 },
    ]);
    const replies = await remoteEnd.next();
    assert.deepEqual(replies.map(({ id, result }) => [id, ...new Uint8Array(result)]).sort(), [
      [1, 1],
      [2, 2],
    ]);
    assert.deepEqual(
      buffers.map(({ byteLength }) => byteLength),
      [0, 0],
    );
  });

  for (const [name, list] of [
    ["the same buffer twice", (buffer) => [buffer, buffer]],
    ["an object that cannot be transferred", () => [{}]],
  ]) {
    it(`gets a response for each request even if the transfer list of one handler has ${name}`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      new JSONRPCServer(transport)
        .method("good", () => "good")
        .method("bad", (_, context) => {
          const { buffer } = new Uint8Array(1);
          context.transfer(list(buffer));
          return buffer;
        });
      remoteEnd.post([
        { jsonrpc: "2.0", method: "good", id: 1 },
        { jsonrpc: "2.0", method: "bad", id: 2 },
      ]);
      const replies = Object.fromEntries((await remoteEnd.next()).map((reply) => [reply.id, reply]));
      assert.equal(replies[1].result, "good");
      assert.equal(replies[2].error.code, -32603);
    });
  }

  it("is ignored if it is empty, or if one of its elements is not a JSON-RPC message", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("a", () => "ran");
    const valid = { jsonrpc: "2.0", method: "a", id: 1 };
    for (const batch of [[], [1], [null], [valid, { type: "other" }], [[valid]]]) remoteEnd.post(batch);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  it("may contain requests and responses", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    new JSONRPCServer(transport).method("ping", () => "pong");
    const call = client.request("a");
    await remoteEnd.next();
    remoteEnd.post([
      { jsonrpc: "2.0", id: 1, result: "answer" },
      { jsonrpc: "2.0", method: "ping", id: 1 },
    ]);
    assert.equal(await call, "answer");
    assert.deepEqual(await remoteEnd.next(), [{ jsonrpc: "2.0", result: "pong", id: 1 }]);
  });
});
