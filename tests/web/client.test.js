// The messages that a client sends, and the responses that it accepts.

import { assert } from "chai";
import { CallError, JSONRPCClient, RPCError } from "./support/portway.js";
import { scriptedChannel, recorder } from "./support/transports.js";
import { isPending, rejection } from "./support/outcomes.js";

describe("a client", () => {
  it("sends a request with the version, the method, the params and the id", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCClient(transport).request("fetch", { url: "/a" }).catch(() => {});
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", method: "fetch", params: { url: "/a" }, id: 1 });
  });

  it("numbers its calls 1, 2, 3 and so on", () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    for (let i = 0; i < 100; i++) client.request("a").catch(() => {});
    assert.deepEqual(
      transport.sent.map(({ id }) => id),
      Array.from({ length: 100 }, (_, i) => i + 1),
    );
  });

  it("numbers its calls independently of clients on other transports", () => {
    const [first, second] = [recorder(), recorder()];
    new JSONRPCClient(first).request("a").catch(() => {});
    new JSONRPCClient(second).request("a").catch(() => {});
    assert.deepEqual([first.sent[0].id, second.sent[0].id], [1, 1]);
  });

  it("does not number notifications", () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    client.notify("a");
    client.request("b").catch(() => {});
    assert.equal(transport.sent[1].id, 1);
  });

  it("never reuses the id of a call, even after the call has ended", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    for (let id = 1; id <= 5; id++) {
      const call = client.request("a");
      assert.equal(transport.sent.at(-1).id, id);
      transport.deliver({ jsonrpc: "2.0", id, result: id });
      assert.equal(await call, id);
    }
  });

  it("omits params that are undefined or null", () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    for (const params of [undefined, null]) client.request("a", params).catch(() => {});
    assert.deepEqual(transport.sent, [
      { jsonrpc: "2.0", method: "a", id: 1 },
      { jsonrpc: "2.0", method: "a", id: 2 },
    ]);
  });

  it("sends params by position as an array", () => {
    const transport = recorder();
    new JSONRPCClient(transport).request("a", [1, "b"]).catch(() => {});
    assert.deepEqual(transport.sent[0].params, [1, "b"]);
  });

  for (const params of [5, "text", true, 1n, Symbol("a"), () => {}]) {
    it(`rejects a call whose params are a ${typeof params}, and sends nothing`, async () => {
      const transport = recorder();
      const client = new JSONRPCClient(transport);
      assert.instanceOf(await rejection(client.request("a", params)), TypeError);
      assert.deepEqual([transport.sent.length, client.pending], [0, 0]);
    });
  }

  for (const method of [undefined, null, 5, {}]) {
    it(`rejects a call of the method ${JSON.stringify(method)}, and sends nothing`, async () => {
      const transport = recorder();
      assert.instanceOf(await rejection(new JSONRPCClient(transport).request(method)), TypeError);
      assert.equal(transport.sent.length, 0);
    });
  }

  it("sends a notification without the member id, and returns undefined", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    assert.isUndefined(new JSONRPCClient(transport).notify("console", { level: "error" }));
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", method: "console", params: { level: "error" } });
  });

  it("omits the params of a notification if they are undefined or null", () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    for (const params of [undefined, null]) client.notify("refresh", params);
    assert.deepEqual(transport.sent.map(Object.keys), [
      ["jsonrpc", "method"],
      ["jsonrpc", "method"],
    ]);
  });

  it("throws if a notification cannot be sent", () => {
    const { transport } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    assert.throws(() => client.notify("a", 5), TypeError);
    assert.throws(() => client.notify("a", { f() {} }), DOMException);
  });

  it("resolves each call with the result for its id, in any order of arrival", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const calls = ["a", "b", "c"].map((method) => client.request(method));
    for (const id of [3, 1, 2]) remoteEnd.post({ jsonrpc: "2.0", id, result: `result ${id}` });
    assert.deepEqual(await Promise.all(calls), ["result 1", "result 2", "result 3"]);
  });

  for (const result of [undefined, null, 0, false, "", NaN, [], {}]) {
    it(`resolves a call with the result ${Object.is(result, NaN) ? "NaN" : JSON.stringify(result)}`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const call = new JSONRPCClient(transport).request("a");
      remoteEnd.post({ jsonrpc: "2.0", id: 1, result });
      assert.deepEqual(await call, result);
    });
  }

  it("rejects a call with an RPCError that has the code, the message and the data of the error response", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const call = new JSONRPCClient(transport).request("build");
    remoteEnd.post({
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32001, message: "Build failed", data: [{ file: "a.ts" }] },
    });
    const error = await rejection(call);
    assert.instanceOf(error, RPCError);
    assert.instanceOf(error, Error);
    assert.deepEqual(
      { ...error, name: error.name, message: error.message },
      { code: -32001, data: [{ file: "a.ts" }], name: "RPCError", message: "Build failed" },
    );
  });

  it("settles a call once, and ignores a second response", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const call = client.request("a");
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "first" });
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "second" });
    remoteEnd.post({ jsonrpc: "2.0", id: 1, error: { code: 1, message: "third" } });
    assert.equal(await call, "first");
    const next = client.request("b");
    remoteEnd.post({ jsonrpc: "2.0", id: 2, result: "lives on" });
    assert.equal(await next, "lives on");
  });

  for (const id of ["1", 1.5, 2, null, true, undefined, [1], { 1: 1 }, -1, 0, 2 ** 53, 2 ** 32 + 1]) {
    it(`does not resolve call 1 with a response whose id is ${JSON.stringify(id)}`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const call = new JSONRPCClient(transport, { onError() {} }).request("a");
      remoteEnd.post({ jsonrpc: "2.0", id, result: "wrong" });
      remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "right" });
      assert.equal(await call, "right");
    });
  }

  for (const message of [
    null,
    undefined,
    "hey",
    42,
    [],
    {},
    [null],
    { id: 1, result: 1 },
    { jsonrpc: "1.0", id: 1, result: 1 },
  ]) {
    it(`ignores ${JSON.stringify(message)}, and the call stays pending`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const call = new JSONRPCClient(transport).request("a");
      remoteEnd.post(message);
      remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "right" });
      assert.equal(await call, "right");
    });
  }

  it("reports an error with the id null to onError, and all calls stay pending", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const errors = [];
    const call = new JSONRPCClient(transport, { onError: (error) => errors.push(error) }).request("a");
    remoteEnd.post({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } });
    assert.isTrue(await isPending(call));
    assert.deepEqual(
      errors.map(({ code, message }) => ({ code, message })),
      [{ code: -32700, message: "Parse error" }],
    );
  });

  it("counts the responses that belong to no call, in `ignored`", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    const call = client.request("a");
    transport.deliver({ jsonrpc: "2.0", result: 1, id: 1 });
    assert.equal(client.ignored, 0);
    transport.deliver({ jsonrpc: "2.0", result: "never asked for", id: 2 });
    transport.deliver({ jsonrpc: "2.0", error: { code: 1, message: "unknown" }, id: "x" });
    transport.deliver([
      { jsonrpc: "2.0", result: 1, id: 8 },
      { jsonrpc: "2.0", result: 1, id: 9 },
    ]);
    assert.equal(client.ignored, 4);
    assert.equal(await call, 1);
  });

  it("counts the pending calls, in `pending`", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    assert.equal(client.pending, 0);
    const calls = [client.request("a"), client.request("b")];
    assert.equal(client.pending, 2);
    remoteEnd.post({ jsonrpc: "2.0", id: 2, result: 2 });
    await calls[1];
    assert.equal(client.pending, 1);
    remoteEnd.post({ jsonrpc: "2.0", id: 1, error: { code: 1, message: "x" } });
    await rejection(calls[0]);
    assert.equal(client.pending, 0);
  });

  it("rejects a call with the error of the transport if the transport cannot send the call", async () => {
    const transport = recorder();
    const problem = new Error("the wire is cut");
    transport.send = () => {
      throw problem;
    };
    const client = new JSONRPCClient(transport);
    assert.equal(await rejection(client.request("a")), problem);
    assert.equal(client.pending, 0);
  });

  it("cannot be created without a transport: the constructor throws a TypeError", () => {
    for (const wrong of [undefined, null, {}, { send() {} }, { onMessage() {} }, "port"]) {
      assert.throws(() => new JSONRPCClient(wrong), TypeError, "transport");
    }
  });

  it("rejects a call with a CallError, not with an RPCError, after the timeout of the call", async () => {
    const client = new JSONRPCClient(recorder(), { timeout: 10 });
    const error = await rejection(client.request("slow"));
    assert.instanceOf(error, CallError);
    assert.notInstanceOf(error, RPCError);
    assert.deepEqual({ ...error, name: error.name }, { name: "CallError", reason: "timeout", method: "slow", id: 1 });
  });
});
