// Handlers can reach only the members of their context that the declarations name, and no other object of the library.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { connectPair } from "./support/connections.js";
import { channel, scriptedChannel } from "./support/transports.js";

/** The own members of a context. */
const OWN = ["method", "id"];
/** The inherited members of a context. Vue does not wrap an object that has `__v_skip`. */
const INHERITED = ["signal", "progress", "yield", "transfer", "notify", "__v_skip"];

/** Returns the names and symbols of an object's own properties, enumerable or not. */
const keysOf = (object) => Reflect.ownKeys(object);

/** Returns all objects and functions that code can reach from a value, except those of the platform. */
function reachable(root) {
  const platform = new Set([
    Object.prototype,
    Function.prototype,
    AbortSignal.prototype,
    Object,
    Function,
    AbortSignal,
  ]);
  const reached = new Set();
  const unvisited = [root];
  while (unvisited.length > 0) {
    const value = unvisited.pop();
    if ((typeof value !== "object" && typeof value !== "function") || value === null) continue;
    // An AbortSignal is not searched: in Node, it has members of the platform.
    if (platform.has(value) || reached.has(value) || value instanceof AbortSignal) continue;
    reached.add(value);
    unvisited.push(Object.getPrototypeOf(value));
    for (const key of keysOf(value)) {
      const { get, set, value: member } = Object.getOwnPropertyDescriptor(value, key);
      unvisited.push(get, set, member);
      if (get !== undefined && value !== root) unvisited.push(get.call(root));
    }
  }
  return reached;
}

/** Asserts that a context has the members `ownMembers`, the declared inherited members, and nothing else. */
function assertOnlyDeclared(context, ownMembers = OWN) {
  const prototype = Object.getPrototypeOf(context);
  assert.sameMembers(keysOf(context), ownMembers);
  assert.sameMembers(keysOf(prototype), ["constructor", ...INHERITED]);
  assert.equal(Object.getPrototypeOf(prototype), Object.prototype);
  for (const value of reachable(context)) {
    if (value === context || value === prototype) continue;
    assert.equal(typeof value, "function", String(value));
    if (value === prototype.constructor) assert.sameMembers(keysOf(value), ["length", "name", "prototype"]);
    else assert.includeMembers(["length", "name", "arguments", "caller", "prototype"], keysOf(value));
  }
}

/** Returns the contexts that the handlers of a server receive while `useClient` sends messages. */
async function recordContexts(useClient, options) {
  const { near, far } = channel();
  const contexts = [];
  const record = (_, context) => void contexts.push(context);
  const server = new JSONRPCServer(far, options).method("work", record).onNotify("note", record);
  server.method("items", async function* (_, context) {
    contexts.push(context);
    yield 1;
  });
  await useClient(new JSONRPCClient(near, options));
  return contexts;
}

describe("a context exposes only the declared members", () => {
  const uses = {
    "in a request": (client) => client.request("work", { secret: 1 }),
    "in a notification": async (client) => {
      client.notify("note", { secret: 1 });
      await client.request("work");
    },
    "in a request that is sent as a notification": async (client) => {
      client.notify("work", { secret: 1 });
      await client.request("work");
    },
    "in a batch": (client) =>
      client.batch([
        { method: "work", params: [1] },
        { method: "note", notify: true },
      ]),
    "in a stream": async (client) => {
      for await (const item of client.stream("items")) assert.equal(item, 1);
    },
  };
  for (const [where, useClient] of Object.entries(uses)) {
    for (const options of [undefined, { coalesce: true }, { coalesce: "columns" }]) {
      it(`${where}${options === undefined ? "" : ` with coalesce: ${options.coalesce}`}`, async () => {
        const contexts = await recordContexts(useClient, options);
        assert.isAtLeast(contexts.length, 1);
        for (const context of contexts) assertOnlyDeclared(context);
      });
    }
  }

  it("in a notification that several servers handle", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const contexts = [];
    for (let n = 0; n < 2; n++)
      new JSONRPCServer(transport).onNotify("note", (_, context) => void contexts.push(context));
    remoteEnd.post({ jsonrpc: "2.0", method: "note", params: [1] });
    await remoteEnd.unreadBeforeResponse();
    assert.equal(contexts.length, 2);
    for (const context of contexts) assertOnlyDeclared(context);
  });

  it("in a session of connect", async () => {
    const [near, far] = await connectPair();
    const contexts = [];
    far.method("work", (_, context) => void contexts.push(context));
    await near.request("work");
    assertOnlyDeclared(contexts[0]);
  });

  it("after its members have been used and its handler has ended", async () => {
    const { near, far } = channel();
    let context;
    new JSONRPCServer(far).method("work", async (_, handlerContext) => {
      context = handlerContext;
      context.progress(1);
      context.notify("note");
      context.transfer([]);
      assert.isFalse(context.signal.aborted);
      await context.yield();
    });
    await new JSONRPCClient(near).request("work");
    assertOnlyDeclared(context);
  });

  it("in the text that inspect() of Node prints", async () => {
    if (globalThis.process?.versions?.node === undefined) return;
    const { inspect } = await import("node:util");
    const [context] = await recordContexts((client) => client.request("work", { secret: 1 }));
    const text = inspect(context, { showHidden: true, depth: Infinity, getters: true });
    assert.notMatch(text, /secret|server|session|link|shape|slot|batch|Map/i);
    assert.match(text, /method: 'work'/);
    assert.match(text, /id: 1\b/);
  });
});

describe("a context", () => {
  it("may be changed by a handler without an effect on the response", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("work", (_, context) => {
      Object.assign(context, { id: "other", method: "other", server: 1, slot: 2, batch: [], result: 3, shape: 0 });
      return "done";
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: "w" });
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: "done", id: "w" });
  });

  it("has the id of the request, unchanged", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const ids = [];
    new JSONRPCServer(transport).method("work", (_, { id }) => void ids.push(id));
    for (const id of [1, "1", "", 0, -1.5, null]) remoteEnd.post({ jsonrpc: "2.0", method: "work", id });
    await remoteEnd.unreadBeforeResponse();
    assert.deepEqual(ids, [1, "1", "", 0, -1.5, null]);
  });

  it("has the id and the method of the request for a stream", async () => {
    const [context] = await recordContexts(async (client) => {
      for await (const item of client.stream("items")) assert.equal(item, 1);
    });
    assert.deepEqual([context.method, context.id], ["items", 1]);
  });

  it("has the id undefined in a handler of a notification", async () => {
    const [context] = await recordContexts(async (client) => {
      client.notify("note");
      await client.request("work");
    });
    assert.isTrue("id" in context);
    assert.isUndefined(context.id);
  });

  it("has the origin undefined if the message was not sent by a window", async () => {
    const { near, far } = channel();
    const contexts = [];
    new JSONRPCPeer(far).method("work", (_, context) => void contexts.push(context));
    await new JSONRPCClient(near).request("work");
    assert.isUndefined(contexts[0].origin);
  });
});
