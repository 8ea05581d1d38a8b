// Names, numbers and objects that an attacker chooses to cause faults.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, freshCopy } from "./support/portway.js";
import { channel, scriptedChannel, recorder } from "./support/transports.js";
import { printed } from "./support/console.js";
import { rejection } from "./support/outcomes.js";

const inherited = [
  "__proto__",
  "constructor",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "isPrototypeOf",
  "__defineGetter__",
  "then",
];

/** Returns the replies of a server to a message. The transport does not clone. */
function repliesTo(message, options) {
  const transport = recorder();
  new JSONRPCServer(transport, { onError() {}, ...options }).method("echo", (params) => params);
  transport.deliver(message);
  return transport.sent;
}

afterEach("no prototype has the member `polluted`", () => {
  for (const value of [{}, [], "", () => {}, new Map()]) {
    assert.isUndefined(value.polluted);
    assert.isUndefined(Object.getPrototypeOf(value).polluted);
  }
});

describe("a name that every object inherits", () => {
  for (const name of inherited) {
    it(`is an unknown method if the server has not registered it: ${name}`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      new JSONRPCServer(transport).method("echo", (params) => params);
      remoteEnd.post({
        jsonrpc: "2.0",
        method: name,
        params: JSON.parse('{ "__proto__": { "polluted": 1 } }'),
        id: name,
      });
      remoteEnd.post({ jsonrpc: "2.0", method: name });
      const [{ error, id }, ...more] = await remoteEnd.unreadBeforeResponse();
      assert.deepEqual([error.code, error.message, id, more], [-32601, `Method not found: ${name}`, name, []]);
    });

    it(`can be a method, a notification or an id: ${name}`, async () => {
      const { near, far } = channel();
      const events = [];
      new JSONRPCServer(far).method(name, (params) => params).onNotify(name, (params) => void events.push(params));
      const client = new JSONRPCClient(near);
      client.notify(name, [1]);
      assert.deepEqual(await client.request(name, [2]), [2]);
      assert.deepEqual(events, [[1]]);
      const [{ id, result }] = repliesTo({ jsonrpc: "2.0", method: "echo", params: [3], id: name });
      assert.deepEqual([id, result], [name, [3]]);
    });
  }

  it("has no special effect in params, in data, in ids of a batch, in tokens, or as a member of a message", async () => {
    const evil = () =>
      JSON.parse('{ "__proto__": { "polluted": 1 }, "constructor": { "prototype": { "polluted": 1 } } }');
    const { transport, remoteEnd } = scriptedChannel();
    const peer = new JSONRPCPeer(transport).method("echo", (params) => params);
    const failing = rejection(peer.request("a"));
    remoteEnd.post({
      jsonrpc: "2.0",
      error: { code: 1, message: "x", data: { ...evil(), cause: { name: "a", message: "b", ...evil() } } },
      id: 1,
    });
    remoteEnd.post(inherited.map((id) => ({ jsonrpc: "2.0", method: "echo", params: evil(), id, ...evil() })));
    for (const token of inherited) {
      remoteEnd.post({ jsonrpc: "2.0", method: "$/progress", params: { token, value: evil() } });
      remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: token } });
    }
    const [, batch] = await remoteEnd.unreadBeforeResponse();
    assert.deepEqual(
      batch.map(({ id }) => id),
      inherited,
    );
    assert.equal((await failing).cause.polluted, undefined);
  });
});

describe("an Object.prototype with additional members", () => {
  for (const name of ["get", "set", "value"]) {
    it(`does not prevent the loading of the library if the member is \`${name}\``, async () => {
      let copy;
      try {
        Object.prototype[name] = () => "polluted"; // eslint-disable-line no-extend-native
        copy = await freshCopy();
      } finally {
        delete Object.prototype[name];
      }
      assert.equal(
        copy.JSONRPCClient.prototype[Symbol.dispose],
        Symbol.dispose && copy.JSONRPCClient.prototype.destroy,
      );
    });
  }
});

describe("an id", () => {
  for (const id of [
    0,
    -1,
    1.5,
    -1e300,
    2 ** 31,
    2 ** 53 - 1,
    2 ** 53,
    2 ** 53 + 2,
    -(2 ** 53),
    5e-324,
    "",
    "1",
    "x".repeat(1_024),
    null,
  ]) {
    it(`is repeated unchanged in the response: ${String(id).slice(0, 30)}`, () => {
      const [message] = repliesTo({ jsonrpc: "2.0", method: "echo", params: [], id });
      assert.deepEqual(message, { jsonrpc: "2.0", result: [], id });
      const [[first, second]] = repliesTo([
        { jsonrpc: "2.0", method: "echo", params: [], id },
        { jsonrpc: "2.0", method: "echo", params: [1], id: "other" },
      ]);
      assert.deepEqual([first.id, second.id], [id, "other"]);
    });
  }

  it("is 0 in the response if it is -0 in the request", () => {
    assert.equal(repliesTo({ jsonrpc: "2.0", method: "echo", id: -0 })[0].id, 0);
  });

  for (const id of [
    NaN,
    Infinity,
    5n,
    true,
    {},
    [],
    Symbol("a"),
    () => {},
    new String("a"),
    new Number(1),
    undefined,
  ]) {
    it(`that is invalid gets the error -32600 with the id null: ${typeof id} ${typeof id === "object" ? JSON.stringify(id) : String(id)}`, () => {
      const [{ error, id: answered }, ...more] = repliesTo({ jsonrpc: "2.0", method: "echo", id });
      assert.deepEqual([error.code, error.data, answered, more], [-32600, { reason: "invalid-id-type" }, null, []]);
    });
  }

  it("gets the error -32600 with the id null if it has more than 1024 characters", () => {
    const [{ error, id }] = repliesTo({ jsonrpc: "2.0", method: "echo", id: "x".repeat(1 << 20) });
    assert.deepEqual([error.code, error.data, id], [-32600, { reason: "id-too-long" }, null]);
    const [[first, second]] = repliesTo([
      { jsonrpc: "2.0", method: "echo", id: "x".repeat(1_025) },
      { jsonrpc: "2.0", method: "echo", params: [], id: "y" },
    ]);
    assert.deepEqual([first.error.data, second.id], [{ reason: "id-too-long" }, "y"]);
  });

  it("of a megabyte is not repeated in reports, printed lines or messages", async () => {
    const id = "x".repeat(1 << 20);
    const hostile = [
      { method: "echo", id },
      { method: "throw", id },
      { method: "no such method", id },
      { method: 5, id },
      { id, result: 1 },
      { id },
      { id, error: { code: 1, message: "no" } },
      { id, error: null },
      { method: "rpc.item", params: { id, value: 1 } },
      { method: "rpc.credit", params: { id, count: 1 } },
      { method: "$/cancelRequest", params: { id } },
      { method: "$/progress", params: { token: id } },
      { method: "rpc.stream", params: { method: "echo", credit: 1 }, id },
    ].map((message) => ({ jsonrpc: "2.0", ...message }));
    const events = [];
    for (const options of [
      { onError: ({ message, stack, data }) => events.push(message, stack, JSON.stringify(data) ?? "") },
      {},
    ]) {
      const transport = recorder();
      const peer = new JSONRPCPeer(transport, options);
      peer
        .method("echo", (params) => params)
        .method("throw", () => {
          throw new Error("oh no");
        });
      peer.request("a").catch(() => {});
      events.push(
        ...(await printed(() => {
          for (const message of hostile) transport.deliver(structuredClone(message));
          transport.deliver(structuredClone(hostile));
        })),
      );
      events.push(JSON.stringify(transport.sent));
      peer.destroy();
    }
    assert.isBelow(events.join("").length, 20_000);
    assert.notInclude(events.join(""), "x".repeat(100));
  });

  it("may have as many characters as the limit idLength allows", () => {
    const limits = { idLength: 3 };
    assert.equal(repliesTo({ jsonrpc: "2.0", method: "echo", id: "abc" }, { limits })[0].id, "abc");
    assert.equal(repliesTo({ jsonrpc: "2.0", method: "echo", id: "abcd" }, { limits })[0].error.code, -32600);
  });

  it("of a response ends no call that has another id", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport, { onError() {} });
    const call = client.request("a");
    for (const id of [
      "1",
      1.5,
      -1,
      0,
      2,
      2 ** 32 + 1,
      2 ** 53 + 1,
      NaN,
      1n,
      null,
      [1],
      new Number(1),
      "x".repeat(1 << 20),
    ]) {
      transport.deliver({ jsonrpc: "2.0", result: "wrong", id });
      transport.deliver([{ jsonrpc: "2.0", result: "wrong", id }]);
    }
    transport.deliver({ jsonrpc: "2.0", result: "right", id: 1 });
    assert.equal(await call, "right");
  });
});

describe("a message", () => {
  it('is foreign if its jsonrpc is not exactly the string "2.0"', () => {
    for (const jsonrpc of [new String("2.0"), ["2.0"], { toString: () => "2.0" }, 2, 2.0, "2.00", " 2.0"]) {
      assert.deepEqual(repliesTo({ jsonrpc, method: "echo", id: 1 }), []);
    }
  });

  it("may have getters, which are read like values", () => {
    const message = {
      jsonrpc: "2.0",
      id: 1,
      get method() {
        return "echo";
      },
      get params() {
        return [1];
      },
    };
    assert.deepEqual(repliesTo(message), [{ jsonrpc: "2.0", result: [1], id: 1 }]);
  });

  it("does not affect other calls if its getters return a different value at each read", async () => {
    const values = [1, "1", {}, null, "echo", undefined, 2 ** 60, [], "2.0", () => {}];
    let reads = 0;
    const unsteady = new Proxy(
      {},
      { get: (_, name) => (name === "jsonrpc" ? "2.0" : values[reads++ % values.length]), has: () => true },
    );
    const transport = recorder();
    const errors = [];
    const peer = new JSONRPCPeer(transport, { onError: (error) => errors.push(error) }).method(
      "echo",
      (params) => params,
    );
    for (let i = 0; i < 1_000; i++) {
      transport.deliver(unsteady);
      transport.deliver([unsteady, unsteady]);
    }
    transport.sent.length = 0;
    const call = peer.request("a");
    const { id } = transport.sent[0];
    transport.deliver({ jsonrpc: "2.0", result: "fine", id });
    assert.equal(await call, "fine");
    transport.deliver({ jsonrpc: "2.0", method: "echo", params: ["fine"], id: "mine" });
    assert.deepEqual(transport.sent.at(-1), { jsonrpc: "2.0", result: ["fine"], id: "mine" });
  });

  it("is ignored if it is a proxy whose traps throw", () => {
    const boom = () => {
      throw new Error("boom");
    };
    const evil = new Proxy(
      {},
      { get: boom, has: boom, ownKeys: boom, getPrototypeOf: boom, getOwnPropertyDescriptor: boom },
    );
    assert.deepEqual(repliesTo(evil), []);
    assert.deepEqual(repliesTo([evil]), []);
  });

  it("may have params of any depth if the transport does not clone", () => {
    let deep = {};
    for (let level = 0; level < 100_000; level++) deep = { deep };
    const [{ result }] = repliesTo({ jsonrpc: "2.0", method: "echo", params: deep, id: 1 });
    assert.equal(result, deep);
  });

  it("makes at most its own call fail if it is too deep to be cloned; an error with a deep member is still sent", async () => {
    const { near, far } = channel();
    const nested = () => {
      let deep = {};
      for (let level = 0; level < 100_000; level++) deep = { deep };
      return deep;
    };
    new JSONRPCServer(far)
      .method("echo", (params) => params)
      .method("deep", nested)
      .method("fail", () => {
        throw Object.assign(new Error("x"), { deep: nested() });
      });
    const client = new JSONRPCClient(near);
    // Some engines can clone these values.
    for (const call of [client.request("echo", nested()), client.request("deep")]) {
      const outcome = await call.catch((error) => error);
      if (outcome instanceof Error)
        assert.include(["RangeError", "DataCloneError", "InternalError", "RPCError"], outcome.name);
      else assert.isObject(outcome.deep);
    }
    assert.equal((await rejection(client.request("fail"))).message, "x");
    assert.deepEqual(await client.request("echo", [1]), [1]);
    assert.equal(client.pending, 0);
  });

  it("may have params and results with numbers that JSON cannot express", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("echo", (params) => params);
    const numbers = [-0, NaN, Infinity, -Infinity, 2 ** 53 + 2, 2n ** 64n, 5e-324];
    const result = await new JSONRPCClient(near).request("echo", numbers);
    assert.isTrue(result.every((number, index) => Object.is(number, numbers[index])));
  });
});
