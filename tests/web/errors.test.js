// The error responses for thrown values, the error classes and the error codes.

import { assert } from "chai";
import {
  CallError,
  ErrorCode,
  JSONRPCClient,
  JSONRPCServer,
  RPCError,
  freshCopy,
  kaiak,
  wiggum,
} from "./support/portway.js";
import { channel, scriptedChannel, recorder } from "./support/transports.js";
import { rejection } from "./support/outcomes.js";

/** Returns the error object that is sent if a handler throws this value. */
async function errorObjectFor(value) {
  const { transport, remoteEnd } = scriptedChannel();
  new JSONRPCServer(transport).method("fail", () => {
    throw value;
  });
  remoteEnd.post({ jsonrpc: "2.0", method: "fail", id: 1 });
  const [reply, ...more] = await remoteEnd.unreadBeforeResponse();
  assert.deepEqual([Object.keys(reply).sort(), reply.id, more], [["error", "id", "jsonrpc"], 1, []]);
  return reply.error;
}

/** Throws. Getters and traps of hostile objects call this function. */
function gotcha() {
  throw new Error("gotcha");
}

const internal = { code: -32603, message: "Internal error" };

describe("an error that a handler throws", () => {
  it("is sent with code, message and data if it is an RPCError", async () => {
    assert.deepEqual(await errorObjectFor(new RPCError(-32001, "Build failed", [1])), {
      code: -32001,
      message: "Build failed",
      data: [1],
    });
  });

  it("is sent without data if it has no data", async () => {
    assert.deepEqual(await errorObjectFor(new RPCError(5, "x")), { code: 5, message: "x" });
  });

  it("is sent with data if its data is null", async () => {
    assert.deepEqual(await errorObjectFor(new RPCError(5, "x", null)), { code: 5, message: "x", data: null });
  });

  it("becomes an internal error with its message if it is a plain Error", async () => {
    assert.deepEqual(await errorObjectFor(new Error("disk full")), { code: -32603, message: "disk full" });
  });

  it("is sent with an empty message if its message is empty", async () => {
    assert.deepEqual(await errorObjectFor(new Error("")), { code: -32603, message: "" });
  });

  it("is sent with its code if it is a plain Error whose code is an integer", async () => {
    assert.deepEqual(await errorObjectFor(Object.assign(new Error("x"), { code: -32004 })), {
      code: -32004,
      message: "x",
    });
  });

  it("is sent with its data if it is a plain Error that has data", async () => {
    const error = Object.assign(new Error("x"), { code: 7, data: { a: 1 } });
    assert.deepEqual(await errorObjectFor(error), { code: 7, message: "x", data: { a: 1 } });
  });

  it("becomes an internal error if its code is a string; the data contains this string", async () => {
    const error = Object.assign(new Error("no such file"), { code: "ENOENT" });
    assert.deepEqual(await errorObjectFor(error), { code: -32603, message: "no such file", data: { code: "ENOENT" } });
  });

  for (const code of [1.5, NaN, Infinity, true, null, {}, 5n]) {
    it(`becomes an internal error if its code is ${typeof code === "bigint" ? "5n" : String(code)}`, async () => {
      const { code: sent, message } = await errorObjectFor(Object.assign(new Error("x"), { code }));
      assert.deepEqual([sent, message], [-32603, "x"]);
    });
  }

  it("becomes an internal error if it is a DOMException, whatever its code is", async () => {
    const { code, message } = await errorObjectFor(new DOMException("no luck", "DataCloneError"));
    assert.deepEqual([code, message], [-32603, "no luck"]);
  });

  it("becomes an internal error if it is an object with a code, but not an Error", async () => {
    assert.equal((await errorObjectFor({ code: -32001, message: "x" })).code, -32603);
  });

  for (const value of [undefined, null]) {
    it(`becomes an internal error if it is ${value}`, async () => {
      assert.deepEqual(await errorObjectFor(value), internal);
    });
  }

  for (const value of [0, "", false, "oh no", 42]) {
    it(`becomes an internal error whose data is the thrown value: ${JSON.stringify(value)}`, async () => {
      assert.deepEqual(await errorObjectFor(value), { ...internal, data: value });
    });
  }

  for (const [name, value] of [
    ["a symbol", Symbol("a")],
    ["a function", () => {}],
    ["a bigint", 1n],
    ["an empty object", {}],
    ["an array", []],
    ["an object without prototype", Object.create(null)],
    ["a frozen error", Object.freeze(new Error("x"))],
    [
      "an object whose getters throw",
      {
        get message() {
          return gotcha();
        },
        get code() {
          return gotcha();
        },
      },
    ],
    ["a proxy all of whose traps throw", new Proxy({}, { get: gotcha, has: gotcha, getPrototypeOf: gotcha })],
    ["an error with data that cannot be cloned", new RPCError(-32603, "x", () => {})],
    [
      "an error whose data has a getter that throws",
      new RPCError(-32603, "x", {
        get a() {
          throw new Error("gotcha");
        },
      }),
    ],
    [
      "an error that is its own cause",
      (() => {
        const error = new Error("x");
        error.cause = error;
        return error;
      })(),
    ],
  ]) {
    it(`causes a response with the code -32603 if it is ${name}`, async () => {
      assert.equal((await errorObjectFor(value)).code, -32603);
    });
  }

  it("is sent with code and message if its data cannot be cloned", async () => {
    assert.deepEqual(await errorObjectFor(new RPCError(-32001, "Build failed", () => {})), {
      code: -32001,
      message: "Build failed",
    });
  });

  it("is sent in the same way if the handler returns a promise that rejects with the error", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("fail", ([value]) =>
      Promise.reject(value === "error" ? new RPCError(5, "x") : undefined),
    );
    remoteEnd.post({ jsonrpc: "2.0", method: "fail", params: ["error"], id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "fail", params: ["undefined"], id: 2 });
    assert.deepEqual((await remoteEnd.next()).error, { code: 5, message: "x" });
    assert.deepEqual((await remoteEnd.next()).error, internal);
  });

  it("is sent without its stack", async () => {
    const sent = JSON.stringify(await errorObjectFor(new Error("x")));
    assert.notInclude(sent, "errors.test.js");
  });

  it("arrives as an RPCError with the same code, message and data", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("fail", () => {
      throw new RPCError(wiggum.GATE_FAILED, "Gate failed", { gate: "lint", findings: [1] });
    });
    const error = await rejection(new JSONRPCClient(near).request("fail"));
    assert.instanceOf(error, RPCError);
    assert.deepEqual([error.code, error.message, error.data], [-32002, "Gate failed", { gate: "lint", findings: [1] }]);
  });

  it("keeps its code, message and data if it comes from a call of the handler to another peer", async () => {
    const first = channel();
    const second = channel();
    const back = new JSONRPCClient(first.near);
    new JSONRPCServer(first.far).method("fail", () => {
      throw new RPCError(-32003, "Permission denied", { who: "user" });
    });
    new JSONRPCServer(second.far).method("relay", () => back.request("fail"));
    const error = await rejection(new JSONRPCClient(second.near).request("relay"));
    assert.deepEqual([error.code, error.message, error.data], [-32003, "Permission denied", { who: "user" }]);
  });

  it("does not affect the next request", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport)
      .method("fail", () => {
        throw null;
      })
      .method("work", () => "works");
    remoteEnd.post({ jsonrpc: "2.0", method: "fail", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 2 });
    await remoteEnd.next();
    assert.equal((await remoteEnd.next()).result, "works");
  });
});

describe("an RPCError", () => {
  it("is an Error with a name, a code, a message, data and a stack", () => {
    const error = new RPCError(-32001, "Build failed", [1]);
    assert.instanceOf(error, Error);
    assert.deepEqual([error.name, error.code, error.message, error.data], ["RPCError", -32001, "Build failed", [1]]);
    assert.equal(String(error), "RPCError: Build failed");
    assert.isString(error.stack);
  });
});

describe("the error codes", () => {
  it("have the numbers of their specifications", () => {
    assert.deepEqual(
      { ...ErrorCode },
      {
        ParseError: -32700,
        InvalidRequest: -32600,
        MethodNotFound: -32601,
        InvalidParams: -32602,
        InternalError: -32603,
        RequestCancelled: -32800,
      },
    );
    assert.deepEqual(Object.values(wiggum), [-32001, -32002, -32003, -32004, -32005, -32006, -32007, -32008]);
    assert.deepEqual(
      Object.values(kaiak),
      Array.from({ length: 16 }, (_, i) => -32001 - i),
    );
  });

  it("cannot be changed", () => {
    for (const table of [ErrorCode, wiggum, kaiak]) assert.isTrue(Object.isFrozen(table));
  });
});

describe("instanceof", () => {
  it("recognizes the errors of another copy of the library, and no other values", async () => {
    const other = await freshCopy();
    for (const [Class, Foreign] of [
      [RPCError, other.RPCError],
      [CallError, other.CallError],
    ]) {
      assert.notEqual(Class, Foreign);
      assert.instanceOf(new Foreign(1, "text"), Class);
      assert.instanceOf(new Class(1, "text"), Foreign);
      for (const value of [new Error("text"), {}, null, undefined, "text", Class, Object.create(null)])
        assert.notInstanceOf(value, Class);
    }
    assert.notInstanceOf(new other.CallError("timeout", "text"), RPCError);
  });

  it("distinguishes subclasses of an application", () => {
    class NotFound extends RPCError {}
    assert.instanceOf(new NotFound(1, "text"), RPCError);
    assert.instanceOf(new NotFound(1, "text"), NotFound);
    assert.notInstanceOf(new RPCError(1, "text"), NotFound);
  });
});

describe("an error response with the reason peer-died", () => {
  it("is an error of the application if its code is not -32603", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const call = rejection(new JSONRPCClient(transport).request("a"));
    const data = { reason: "peer-died", worker: 7 };
    remoteEnd.post({ jsonrpc: "2.0", error: { code: -32010, message: "worker 7 is gone", data }, id: 1 });
    const thrown = await call;
    assert.instanceOf(thrown, RPCError);
    assert.deepEqual([thrown.code, thrown.data], [-32010, data]);
  });

  it("ends a call or a stream with a CallError if its code is -32603", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    const call = client.request("work");
    const item = client.stream("items").next();
    const error = { code: -32603, message: "it has died", data: { reason: "peer-died" } };
    for (const id of [1, 2]) transport.deliver({ jsonrpc: "2.0", error, id });
    for (const end of [call, item]) {
      const thrown = await rejection(end);
      assert.instanceOf(thrown, CallError);
      assert.deepEqual([thrown.reason, thrown.message], ["peer-died", "it has died"]);
    }
    assert.deepEqual(
      transport.sent.map(({ method }) => method),
      ["work", "rpc.stream"],
    );
  });
});
