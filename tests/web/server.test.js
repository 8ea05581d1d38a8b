// The responses of a server to requests, and its handling of notifications.

import { assert } from "chai";
import { ErrorCode, JSONRPCServer } from "./support/portway.js";
import { scriptedChannel } from "./support/transports.js";
import { deferred, until } from "./support/outcomes.js";

/** Returns a server, and the remote end with which the test acts as its peer. */
function serving(options) {
  const { transport, remoteEnd } = scriptedChannel();
  return { server: new JSONRPCServer(transport, options), remoteEnd };
}

describe("a server", () => {
  it("responds with the return value of the handler and the id of the request", async () => {
    const { server, remoteEnd } = serving();
    server.method("add", ([a, b]) => a + b);
    remoteEnd.post({ jsonrpc: "2.0", method: "add", params: [1, 2], id: 7 });
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: 3, id: 7 });
  });

  it("responds with the value that the promise of the handler resolves to", async () => {
    const { server, remoteEnd } = serving();
    server.method("slow", async () => "done");
    remoteEnd.post({ jsonrpc: "2.0", method: "slow", id: 1 });
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: "done", id: 1 });
  });

  it("awaits every returned object that has a function `then`", async () => {
    const { server, remoteEnd } = serving();
    server.method("thenable", () => ({ then: (resolve) => resolve("done") }));
    remoteEnd.post({ jsonrpc: "2.0", method: "thenable", id: 1 });
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: "done", id: 1 });
  });

  it("responds once even if a thenable settles twice", async () => {
    const { server, remoteEnd } = serving();
    server.method("thenable", () => ({
      then(resolve, reject) {
        resolve(1);
        resolve(2);
        reject(new Error("3"));
      },
    }));
    remoteEnd.post({ jsonrpc: "2.0", method: "thenable", id: 1 });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [{ jsonrpc: "2.0", result: 1, id: 1 }]);
  });

  it("responds with an error if reading `then` of the result throws", async () => {
    const { server, remoteEnd } = serving();
    server.method("odd", () => ({
      get then() {
        throw new Error("gotcha");
      },
    }));
    remoteEnd.post({ jsonrpc: "2.0", method: "odd", id: 1 });
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", error: { code: -32603, message: "gotcha" }, id: 1 });
  });

  for (const [name, handler] of [
    ["returns nothing", () => {}],
    ["returns undefined", () => undefined],
    ["resolves to nothing", async () => {}],
    ["returns null", () => null],
  ]) {
    it(`responds with the result null if the handler ${name}`, async () => {
      const { server, remoteEnd } = serving();
      server.method("nothing", handler);
      remoteEnd.post({ jsonrpc: "2.0", method: "nothing", id: 1 });
      assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: null, id: 1 });
    });
  }

  it("does not send a second settlement of one thenable as the response to another request", async () => {
    const { server, remoteEnd } = serving();
    let settle;
    const second = deferred();
    server
      .method("first", () => ({ then: (resolve) => void (settle = resolve) }))
      .method("second", () => second.promise);
    remoteEnd.post({ jsonrpc: "2.0", method: "first", id: 1 });
    await until(() => settle !== undefined);
    settle("first");
    remoteEnd.post({ jsonrpc: "2.0", method: "second", id: 2 });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [{ jsonrpc: "2.0", result: "first", id: 1 }]);
    settle("first again");
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    second.resolve("second");
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: "second", id: 2 });
  });

  for (const id of [0, -1, 1.5, 2 ** 53, -(2 ** 60), 1e300, "", "1", "\u0000\ud83d", "a".repeat(1_024), null]) {
    const shown = JSON.stringify(id).slice(0, 40);
    it(`repeats the id of the request in its response: ${shown}`, async () => {
      const { server, remoteEnd } = serving();
      server.method("a", () => "result");
      remoteEnd.post({ jsonrpc: "2.0", method: "a", id });
      assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: "result", id });
    });
  }

  for (const [name, id] of [
    ["undefined", undefined],
    ["true", true],
    ["an array", []],
    ["an object", {}],
    ["a Date", new Date(0)],
    ["a bigint", 1n],
    ["NaN", NaN],
    ["Infinity", Infinity],
  ]) {
    it(`responds with an error that has the id null if the id of a request is ${name}`, async () => {
      const { server, remoteEnd } = serving();
      let ran = false;
      server.method("a", () => (ran = true));
      remoteEnd.post({ jsonrpc: "2.0", method: "a", id });
      const error = { code: -32600, message: "Invalid Request", data: { reason: "invalid-id-type" } };
      assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", error, id: null });
      assert.isFalse(ran);
    });
  }

  it("distinguishes ids of different types", async () => {
    const { server, remoteEnd } = serving();
    const results = { 1: deferred(), 1.5: deferred() };
    server.method("wait", ([key]) => results[key].promise);
    remoteEnd.post({ jsonrpc: "2.0", method: "wait", params: ["1"], id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "wait", params: ["1.5"], id: "1" });
    await remoteEnd.unreadBeforeResponse();
    results["1.5"].resolve("of the string");
    results[1].resolve("of the number");
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: "of the string", id: "1" });
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: "of the number", id: 1 });
  });

  it("passes params to the handler unchanged, and passes undefined if params are missing or null", async () => {
    const { server, remoteEnd } = serving();
    const seen = [];
    server.method("see", (params) => void seen.push(params));
    for (const members of [{ params: [1] }, { params: { a: 1 } }, {}, { params: null }, { params: undefined }]) {
      remoteEnd.post({ jsonrpc: "2.0", method: "see", ...members, id: 1 });
    }
    await remoteEnd.unreadBeforeResponse();
    assert.deepEqual(seen, [[1], { a: 1 }, undefined, undefined, undefined]);
  });

  it('refuses params that are null if paramsNull is "invalid"', async () => {
    const { server, remoteEnd } = serving({ paramsNull: "invalid" });
    server.method("a", () => "ran");
    remoteEnd.post({ jsonrpc: "2.0", method: "a", params: null, id: 1 });
    const { error, id } = await remoteEnd.next();
    assert.deepEqual([error.code, id], [ErrorCode.InvalidRequest, 1]);
  });

  for (const params of ["text", 5, true, 1n]) {
    it(`refuses params that are a ${typeof params}, and runs no handler`, async () => {
      const { server, remoteEnd } = serving();
      let ran = false;
      server.method("a", () => (ran = true));
      remoteEnd.post({ jsonrpc: "2.0", method: "a", params, id: "x" });
      const { error, id } = await remoteEnd.next();
      assert.deepEqual([error.code, id, ran], [ErrorCode.InvalidRequest, "x", false]);
    });
  }

  for (const name of ["missing", "__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "then", ""]) {
    it(`responds with "Method not found" for the method "${name}"`, async () => {
      const { remoteEnd } = serving();
      remoteEnd.post({ jsonrpc: "2.0", method: name, params: {}, id: 1 });
      const error = { code: -32601, message: `Method not found: ${name}` };
      assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", error, id: 1 });
    });
  }

  it("serves registered methods whose names every object inherits", async () => {
    const { server, remoteEnd } = serving();
    for (const name of ["__proto__", "constructor", "toString"]) {
      server.method(name, () => `my ${name}`);
      remoteEnd.post({ jsonrpc: "2.0", method: name, id: name });
      assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: `my ${name}`, id: name });
    }
  });

  it("distinguishes names that differ only in case", async () => {
    const { server, remoteEnd } = serving();
    server.method("build", () => 1);
    remoteEnd.post({ jsonrpc: "2.0", method: "Build", id: 1 });
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.MethodNotFound);
  });

  it('does not register names that begin with rpc., and responds "Method not found" to requests with such names', async () => {
    const { server, remoteEnd } = serving();
    assert.throws(() => server.method("rpc.foo", () => {}), TypeError, "rpc.");
    assert.throws(() => server.onNotify("rpc.foo", () => {}), TypeError, "rpc.");
    remoteEnd.post({ jsonrpc: "2.0", method: "rpc.foo", id: 1 });
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.MethodNotFound);
  });

  it("throws a TypeError for a handler that is not a function, and for a name that is not a string", () => {
    const { server } = serving();
    assert.throws(() => server.method("a"), TypeError);
    assert.throws(() => server.onNotify("a", {}), TypeError);
    assert.throws(() => server.method(5, () => {}), TypeError);
  });

  it("runs the newest handler of a name", async () => {
    const { server, remoteEnd } = serving();
    server.method("a", () => "old").method("a", () => "new");
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 1 });
    assert.equal((await remoteEnd.next()).result, "new");
  });

  it("runs handlers concurrently, and responds in the order in which the handlers end", async () => {
    const { server, remoteEnd } = serving();
    const slow = deferred();
    server.method("slow", () => slow.promise).method("fast", () => "fast");
    remoteEnd.post({ jsonrpc: "2.0", method: "slow", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "fast", id: 2 });
    assert.equal((await remoteEnd.next()).id, 2);
    slow.resolve("slow");
    assert.equal((await remoteEnd.next()).id, 1);
  });

  it("does not respond to a message that looks like a response, even if its id is invalid", async () => {
    const { remoteEnd } = serving();
    for (const message of [
      { jsonrpc: "2.0", id: 9 },
      { jsonrpc: "2.0", id: 9, result: 1 },
      { jsonrpc: "2.0", id: {}, result: 1 },
      { jsonrpc: "2.0", id: 9, error: { code: 1, message: "x" } },
      { jsonrpc: "2.0", error: "x" },
    ]) {
      remoteEnd.post(message);
    }
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });
});

describe("the notifications that a server receives", () => {
  it("run their handler and get no response", async () => {
    const { server, remoteEnd } = serving();
    const seen = [];
    server.onNotify("progress", (params) => {
      seen.push(params);
      return "ignored";
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "progress", params: { done: 1 } });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.deepEqual(seen, [{ done: 1 }]);
  });

  for (const [name, message] of [
    ["they are unknown", { method: "unknown" }],
    ["they are unknown and they have params", { method: "unknown", params: { a: 1 } }],
    ["they have a reserved name", { method: "rpc.foo" }],
    ["their params are a number", { method: "known", params: 5 }],
    ["their params are a string", { method: "known", params: "bar" }],
    ["their params are a boolean", { method: "known", params: true }],
    ["they are unknown and their params are a number", { method: "unknown", params: 5 }],
  ]) {
    it(`are ignored if ${name}, alone or in a batch`, async () => {
      const errors = [];
      const { server, remoteEnd } = serving({ onError: (error) => errors.push(error) });
      let ran = 0;
      server.method("known", () => ++ran).onNotify("known", () => ++ran);
      remoteEnd.post({ jsonrpc: "2.0", ...message });
      remoteEnd.post([{ jsonrpc: "2.0", ...message }]);
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
      assert.deepEqual([ran, errors], [0, []]);
    });
  }

  it("run a handler that is registered only with method(), and get no response", async () => {
    const { server, remoteEnd } = serving();
    let ran = 0;
    server.method("refresh", () => ++ran);
    remoteEnd.post({ jsonrpc: "2.0", method: "refresh" });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.equal(ran, 1);
  });

  it("run the handler of onNotify(), and requests run the handler of method(), if both exist", async () => {
    const { server, remoteEnd } = serving();
    const seen = [];
    server.method("a", () => "request").onNotify("a", () => void seen.push("notification"));
    remoteEnd.post({ jsonrpc: "2.0", method: "a" });
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 1 });
    assert.equal((await remoteEnd.next()).result, "request");
    assert.deepEqual(seen, ["notification"]);
  });

  it('have handlers that requests do not run: a request for a name with only onNotify() gets "Method not found"', async () => {
    const { server, remoteEnd } = serving();
    let ran = false;
    server.onNotify("progress", () => (ran = true));
    remoteEnd.post({ jsonrpc: "2.0", method: "progress", id: 1 });
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.MethodNotFound);
    assert.isFalse(ran);
  });

  for (const [name, handler] of [
    [
      "throws",
      () => {
        throw new Error("oh no");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("oh no");
      },
    ],
  ]) {
    it(`make the server call onError once and send nothing if their handler ${name}`, async () => {
      const errors = [];
      const { server, remoteEnd } = serving({ onError: (error) => errors.push(error.message) });
      server.onNotify("a", handler).method("b", handler);
      remoteEnd.post({ jsonrpc: "2.0", method: "a" });
      remoteEnd.post({ jsonrpc: "2.0", method: "b" });
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
      await until(() => errors.length === 2);
      assert.deepEqual(errors, ["oh no", "oh no"]);
    });
  }

  it("run their handlers in the order of arrival", async () => {
    const { server, remoteEnd } = serving();
    const seen = [];
    server.onNotify("count", ([n]) => void seen.push(n));
    for (let n = 0; n < 1000; n++) remoteEnd.post({ jsonrpc: "2.0", method: "count", params: [n] });
    await remoteEnd.unreadBeforeResponse();
    assert.deepEqual(
      seen,
      Array.from({ length: 1000 }, (_, n) => n),
    );
  });
});
