// The context of a handler, and the progress of a call.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { channel, scriptedChannel } from "./support/transports.js";
import { deferred, pause, until } from "./support/outcomes.js";

/**
 * Sends a request to a server. Returns the context of the handler, and `end`, a deferred promise that ends the handler.
 * Also returns the server, and the remote end, on which the test acts as the client.
 */
async function startRequest() {
  const { transport, remoteEnd } = scriptedChannel();
  const end = deferred();
  let context;
  const server = new JSONRPCServer(transport).method("work", (_, handlerContext) => {
    context = handlerContext;
    return end.promise;
  });
  remoteEnd.post({ jsonrpc: "2.0", method: "work", id: "w" });
  await until(() => context !== undefined);
  return { server, remoteEnd, context, end };
}

describe("the context of a handler", () => {
  it("has the name of the method", async () => {
    const { context } = await startRequest();
    assert.equal(context.method, "work");
  });

  it("has no reference to the params, which may be large", async () => {
    const seen = [];
    const { near, far } = channel();
    const server = new JSONRPCServer(far).onNotify("note", (params, context) => void seen.push([params, context]));
    server.method("work", (params, context) => void seen.push([params, context]));
    const client = new JSONRPCClient(near);
    client.notify("note", { n: 1 });
    await client.request("work", { n: 2 });
    assert.deepEqual(
      seen.map(([{ n }]) => n),
      [1, 2],
    );
    for (const [params, context] of seen) assert.notInclude(Object.values(context), params);
  });

  it("sends progress in a notification with the id of the request", async () => {
    const { context, remoteEnd } = await startRequest();
    context.progress({ percent: 50 });
    assert.deepEqual(await remoteEnd.next(), {
      jsonrpc: "2.0",
      method: "$/progress",
      params: { token: "w", value: { percent: 50 } },
    });
  });

  it("sends no progress after the request has ended", async () => {
    const { context, remoteEnd, end } = await startRequest();
    end.resolve();
    await remoteEnd.next();
    context.progress(100);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  it("still works if the handler destructures it", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("work", (_, { method, signal, progress, notify, transfer }) => {
      progress(1);
      notify("note");
      transfer([]);
      return [method, signal.aborted];
    });
    assert.deepEqual(await new JSONRPCClient(near).request("work"), ["work", false]);
  });

  it("sends notifications to the caller before the result", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("build", (_, context) => {
      context.notify("buildWarning", { text: "unused" });
      return "built";
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "build", id: 1 });
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", method: "buildWarning", params: { text: "unused" } });
    assert.equal((await remoteEnd.next()).result, "built");
  });

  it("transfers the buffers that the handler passes to transfer(), with the result", async () => {
    const { near, far } = channel();
    let buffer;
    new JSONRPCServer(far).method("read", (_, context) => {
      buffer = new Uint8Array([1, 2, 3]).buffer;
      context.transfer([buffer]);
      return { buffer };
    });
    const result = await new JSONRPCClient(near).request("read");
    assert.deepEqual([...new Uint8Array(result.buffer)], [1, 2, 3]);
    assert.equal(buffer.byteLength, 0);
  });

  it("has a signal that is aborted when the caller cancels the request", async () => {
    const { context, remoteEnd } = await startRequest();
    assert.isFalse(context.signal.aborted);
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: "w" } });
    await until(() => context.signal.aborted);
  });

  it("has a signal that is aborted even if the handler first reads it after the cancellation", async () => {
    const { context, remoteEnd } = await startRequest();
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: "w" } });
    await remoteEnd.unreadBeforeResponse();
    assert.isTrue(context.signal.aborted);
  });

  it("has a signal that is aborted when the server is destroyed", async () => {
    const { context, server } = await startRequest();
    const { signal } = context;
    server.destroy();
    assert.isTrue(signal.aborted);
  });

  it("has a signal that neither a cancellation nor destroy() aborts after the request has ended", async () => {
    const { context, remoteEnd, end, server } = await startRequest();
    end.resolve();
    await remoteEnd.next();
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: "w" } });
    await remoteEnd.unreadBeforeResponse();
    server.destroy();
    assert.isFalse(context.signal.aborted);
  });

  it("also exists for notifications, where progress() sends nothing", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    let context;
    new JSONRPCServer(transport).onNotify("note", (_, handlerContext) => {
      context = handlerContext;
      context.progress(1);
      context.notify("seen");
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "note" });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [{ jsonrpc: "2.0", method: "seen" }]);
    assert.deepEqual([context.method, context.signal.aborted], ["note", false]);
  });
});

describe("the progress of a call", () => {
  it("arrives at onProgress, in order, before the result", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("count", async (_, { progress }) => {
      for (let n = 1; n <= 3; n++) {
        progress(n);
        await pause(1);
      }
      return "done";
    });
    const seen = [];
    const result = await new JSONRPCClient(near).request("count", undefined, { onProgress: (n) => seen.push(n) });
    assert.deepEqual([seen, result], [[1, 2, 3], "done"]);
  });

  it("arrives at its own call while other calls run", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("work", ([name], { progress }) => {
      progress(name);
      return name;
    });
    const client = new JSONRPCClient(near);
    const seen = { a: [], b: [] };
    await Promise.all(
      ["a", "b"].map((name) => client.request("work", [name], { onProgress: (value) => seen[name].push(value) })),
    );
    assert.deepEqual(seen, { a: ["a"], b: ["b"] });
  });

  it("may contain transferred buffers", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("work", (_, { progress }) => {
      const bytes = new Uint8Array([7]);
      progress(bytes, [bytes.buffer]);
      return bytes.length;
    });
    const seen = [];
    const remainingLength = await new JSONRPCClient(near).request("work", [], {
      onProgress: (value) => seen.push(value),
    });
    assert.deepEqual([[...seen[0]], remainingLength], [[7], 0]);
  });

  it("is ignored if the call has ended, or if no call has the token", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const seen = [];
    const call = client.request("a", undefined, { onProgress: (value) => seen.push(value) });
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: 1 });
    await call;
    remoteEnd.post({ jsonrpc: "2.0", method: "$/progress", params: { token: 1, value: "late" } });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/progress", params: { token: 99, value: "unknown" } });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/progress" });
    const next = client.request("b");
    remoteEnd.post({ jsonrpc: "2.0", id: 2, result: "lives on" });
    assert.equal(await next, "lives on");
    assert.deepEqual(seen, []);
  });

  it("does not reach a later call that reuses the internal slot of an ended call", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const seen = [];
    const first = client.request("a", undefined, { onProgress: (value) => seen.push(value) });
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: 1 });
    await first;
    const second = client.request("b", undefined, { onProgress: (value) => seen.push(value) });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/progress", params: { token: 1, value: "of the first" } });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/progress", params: { token: 2, value: "of the second" } });
    remoteEnd.post({ jsonrpc: "2.0", id: 2, result: 2 });
    await second;
    assert.deepEqual(seen, ["of the second"]);
  });

  it("causes a report to onError if onProgress throws, and the call still gets its result", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("work", (_, { progress }) => (progress(1), "done"));
    const errors = [];
    const client = new JSONRPCClient(near, { onError: (error) => errors.push(error.message) });
    const onProgress = () => {
      throw new Error("oh no");
    };
    assert.equal(await client.request("work", undefined, { onProgress }), "done");
    assert.deepEqual(errors, ["oh no"]);
  });

  it("arrives at both peers if their calls have the same id", async () => {
    const { near, far } = channel();
    const seen = [];
    const work = (_, { progress }) => void progress("step");
    const here = new JSONRPCPeer(near).method("work", work);
    const there = new JSONRPCPeer(far).method("work", work);
    await Promise.all([
      here.request("work", [], { onProgress: () => seen.push("here") }),
      there.request("work", [], { onProgress: () => seen.push("there") }),
    ]);
    assert.sameMembers(seen, ["here", "there"]);
  });
});
