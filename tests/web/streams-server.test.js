// Streams at the server: the values that handlers return, credit, cancellation and invalid requests.

import { assert } from "chai";
import { ErrorCode, JSONRPCClient, JSONRPCServer, RPCError } from "./support/portway.js";
import { channel, scriptedChannel } from "./support/transports.js";
import { deferred, rejection, until } from "./support/outcomes.js";

/** Returns functions with which the test acts as the caller of one stream. The id of the stream is 1. */
function caller(remoteEnd) {
  return {
    open: (method, credit, params) =>
      remoteEnd.post({ jsonrpc: "2.0", method: "rpc.stream", params: { method, params, credit }, id: 1 }),
    credit: (count) => remoteEnd.post({ jsonrpc: "2.0", method: "rpc.credit", params: { id: 1, count } }),
    cancel: () => remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } }),
    /** Waits for `count` items. Returns all items that have arrived since the last call. */
    async items(count) {
      await until(() => remoteEnd.unread().length >= count, `${count} items must arrive`);
      return (await remoteEnd.unreadBeforeResponse()).map(({ params }) => params.value);
    },
  };
}

/** Creates a server with these methods. The test is its peer. */
function served(methods) {
  const { transport, remoteEnd } = scriptedChannel();
  const errors = [];
  const server = new JSONRPCServer(transport, { onError: (error) => errors.push(error) });
  for (const [name, handler] of Object.entries(methods)) server.method(name, handler);
  return { remoteEnd, server, errors, ...caller(remoteEnd) };
}

async function* count(to = Infinity) {
  for (let n = 1; n <= to; n++) yield n;
}

/**
 * Creates an endless iterator. `calls` records the calls of its functions `next` and `return`. The members in `members`
 * replace the members of the same names.
 */
function scripted(members) {
  const calls = [];
  let n = 0;
  return {
    calls,
    next() {
      calls.push("next");
      return Promise.resolve({ done: false, value: ++n });
    },
    return() {
      calls.push("return");
      return Promise.resolve({ done: true });
    },
    ...members,
  };
}

describe("a handler that returns a stream", () => {
  const sources = {
    "an async generator": () => count(3),
    "an async iterable": () => ({ [Symbol.asyncIterator]: () => count(3) }),
    "an async iterator": () => {
      const items = count(3);
      return { next: () => items.next() };
    },
    "a ReadableStream": () =>
      new ReadableStream({
        start(controller) {
          for (const n of [1, 2, 3]) controller.enqueue(n);
          controller.close();
        },
      }),
    "a promise of an async generator": async () => count(3),
  };
  for (const [what, source] of Object.entries(sources)) {
    it(`may return ${what}`, async () => {
      const { remoteEnd, open } = served({ numbers: source });
      open("numbers", 10);
      for (const value of [1, 2, 3]) {
        assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", method: "rpc.item", params: { id: 1, value } });
      }
      assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: null, id: 1 });
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    });
  }

  it("gets its params and a context", async () => {
    const { remoteEnd, open } = served({
      async *tell(params, { method }) {
        yield [method, params];
      },
    });
    open("tell", 10, { a: 1 });
    assert.deepEqual((await remoteEnd.next()).params.value, ["tell", { a: 1 }]);
  });

  it("produces only as many items as the credit of the caller allows", async () => {
    let produced = 0;
    const { remoteEnd, open, credit, items } = served({
      async *count() {
        for (;;) yield ++produced;
      },
    });
    open("count", 3);
    assert.deepEqual(await items(3), [1, 2, 3]);
    assert.equal(produced, 3);
    credit(2);
    assert.deepEqual(await items(2), [4, 5]);
    for (const nonsense of [0, -1, 1.5, "7", null, undefined, Infinity, NaN]) credit(nonsense);
    remoteEnd.post({ jsonrpc: "2.0", method: "rpc.credit", params: { id: 2, count: 5 } });
    remoteEnd.post({ jsonrpc: "2.0", method: "rpc.credit" });
    assert.deepEqual(await items(0), []);
    assert.equal(produced, 5);
  });

  it("sends one error if it throws", async () => {
    for (const fail of [
      () => {
        throw new RPCError(-32000, "no");
      },
      async () => {
        throw new RPCError(-32000, "no");
      },
      async function* () {
        throw new RPCError(-32000, "no");
      },
      () => ({
        [Symbol.asyncIterator]() {
          throw new RPCError(-32000, "no");
        },
      }),
      () => ({
        next() {
          throw new RPCError(-32000, "no");
        },
      }),
      () =>
        new ReadableStream({
          pull(controller) {
            controller.error(new RPCError(-32000, "no"));
          },
        }),
    ]) {
      const { remoteEnd, open, errors } = served({ fail });
      open("fail", 10);
      assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", error: { code: -32000, message: "no" }, id: 1 });
      assert.deepEqual([await remoteEnd.unreadBeforeResponse(), errors], [[], []]);
    }
  });

  it("sends one error for an item that cannot be cloned, and its iterator is ended", async () => {
    const items = scripted({ next: async () => ({ done: false, value: () => {} }) });
    const { remoteEnd, open, errors } = served({ bad: () => items });
    open("bad", 10);
    const { error, id } = await remoteEnd.next();
    assert.deepEqual([error.code, id], [ErrorCode.InternalError, 1]);
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), items.calls, errors], [[], ["return"], []]);
  });

  it("sends one error if a transfer list cannot be transferred", async () => {
    const { remoteEnd, open } = served({
      async *bad(_, { transfer }) {
        transfer([{}]);
        yield 1;
      },
    });
    open("bad", 10);
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.InternalError);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  it("may send progress between the items", async () => {
    const { remoteEnd, open } = served({
      async *work(_, { progress }) {
        progress(0.5);
        yield 1;
      },
    });
    open("work", 10);
    assert.deepEqual((await remoteEnd.next()).params, { token: 1, value: 0.5 });
    assert.deepEqual((await remoteEnd.next()).params, { id: 1, value: 1 });
  });

  it("may transfer objects with each item; objects for which no item follows are not transferred", async () => {
    const buffers = [];
    const { remoteEnd, open } = served({
      async *chunks(_, { transfer }) {
        for (const size of [1, 2]) {
          const buffer = new ArrayBuffer(size);
          buffers.push(buffer);
          transfer([buffer]);
          yield buffer;
        }
        const unsent = new ArrayBuffer(3);
        buffers.push(unsent);
        transfer([unsent]);
      },
    });
    open("chunks", 10);
    assert.equal((await remoteEnd.next()).params.value.byteLength, 1);
    assert.equal((await remoteEnd.next()).params.value.byteLength, 2);
    assert.isNull((await remoteEnd.next()).result);
    assert.deepEqual(
      buffers.map(({ byteLength }) => byteLength),
      [0, 0, 3],
    );
  });

  it("may return a ReadableStream; the library unlocks the ReadableStream after the stream has ended", async () => {
    let controller;
    const readable = new ReadableStream({ start: (created) => void (controller = created) });
    const { remoteEnd, open } = served({ wait: () => readable });
    open("wait", 2);
    controller.close();
    assert.isNull((await remoteEnd.next()).result);
    assert.isFalse(readable.locked);
  });
});

describe("a stream that the caller cancels", () => {
  it("ends its iterator once and gets one response if it is cancelled while it waits for credit", async () => {
    const source = scripted();
    const { remoteEnd, open, cancel, items } = served({ count: () => source });
    open("count", 2);
    assert.deepEqual(await items(2), [1, 2]);
    cancel();
    cancel();
    assert.deepEqual(await remoteEnd.next(), {
      jsonrpc: "2.0",
      error: { code: ErrorCode.RequestCancelled, message: "Request cancelled" },
      id: 1,
    });
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), source.calls], [[], ["next", "next", "return"]]);
  });

  it("ends its iterator once if it is cancelled while an item is pending, and does not send this item", async () => {
    const item = deferred();
    const source = scripted({ next: () => item.promise });
    const { remoteEnd, open, cancel } = served({ wait: () => source });
    open("wait", 2);
    await remoteEnd.unreadBeforeResponse();
    cancel();
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.RequestCancelled);
    item.resolve({ done: false, value: "late" });
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), source.calls], [[], ["return"]]);
  });

  it("ends its iterator once if the handler returns the iterator only after the cancellation", async () => {
    const result = deferred();
    const source = scripted();
    const { remoteEnd, open, cancel } = served({ wait: () => result.promise });
    open("wait", 2);
    cancel();
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    result.resolve(source);
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.RequestCancelled);
    assert.deepEqual(source.calls, ["return"]);
  });

  it("ends a generator that awaits the abort of its signal", async () => {
    let ended = 0;
    const { remoteEnd, open, cancel } = served({
      async *wait(_, { signal }) {
        try {
          yield 1;
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        } finally {
          ended++;
        }
      },
    });
    open("wait", 2);
    assert.equal((await remoteEnd.next()).params.value, 1);
    cancel();
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.RequestCancelled);
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), ended], [[], 1]);
  });

  it("cancels a ReadableStream and releases its lock, even while a chunk is pending", async () => {
    const reasons = [];
    const readable = new ReadableStream({ cancel: (reason) => void reasons.push(reason.name) });
    const { remoteEnd, open, cancel } = served({ wait: () => readable });
    open("wait", 2);
    await remoteEnd.unreadBeforeResponse();
    assert.isTrue(readable.locked);
    cancel();
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.RequestCancelled);
    assert.deepEqual([reasons, readable.locked, await remoteEnd.unreadBeforeResponse()], [["AbortError"], false, []]);
  });

  it("ends with the error that its iterator throws in return()", async () => {
    const { remoteEnd, open, cancel, errors } = served({
      async *count() {
        try {
          yield* count();
        } finally {
          throw new RPCError(-32010, "not tidied up");
        }
      },
    });
    open("count", 1);
    assert.equal((await remoteEnd.next()).params.value, 1);
    cancel();
    assert.equal((await remoteEnd.next()).error.code, -32010);
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), errors], [[], []]);
  });

  it("may have an iterator without return()", async () => {
    const { remoteEnd, open, cancel } = served({ count: () => scripted({ return: undefined }) });
    open("count", 1);
    assert.equal((await remoteEnd.next()).params.value, 1);
    cancel();
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.RequestCancelled);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });
});

describe("a request for a stream", () => {
  for (const params of [
    undefined,
    null,
    [],
    {},
    { method: "count" },
    { method: 5, credit: 1 },
    { method: "count", credit: 0 },
    { method: "count", credit: "5" },
    { method: "count", credit: 65_537 },
    { method: "count", credit: 1, params: 5 },
  ]) {
    it(`gets the error -32602 for the params ${JSON.stringify(params)}, and no handler runs`, async () => {
      let runs = 0;
      const { remoteEnd } = served({ count: () => void runs++ });
      remoteEnd.post({ jsonrpc: "2.0", method: "rpc.stream", params, id: 1 });
      const { error, id } = await remoteEnd.next();
      assert.deepEqual([error.code, id, runs], [ErrorCode.InvalidParams, 1, 0]);
    });
  }

  for (const method of ["missing", "rpc.stream"]) {
    it(`gets the error -32601 for the unknown method "${method}"`, async () => {
      const { remoteEnd, open } = served({ count });
      open(method, 1);
      const { error } = await remoteEnd.next();
      assert.deepEqual([error.code, error.message], [ErrorCode.MethodNotFound, `Method not found: ${method}`]);
    });
  }

  for (const [what, result] of [
    ["nothing", undefined],
    ["a number", 5],
    ["an object", {}],
    ["an array", [1, 2]],
    ["a Set", new Set()],
  ]) {
    it(`gets the error -32603 if the handler returns ${what}, which is not a stream`, async () => {
      const { remoteEnd, open } = served({ plain: () => result });
      open("plain", 1);
      const { error } = await remoteEnd.next();
      assert.deepEqual(
        [error.code, error.message],
        [ErrorCode.InternalError, 'method "plain" does not return a stream; use request()'],
      );
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    });
  }

  it("may be part of a batch, whose responses are sent after the stream has ended", async () => {
    const { remoteEnd } = served({ count: () => count(2), echo: (params) => params });
    remoteEnd.post([
      { jsonrpc: "2.0", method: "rpc.stream", params: { method: "count", credit: 5 }, id: "s" },
      { jsonrpc: "2.0", method: "echo", params: [1], id: "e" },
    ]);
    assert.deepEqual((await remoteEnd.next()).params, { id: "s", value: 1 });
    assert.deepEqual((await remoteEnd.next()).params, { id: "s", value: 2 });
    const answers = await remoteEnd.next();
    assert.sameDeepMembers(answers, [
      { jsonrpc: "2.0", result: null, id: "s" },
      { jsonrpc: "2.0", result: [1], id: "e" },
    ]);
  });

  it("is ignored if it is a notification; items for an unknown stream are also ignored", async () => {
    let runs = 0;
    const { remoteEnd } = served({ count: () => void runs++ });
    remoteEnd.post({ jsonrpc: "2.0", method: "rpc.stream", params: { method: "count", credit: 5 } });
    remoteEnd.post({ jsonrpc: "2.0", method: "rpc.item", params: { id: 1, value: 1 } });
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), runs], [[], 0]);
  });
});

describe("a plain request to a handler that returns a stream", () => {
  for (const [what, source] of [
    [
      "an async generator",
      () =>
        scripted({
          [Symbol.asyncIterator]() {
            return this;
          },
        }),
    ],
    [
      "a promise of an async generator",
      async () =>
        scripted({
          [Symbol.asyncIterator]() {
            return this;
          },
        }),
    ],
  ]) {
    it(`gets the error -32603 with a remedy if the stream is ${what}, and the iterator is ended`, async () => {
      const { near, far } = channel();
      let iterator;
      new JSONRPCServer(far).method("logs", async () => (iterator = await source()));
      const error = await rejection(new JSONRPCClient(near).request("logs"));
      assert.deepEqual(
        [error.code, error.message],
        [ErrorCode.InternalError, 'method "logs" returns a stream; use stream()'],
      );
      assert.deepEqual(iterator.calls, ["return"]);
    });
  }

  it("gets the error -32603 if the stream is a ReadableStream, and the ReadableStream is cancelled", async () => {
    const { near, far } = channel();
    const cancelled = deferred();
    const readable = new ReadableStream({ cancel: () => cancelled.resolve() });
    new JSONRPCServer(far).method("logs", () => readable);
    assert.equal((await rejection(new JSONRPCClient(near).request("logs"))).code, ErrorCode.InternalError);
    await cancelled.promise;
    await until(() => !readable.locked);
  });

  it("gets a ReadableStream that the handler transfers", async () => {
    const { near, far } = channel();
    try {
      const probe = new ReadableStream();
      structuredClone(probe, { transfer: [probe] });
    } catch {
      // In an engine that cannot transfer a ReadableStream, the test checks only that the error names no wrong remedy.
      new JSONRPCServer(far).method("body", (_, { transfer }) => {
        const readable = new ReadableStream();
        transfer([readable]);
        return readable;
      });
      const { message } = await rejection(new JSONRPCClient(near).request("body"));
      return assert.notInclude(message, "stream()");
    }
    new JSONRPCServer(far).method("body", (_, { transfer }) => {
      const readable = new ReadableStream({
        start(controller) {
          controller.enqueue("chunk");
          controller.close();
        },
      });
      transfer([readable]);
      return readable;
    });
    const body = await new JSONRPCClient(near).request("body");
    assert.deepEqual(await body.getReader().read(), { done: false, value: "chunk" });
  });
});

it("a plain request gets an array or a map as its result, because neither is a stream", async () => {
  const { near, far } = channel();
  new JSONRPCServer(far).method("list", () => [1, 2]).method("map", () => new Map([[1, 2]]));
  const client = new JSONRPCClient(near);
  assert.deepEqual(await client.request("list"), [1, 2]);
  assert.deepEqual(await client.request("map"), new Map([[1, 2]]));
});

describe("a cancelled stream", () => {
  it("requests no further items of its iterator, even if more credit arrives", async () => {
    const source = scripted({ return: () => new Promise(() => {}) });
    const { open, credit, cancel, remoteEnd } = served({ numbers: () => source });
    open("numbers", 2);
    await remoteEnd.unreadBeforeResponse();
    cancel();
    await remoteEnd.unreadBeforeResponse();
    const before = source.calls.length;
    credit(5);
    await remoteEnd.unreadBeforeResponse();
    assert.deepEqual(source.calls.slice(before), []);
  });

  it("gets one response, with the error of its iterator, even if the stream is cancelled twice", async () => {
    const ended = deferred();
    const source = new ReadableStream({ cancel: () => ended.promise });
    const { open, cancel, remoteEnd } = served({ chunks: () => source });
    open("chunks", 2);
    await remoteEnd.unreadBeforeResponse();
    cancel();
    await remoteEnd.unreadBeforeResponse();
    cancel();
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    ended.reject(new Error("the file is still open"));
    assert.equal((await remoteEnd.next()).error.message, "the file is still open");
  });
});
