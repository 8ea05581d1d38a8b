// The parts of an error that arrive at the peer.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer, RPCError, inNode } from "./support/portway.js";
import { channel, scriptedChannel, recorder } from "./support/transports.js";
import { rejection } from "./support/outcomes.js";

/** Returns the rejection of a call whose handler throws this value. */
async function rejectionFor(value) {
  const { near, far } = channel();
  new JSONRPCServer(far).method("fail", () => {
    throw value;
  });
  return rejection(new JSONRPCClient(near).request("fail"));
}

/** Returns the rejection of a call whose response has this error object. The transport does not clone the object. */
async function rejectionOfResponse(error) {
  const transport = recorder();
  const call = new JSONRPCClient(transport).request("a");
  transport.deliver({ jsonrpc: "2.0", error, id: 1 });
  return rejection(call);
}

/** Returns a value as JSON. A bigint becomes a string. */
const textOf = (value) => JSON.stringify(value, (_, member) => (typeof member === "bigint" ? String(member) : member));

class Conflict extends Error {
  name = "Conflict";
}

describe("the name of a thrown error", () => {
  it('is sent in data unless it is "Error"', async () => {
    assert.deepEqual((await rejectionFor(new TypeError("x"))).data, { name: "TypeError" });
    assert.deepEqual((await rejectionFor(new Conflict("x"))).data, { name: "Conflict" });
    assert.isUndefined((await rejectionFor(new Error("x"))).data);
  });

  it("is sent for a DOMException, but its numeric code is not sent", async () => {
    const { code, message, data } = await rejectionFor(new DOMException("no room", "QuotaExceededError"));
    assert.deepEqual([code, message, data.name], [-32603, "no room", "QuotaExceededError"]);
    assert.notProperty(data, "code");
  });

  it("does not become the name of the RPCError at the caller", async () => {
    assert.equal((await rejectionFor(new TypeError("x"))).name, "RPCError");
  });
});

describe("the additional members of a thrown error", () => {
  it("are not sent, except code and errno", async () => {
    const members = {
      status: 404,
      url: "/a",
      none: null,
      list: [1, [2]],
      more: { deep: { er: 1n } },
      at: new Date(5),
      bytes: new Uint8Array([1, 2]),
    };
    assert.isUndefined((await rejectionFor(Object.assign(new Error("x"), members))).data);
    assert.deepEqual((await rejectionFor(Object.assign(new Error("x"), members, { code: "E_X", errno: -5 }))).data, {
      code: "E_X",
      errno: -5,
    });
  });

  it("are not sent for a thrown object that is not an error: only its message and its code are sent", async () => {
    const { code, message, data } = await rejectionFor({ status: 404, message: "gone", code: -32001 });
    assert.deepEqual([code, message, data], [-32603, "gone", { code: -32001 }]);
  });

  it("are not sent for a thrown array: only its strings, numbers and errors are sent", async () => {
    const { data } = await rejectionFor([1, "a", new RangeError("x"), { status: 404 }, () => {}]);
    assert.deepEqual(data, [1, "a", { name: "RangeError", message: "x" }]);
  });

  it("cannot change a prototype by the name __proto__", async () => {
    const cause = JSON.parse('{ "__proto__": { "polluted": 1 }, "name": "E", "message": "x" }');
    const { data } = await rejectionFor(new Error("x", { cause }));
    assert.deepEqual(data, { cause: { name: "E", message: "x" } });
    assert.isUndefined(data.cause.polluted);
    assert.isUndefined({}.polluted);
  });

  it("are not sent if the error has its own data; only this data is sent, unchanged", async () => {
    const data = { a: 1 };
    assert.deepEqual((await rejectionFor(Object.assign(new TypeError("x"), { data, status: 1 }))).data, data);
    assert.deepEqual((await rejectionFor(new RPCError(1, "x", data, { cause: new Error("y") }))).data, data);
  });

  for (const [name, value, data] of [
    ["a bigint", 5n, 5n],
    ["a symbol", Symbol("a"), undefined],
    ["a function", () => {}, undefined],
    ["a frozen error", Object.freeze(Object.assign(new TypeError("x"), { errno: 1 })), { name: "TypeError", errno: 1 }],
    [
      "a proxy of an error",
      new Proxy(Object.assign(new TypeError("x"), { errno: 1 }), {}),
      { name: "TypeError", errno: 1 },
    ],
  ]) {
    it(`are not in the data if the handler throws ${name}`, async () => {
      const error = await rejectionFor(value);
      assert.deepEqual([error.code, error.data], [-32603, data]);
    });
  }
});

describe("the cause of a thrown error", () => {
  it("arrives as the cause of the RPCError, together with its own cause", async () => {
    const root = Object.assign(new RangeError("root"), { code: "E_ROOT", at: 7 });
    const middle = new RPCError(-32004, "middle", { why: 1 }, { cause: "replaced below" });
    middle.cause = root;
    const error = await rejectionFor(new TypeError("top", { cause: middle }));
    assert.instanceOf(error.cause, Error);
    assert.deepEqual(
      [error.cause.name, error.cause.message, error.cause.code, error.cause.data],
      ["RPCError", "middle", -32004, { why: 1 }],
    );
    assert.instanceOf(error.cause.cause, Error);
    const { name, message, code, at } = error.cause.cause;
    assert.deepEqual([name, message, code, at], ["RangeError", "root", "E_ROOT", undefined]);
    assert.equal(String(error.cause.cause), "RangeError: root");
  });

  it("arrives if the thrown error is an RPCError without data", async () => {
    const error = await rejectionFor(
      new RPCError(-32001, "Build failed", undefined, { cause: new SyntaxError("unexpected )") }),
    );
    assert.deepEqual(
      [error.code, error.message, String(error.cause)],
      [-32001, "Build failed", "SyntaxError: unexpected )"],
    );
  });

  for (const cause of ["a text", 0, false, null]) {
    it(`may be a value that is not an error, such as ${JSON.stringify(cause)}`, async () => {
      assert.deepEqual((await rejectionFor(new Error("x", { cause }))).cause, cause);
    });
  }

  it("is absent if none of its members may be sent", async () => {
    assert.notProperty(await rejectionFor(new Error("x", { cause: { any: "object" } })), "cause");
  });

  it("is absent if the thrown error has no cause", async () => {
    assert.notProperty(await rejectionFor(new Error("x")), "cause");
    assert.notProperty(await rejectionFor(new TypeError("x")), "cause");
  });

  it("may refer back to the thrown error, which is not sent a second time", async () => {
    const error = new Error("a");
    error.cause = new Error("b", { cause: error });
    const arrived = await rejectionFor(error);
    assert.equal(arrived.cause.message, "b");
    assert.notProperty(arrived.cause, "cause");
  });

  it("is absent if the thrown error is a CallError; the data contains only the name CallError", async () => {
    const unconnected = new JSONRPCClient(recorder(), { timeout: 5 });
    const error = await rejectionFor(await rejection(unconnected.request("deeper")));
    assert.deepEqual(error.data, { name: "CallError" });
  });
});

describe("a thrown AggregateError", () => {
  it("arrives with its errors in data", async () => {
    const error = await rejectionFor(
      new AggregateError([new TypeError("a"), "b", Object.assign(new Error("c"), { code: 7 })], "all"),
    );
    assert.equal(error.message, "all");
    assert.deepEqual(error.data, {
      name: "AggregateError",
      errors: [{ name: "TypeError", message: "a" }, "b", { name: "Error", message: "c", code: 7 }],
    });
  });
});

describe("a stack", () => {
  const partsOfStack = [import.meta.url, "error-serialization", "at "];

  it("of the thrown error, its causes or its other members is not sent", async () => {
    const error = new AggregateError([new Error("a")], "x", { cause: new Error("b", { cause: new TypeError("c") }) });
    Object.assign(error, { inner: new Error("d"), list: [new Error("e")] });
    error.stack = String(error.stack);
    const { data, cause } = await rejectionFor(error);
    for (const part of partsOfStack) assert.notInclude(textOf(data), part);
    assert.notEqual(cause.stack, error.cause.stack);
  });

  for (const [name, cause] of Object.entries({
    "in a Map": () =>
      new Map([
        ["a", new Error("inner")],
        [new Error("inner"), { by: new Error("inner") }],
      ]),
    "in a Set": () => new Set([new Error("inner"), [new Error("inner")]]),
    "in an object with a Symbol.toStringTag": () => ({
      [Symbol.toStringTag]: "Odd",
      by: new Error("inner"),
      stack: new Error().stack,
    }),
    "that has a Symbol.toStringTag": () => Object.assign(new Error("inner"), { [Symbol.toStringTag]: "Odd" }),
  })) {
    it(`is not sent for an error ${name}`, async () => {
      const { data } = await rejectionFor(new Error("x", { cause: cause() }));
      assert.deepEqual(data, name.startsWith("that") ? { cause: { name: "Error", message: "inner" } } : undefined);
    });
  }

  it("is not sent for a DOMException", async () => {
    assert.deepEqual(Object.keys((await rejectionFor(new DOMException("x", "AbortError"))).data), ["name"]);
  });
});

describe("a received error object", () => {
  it("cannot replace the prototype, the stack or the methods of its cause", async () => {
    const cause = JSON.parse(
      '{ "name": "X", "message": "y", "stack": "s", "toString": 1, "constructor": 1, "__proto__": { "polluted": 1 }, "kept": 1 }',
    );
    const { cause: error } = await rejectionOfResponse({ code: 1, message: "x", data: { cause } });
    assert.equal(Object.getPrototypeOf(error), Error.prototype);
    assert.deepEqual(
      [String(error), error.kept, error.polluted, error.constructor],
      ["X: y", undefined, undefined, Error],
    );
    assert.notEqual(error.stack, "s");
  });

  it("may have a cyclic cause, of which eight levels are read", async () => {
    const cause = { name: "Error", message: "again" };
    cause.cause = cause;
    let { cause: error } = await rejectionOfResponse({ code: 1, message: "x", data: { cause } });
    let depth = 0;
    for (; error instanceof Error; error = error.cause) depth++;
    assert.equal(depth, 8);
  });

  it("keeps a cause of an unexpected type unchanged", async () => {
    for (const cause of [5, "x", [1], { name: 1, message: "x" }]) {
      const error = await rejectionOfResponse({ code: 1, message: "x", data: { cause } });
      assert.deepEqual([error.cause, error.data], [cause, { cause }]);
    }
  });
});

describe("a handler that fails", () => {
  const values = [
    undefined,
    null,
    0,
    "",
    false,
    Symbol("a"),
    1n,
    () => {},
    new DOMException("x"),
    Object.freeze({}),
    new Proxy({}, {}),
  ];

  for (const [how, fail] of Object.entries({
    "by throwing": (value) => {
      throw value;
    },
    "by a promise that rejects": (value) => Promise.reject(value),
    "by a thenable that rejects": (value) => ({ then: (_, reject) => reject(value) }),
    "by a thenable that throws": (value) => ({
      then() {
        throw value;
      },
    }),
    "by a `then` getter that throws": (value) => ({
      get then() {
        throw value;
      },
    }),
    "by a thenable that rejects, resolves, and throws": (value) => ({
      then(resolve, reject) {
        reject(value);
        resolve(1);
        throw value;
      },
    }),
  })) {
    it(`causes exactly one error response if it fails ${how}`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      new JSONRPCServer(transport).method("fail", ([index]) => fail(values[index]));
      for (const id of values.keys()) remoteEnd.post({ jsonrpc: "2.0", method: "fail", params: [id], id });
      await Promise.resolve();
      const replies = [...(await remoteEnd.unreadBeforeResponse()), ...(await remoteEnd.unreadBeforeResponse())];
      assert.deepEqual(
        replies.map(({ id }) => id).sort((a, b) => a - b),
        [...values.keys()],
      );
      for (const { error } of replies) assert.equal(error.code, -32603);
    });
  }

  for (const [name, make] of Object.entries({
    "a function": () => () => {},
    "a symbol": () => Symbol("a"),
    "a WeakMap": () => new WeakMap(),
    "a promise in an array": () => [Promise.resolve()],
    "a port that is not transferred": () => new MessageChannel().port1,
    "a detached buffer": () => {
      const buffer = new ArrayBuffer(8);
      structuredClone(buffer, { transfer: [buffer] });
      return buffer;
    },
    "an object with a getter that throws a symbol": () => ({
      get a() {
        throw Symbol("gotcha");
      },
    }),
    "an object with a getter that throws an unreadable value": () => ({
      get a() {
        throw new Proxy(
          {},
          {
            get() {
              throw 1;
            },
          },
        );
      },
    }),
    ...(inNode ? {} : { "an element": () => document.body, "a window": () => window }),
  })) {
    it(`causes exactly one error response if it returns ${name}, and the server still works`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      new JSONRPCServer(transport).method("bad", make).method("good", () => "good");
      remoteEnd.post({ jsonrpc: "2.0", method: "bad", id: 1 });
      remoteEnd.post([
        { jsonrpc: "2.0", method: "bad", id: 2 },
        { jsonrpc: "2.0", method: "good", id: 3 },
      ]);
      const [alone, batch, ...more] = await remoteEnd.unreadBeforeResponse();
      assert.deepEqual([alone.error.code, alone.id, more], [-32603, 1, []]);
      assert.deepEqual(
        batch.map(({ id, error, result }) => [id, error?.code, result]),
        [
          [2, -32603, undefined],
          [3, undefined, "good"],
        ],
      );
    });
  }

  it("does not disclose the source of a function that cannot be cloned", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("bad", () => () => "a secret");
    assert.notInclude((await rejection(new JSONRPCClient(near).request("bad"))).message, "secret");
  });
});
