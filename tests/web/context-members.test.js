// Handlers can reach only the members of their context that the declarations name, and no other object of the library.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { connectPair } from "./support/connections.js";
import { channel, scriptedChannel } from "./support/transports.js";

const OWN = ["method", "id"];
/** `__v_skip` is for Vue. */
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
  const found = new Set();
  const open = [root];
  while (open.length > 0) {
    const value = open.pop();
    if ((typeof value !== "object" && typeof value !== "function") || value === null) continue;
    // In Node, an AbortSignal has members of the platform.
    if (platform.has(value) || found.has(value) || value instanceof AbortSignal) continue;
    found.add(value);
    open.push(Object.getPrototypeOf(value));
    for (const key of keysOf(value)) {
      const { get, set, value: member } = Object.getOwnPropertyDescriptor(value, key);
      open.push(get, set, member);
      if (get !== undefined && value !== root) open.push(get.call(root));
    }
  }
  return found;
}

/** Asserts that a context has the members `ownMembers`, the declared inherited members, and nothing else. */
function assertOnlyDeclared(context, ownMembers = OWN) {
  const prototype = Object.getPrototypeOf(context);
  assert.sameMembers(keysOf(context), ownMembers);
  assert.sameMembers(keysOf(prototype), ["constructor", ...INHERITED]);
  assert.equal(Object.getPrototypeOf(prototype), Object.prototype);
  for (const value of reachable(context)) {
    if (value === context || value === prototype) continue;
    // The other values are `__v_skip` (true) and functions without further members.
    if (value === true) continue;
    assert.equal(typeof value, "function", String(value));
    if (value === prototype.constructor) assert.sameMembers(keysOf(value), ["length", "name", "prototype"]);
    else assert.includeMembers(["length", "name", "arguments", "caller", "prototype"], keysOf(value));
  }
}

/** Returns the contexts that a server's handlers get while `play` uses the client. */
async function contexts(play, options) {
  const { near, far } = channel();
  const found = [];
  const record = (_, context) => void found.push(context);
  const server = new JSONRPCServer(far, options).method("work", record).onNotify("note", record);
  server.method("items", async function* (_, context) {
    found.push(context);
    yield 1;
  });
  await play(new JSONRPCClient(near, options));
  return found;
}

describe("a context exposes only the declared members", () => {
  const plays = {
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
  for (const [where, play] of Object.entries(plays)) {
    for (const options of [undefined, { coalesce: true }, { coalesce: "columns" }]) {
      it(`${where}${options === undefined ? "" : ` with coalesce: ${options.coalesce}`}`, async () => {
        const found = await contexts(play, options);
        assert.isAtLeast(found.length, 1);
        for (const context of found) assertOnlyDeclared(context);
      });
    }
  }

  it("for each of several servers that handle one notification", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const found = [];
    for (let n = 0; n < 2; n++) new JSONRPCServer(transport).onNotify("note", (_, context) => void found.push(context));
    remoteEnd.post({ jsonrpc: "2.0", method: "note", params: [1] });
    await remoteEnd.unreadBeforeResponse();
    assert.equal(found.length, 2);
    for (const context of found) assertOnlyDeclared(context);
  });

  it("in a session of connect", async () => {
    const [near, far] = await connectPair();
    const found = [];
    far.method("work", (_, context) => void found.push(context));
    await near.request("work");
    assertOnlyDeclared(found[0]);
  });

  it("after its members have been used and its handler has ended", async () => {
    const { near, far } = channel();
    let context;
    new JSONRPCServer(far).method("work", async (_, given) => {
      context = given;
      context.progress(1);
      context.notify("note");
      context.transfer([]);
      assert.isFalse(context.signal.aborted);
      await context.yield();
    });
    await new JSONRPCClient(near).request("work");
    assertOnlyDeclared(context);
  });

  it("if it is printed", async () => {
    if (globalThis.process?.versions?.node === undefined) return;
    const { inspect } = await import("node:util");
    const [context] = await contexts((client) => client.request("work", { secret: 1 }));
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
    const [context] = await contexts(async (client) => {
      for await (const item of client.stream("items")) assert.equal(item, 1);
    });
    assert.deepEqual([context.method, context.id], ["items", 1]);
  });

  it("has the id undefined in a handler of a notification", async () => {
    const [context] = await contexts(async (client) => {
      client.notify("note");
      await client.request("work");
    });
    assert.isTrue("id" in context);
    assert.isUndefined(context.id);
  });

  it("has the origin undefined if the message was not sent by a window", async () => {
    const { near, far } = channel();
    const found = [];
    new JSONRPCPeer(far).method("work", (_, context) => void found.push(context));
    await new JSONRPCClient(near).request("work");
    assert.isUndefined(found[0].origin);
  });
});
