// The parts of thrown errors that are sent to the peer. The tests compare whole messages.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer, inNode } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { channel, scriptedChannel } from "./support/transports.js";
import { rejection, until } from "./support/outcomes.js";
import { SECRET, axiosError, errorOf, replyTo, errorCases } from "./support/error-samples.js";
import { scriptedPipe } from "./support/wipc.js";

const request = (method, params, id = 1) => ({ jsonrpc: "2.0", method, params, id });

/** Creates a server whose only method fails with this error. The test is its peer. */
function failing(error, options) {
  const { transport, remoteEnd } = scriptedChannel();
  const server = new JSONRPCServer(transport, options).method("fail", () => Promise.reject(error));
  return { remoteEnd, server };
}

/** Returns the error object that a server sends if its handler fails with `error`. */
async function errorObjectFor(error) {
  const { remoteEnd } = failing(error);
  remoteEnd.post(request("fail"));
  return (await remoteEnd.next()).error;
}

describe("the response over a port", () => {
  for (const errorCase of errorCases) {
    it(`contains only the expected members if the handler fails with ${errorCase.name}`, async () => {
      const { error } = await errorOf(errorCase, afterThisTest);
      const { remoteEnd } = failing(error);
      remoteEnd.post(request("fail"));
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [replyTo(1, errorCase, error)]);
    });
  }

  it("contains no part of the HTTP request or response that an AxiosError refers to", async () => {
    const error = await axiosError(afterThisTest);
    assert.include(String(error.config.headers.Authorization), SECRET);
    if (inNode) assert.include(String(error.response.headers["set-cookie"]), SECRET);
    const { near, far } = channel();
    new JSONRPCServer(far).method("fail", () => Promise.reject(error));
    const arrived = await rejection(new JSONRPCClient(near).request("fail"));
    assert.deepEqual(
      [arrived.code, arrived.message, arrived.data],
      [-32603, error.message, { name: "AxiosError", code: "ERR_BAD_REQUEST" }],
    );
  });
});

describe("the response in a CALL frame of WIPC", () => {
  for (const errorCase of errorCases) {
    it(`contains the same members as over a port if the handler fails with ${errorCase.name}`, async () => {
      const { error } = await errorOf(errorCase, afterThisTest);
      const remoteEnd = scriptedPipe();
      new JSONRPCServer(remoteEnd.channel.transport()).method("fail", () => Promise.reject(error));
      remoteEnd.post(2, JSON.stringify(request("fail")));
      await until(() => remoteEnd.messages.length > 0);
      assert.deepEqual(remoteEnd.messages, [replyTo(1, errorCase, error)]);
    });
  }
});

describe("the response for an error with further members", () => {
  const error = Object.assign(new TypeError("x"), { code: "E_X", token: SECRET });
  const reply = (id) => ({
    jsonrpc: "2.0",
    error: { code: -32603, message: "x", data: { name: "TypeError", code: "E_X" } },
    id,
  });

  it("contains only the error's name, message and code: after the items of a stream", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("count", async function* () {
      yield 1;
      throw error;
    });
    remoteEnd.post(request("rpc.stream", { method: "count", credit: 5 }));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [
      { jsonrpc: "2.0", method: "rpc.item", params: { id: 1, value: 1 } },
      reply(1),
    ]);
  });

  it("contains only the error's name, message and code: for a ReadableStream that fails", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method(
      "count",
      () => new ReadableStream({ pull: (controller) => controller.error(error) }),
    );
    remoteEnd.post(request("rpc.stream", { method: "count", credit: 5 }));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [reply(1)]);
  });

  it("contains only the error's name, message and code: in a batch", async () => {
    const { remoteEnd } = failing(error);
    remoteEnd.post([request("fail", undefined, 1), request("fail", undefined, 2)]);
    assert.deepEqual(
      (await remoteEnd.next()).sort((a, b) => a.id - b.id),
      [reply(1), reply(2)],
    );
  });

  for (const coalesce of [true, "columns"]) {
    it(`contains only the error's name, message and code: with coalesce: ${JSON.stringify(coalesce)}`, async () => {
      const { remoteEnd } = failing(error, { coalesce });
      remoteEnd.post([1, 2, 3].map((id) => request("fail", undefined, id)));
      await until(() => remoteEnd.received.flat().length === 3);
      assert.deepEqual(remoteEnd.received.flat(), [1, 2, 3].map(reply));
    });
  }

  it("contains only the error's name, message and code: after progress", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("work", (_, { progress }) => {
      progress(0.5);
      throw error;
    });
    remoteEnd.post(request("work"));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [
      { jsonrpc: "2.0", method: "$/progress", params: { token: 1, value: 0.5 } },
      reply(1),
    ]);
  });

  it("is not sent if the handler was called for a notification; the error is reported to onError", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const reported = [];
    const fail = () => Promise.reject(error);
    new JSONRPCServer(transport, { onError: (problem) => reported.push(problem) })
      .onNotify("note", fail)
      .method("fail", fail);
    for (const method of ["note", "fail"]) remoteEnd.post({ jsonrpc: "2.0", method });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.deepEqual(reported, [error, error]);
  });

  it("contains no member for which the error has a getter, and no getter is called", async () => {
    let reads = 0;
    const counting = { enumerable: true, get: () => (reads++, SECRET) };
    assert.deepEqual(
      await errorObjectFor(Object.defineProperties(new Error("x"), { body: counting, data: counting })),
      {
        code: -32603,
        message: "x",
      },
    );
    assert.equal(reads, 0);
  });
});

describe("the response for an error with causes and errors", () => {
  const depthOf = ({ data }) => {
    let depth = 0;
    for (let { cause } = data; cause !== undefined; { cause } = cause) depth++;
    return depth;
  };

  it("contains at most eight levels of causes", async () => {
    let error = new Error("0");
    for (let level = 1; level < 100; level++) error = new Error(String(level), { cause: error });
    assert.equal(depthOf(await errorObjectFor(error)), 8);
  });

  it("contains each error once", async () => {
    const error = new AggregateError([], "x");
    error.errors.push(error, new Error("y", { cause: error }));
    assert.deepEqual((await errorObjectFor(error)).data, {
      name: "AggregateError",
      errors: [{ name: "Error", message: "y" }],
    });
  });

  it("contains at most a thousand values", async () => {
    let lattice = new Error("0");
    for (let level = 1; level < 40; level++) lattice = new AggregateError([lattice, lattice], String(level));
    assert.isAtMost(JSON.stringify(await errorObjectFor(lattice)).length, 1_000);
    const wide = await errorObjectFor(
      new AggregateError(
        Array.from({ length: 100_000 }, (_, n) => new Error(String(n))),
        "x",
      ),
    );
    assert.isAtMost(wide.data.errors.length, 500);
    assert.deepEqual(wide.data.errors[1], { name: "Error", message: "1" });
    assert.deepEqual((await errorObjectFor(Object.assign(new Error("x"), { errors: new Array(2 ** 32 - 1) }))).data, {
      errors: [],
    });
  });

  it("contains the whole message, and at most one mebibyte of text in all other members", async () => {
    const text = "x".repeat(10_000_000);
    const received = await errorObjectFor(new Error(text, { cause: new Error(text, { cause: new Error(text) }) }));
    assert.equal(received.message.length, text.length);
    assert.closeTo(received.data.cause.message.length, 2 ** 20, 20);
    assert.deepEqual(received.data.cause.cause, { name: "", message: "" });
  });
});

describe("a stream item that cannot be sent", () => {
  it("ends the stream with an error that contains the name of the exception, but not the source of the function", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("bad", async function* () {
      yield () => "s3cret";
    });
    remoteEnd.post(request("rpc.stream", { method: "bad", credit: 5 }));
    const message = 'An item of "bad" cannot be sent: DataCloneError';
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [
      { jsonrpc: "2.0", error: { code: -32603, message }, id: 1 },
    ]);
  });
});
