// Cancellation of a call by its signal, and the cancellations that a server receives.

import { assert } from "chai";
import { ErrorCode, JSONRPCClient, JSONRPCPeer, JSONRPCServer, RPCError, connect } from "./support/portway.js";
import { channel, scriptedChannel, recorder } from "./support/transports.js";
import { deferred, isPending, pause, rejection, until } from "./support/outcomes.js";

describe("a received cancellation that has the id of a call of this peer", () => {
  it("is ignored if no running request has this id: the call stays pending, and no response is sent", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const errors = [];
    const peer = new JSONRPCPeer(transport, { onError: (error) => errors.push(error) });
    const call = peer.request("a", undefined, { timeout: 0 });
    const { id } = await remoteEnd.next();
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } });
    remoteEnd.post([{ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } }]);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.deepEqual([peer.pending, errors], [1, []]);
    remoteEnd.post({ jsonrpc: "2.0", id, result: "unharmed" });
    assert.equal(await call, "unharmed");
  });

  it("cancels a running request with the same id, and does not affect the call", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const peer = new JSONRPCPeer(transport).method(
      "work",
      (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
    );
    const call = peer.request("a", undefined, { timeout: 0 });
    const { id } = await remoteEnd.next();
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } });
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.RequestCancelled);
    assert.equal(peer.pending, 1);
    remoteEnd.post({ jsonrpc: "2.0", id, result: "unharmed" });
    assert.equal(await call, "unharmed");
  });
});

describe("the signal of a call", () => {
  it("prevents the sending of the call if the signal is already aborted", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    const reason = new Error("too late");
    assert.equal(await rejection(client.request("a", undefined, { signal: AbortSignal.abort(reason) })), reason);
    assert.deepEqual([transport.sent.length, client.pending], [0, 0]);
  });

  it("rejects the call at once with the reason of the signal, and notifies the peer", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    const controller = new AbortController();
    const call = client.request("a", undefined, { signal: controller.signal });
    const reason = new Error("given up");
    controller.abort(reason);
    assert.equal(client.pending, 0);
    assert.equal(await rejection(call), reason);
    assert.deepEqual(transport.sent[1], { jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
  });

  /** Returns a signal that has no reason, as in some polyfills, and a function that aborts the signal. */
  function signalWithoutReason() {
    const signal = Object.assign(new EventTarget(), { aborted: false });
    return { signal, abort: () => ((signal.aborted = true), signal.dispatchEvent(new Event("abort"))) };
  }

  it("rejects calls with an AbortError if it has no reason, whether it is aborted before or during the calls", async () => {
    const client = new JSONRPCClient(recorder());
    const { signal, abort } = signalWithoutReason();
    const calls = [client.request("a", [], { signal }), client.batch([{ method: "a" }], { signal })];
    const streamed = client.stream("a", [], { signal }).next();
    abort();
    calls.push(client.request("a", [], { signal }), client.batch([{ method: "a" }], { signal }), streamed);
    calls.push(client.stream("a", [], { signal }).next());
    calls.push(connect(new MessageChannel().port1, { signal }));
    const late = signalWithoutReason();
    const { port1 } = new MessageChannel();
    calls.push(connect(port1, { signal: late.signal }));
    late.abort();
    // A batch that is aborted after it was sent resolves to outcomes. The test checks the reason of the first outcome.
    const [, batch] = calls;
    calls[1] = batch.then(([{ reason }]) => Promise.reject(reason));
    for (const call of calls) {
      const error = await rejection(call);
      assert.deepEqual([error?.name, error instanceof DOMException], ["AbortError", true]);
    }
    port1.close();
  });

  it("rejects the call with an AbortError if abort() is called without an argument", async () => {
    const controller = new AbortController();
    const call = new JSONRPCClient(recorder()).request("a", undefined, { signal: controller.signal });
    controller.abort();
    assert.equal((await rejection(call)).name, "AbortError");
  });

  it("may be the signal of AbortSignal.timeout()", async () => {
    const call = new JSONRPCClient(recorder()).request("a", undefined, { signal: AbortSignal.timeout(5) });
    assert.equal((await rejection(call)).name, "TimeoutError");
  });

  for (const signal of [{}, 5, "text"]) {
    it(`causes a TypeError if the signal is ${JSON.stringify(signal)}: nothing is sent and no call is pending`, async () => {
      const transport = recorder();
      const client = new JSONRPCClient(transport);
      assert.instanceOf(await rejection(client.request("a", undefined, { signal })), TypeError);
      assert.instanceOf(await rejection(client.batch([{ method: "a" }], { signal })), TypeError);
      assert.deepEqual([transport.sent.length, client.pending], [0, 0]);
    });
  }

  it("may be null, as in fetch; the option onProgress may also be null", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("work", (_, { progress }) => progress(1));
    const errors = [];
    const client = new JSONRPCClient(near, { onError: (error) => errors.push(error) });
    assert.isNull(await client.request("work", undefined, { signal: null, onProgress: null }));
    assert.deepEqual(errors, []);
  });

  it("makes the client ignore a response that arrives after the signal is aborted", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const controller = new AbortController();
    const call = client.request("a", undefined, { signal: controller.signal });
    controller.abort(new Error("given up"));
    await rejection(call);
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "late" });
    const next = client.request("b");
    remoteEnd.post({ jsonrpc: "2.0", id: 2, result: "own" });
    assert.equal(await next, "own");
  });

  it("sends no cancellation if the signal is aborted after the call has ended", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const controller = new AbortController();
    const call = new JSONRPCClient(transport).request("a", undefined, { signal: controller.signal });
    await remoteEnd.next();
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: 1 });
    await call;
    controller.abort();
    await pause(20);
    assert.equal(remoteEnd.received.length, 1);
  });

  it("has no listener of the library after the calls have ended", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    let listeners = 0;
    const countListeners = (name, step) => {
      const original = signal[name];
      signal[name] = function (...args) {
        listeners += step;
        return original.apply(this, args);
      };
    };
    countListeners("addEventListener", 1);
    countListeners("removeEventListener", -1);
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const calls = [
      client.request("a", {}, { signal }),
      client.request("b", {}, { signal }),
      client.request("c", {}, { signal, timeout: 5 }),
      client.request("d", {}, { signal }),
    ];
    assert.isAbove(listeners, 0);
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: 1 });
    remoteEnd.post({ jsonrpc: "2.0", id: 2, error: { code: 1, message: "x" } });
    const rejections = calls.slice(1).map(rejection);
    await calls[0];
    await rejections[0];
    await rejections[1];
    client.destroy();
    await rejections[2];
    assert.equal(listeners, 0);
  });

  it("ends the calls of a batch, and sends a cancellation for each call", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    const controller = new AbortController();
    const calls = client.batch([{ method: "a" }, { method: "b", notify: true }, { method: "c" }], {
      signal: controller.signal,
    });
    const reason = new Error("given up");
    controller.abort(reason);
    const outcomes = await calls;
    assert.deepEqual([outcomes[0].reason, outcomes[1].status, outcomes[2].reason], [reason, "fulfilled", reason]);
    const sent = transport.sent.slice(1).map(({ method, params }) => [method, params.id]);
    assert.deepEqual(sent, [
      ["$/cancelRequest", 1],
      ["$/cancelRequest", 2],
    ]);
    assert.equal(client.pending, 0);
  });

  it("ends each of several calls", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    const controller = new AbortController();
    const calls = Array.from({ length: 10 }, () => client.request("a", {}, { signal: controller.signal }));
    controller.abort(new Error("all"));
    const reasons = await Promise.all(calls.map(rejection));
    assert.isTrue(reasons.every(({ message }) => message === "all"));
    assert.deepEqual([client.pending, transport.sent.length], [0, 20]);
  });
});

describe("a cancelled request", () => {
  it("gets one response, -32800, if its handler rejects with the reason of the signal", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method(
      "work",
      (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    const { error, id } = await remoteEnd.next();
    assert.deepEqual([error.code, id], [ErrorCode.RequestCancelled, 1]);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  it("gets -32800 if its handler rejects with any AbortError", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("work", async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw new DOMException("aborted", "AbortError");
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.RequestCancelled);
  });

  it("gets its result if its handler ignores the signal", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const result = deferred();
    new JSONRPCServer(transport).method("work", () => result.promise);
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    result.resolve("done all the same");
    assert.equal((await remoteEnd.next()).result, "done all the same");
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  it("is selected by the type and the value of its id", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const signals = new Map();
    new JSONRPCServer(transport).method("work", ([name], { signal }) => {
      signals.set(name, signal);
      return new Promise(() => {});
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", params: ["number"], id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", params: ["string"], id: "1" });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: "1" } });
    await remoteEnd.unreadBeforeResponse();
    assert.deepEqual([signals.get("number").aborted, signals.get("string").aborted], [false, true]);
  });

  it("aborts the signal of its handler, and the promise of the call rejects with an AbortError", async () => {
    const { near, far } = channel();
    let handlerSignal;
    new JSONRPCServer(far).method("work", (_, { signal }) => {
      handlerSignal = signal;
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const client = new JSONRPCClient(near);
    const controller = new AbortController();
    const call = client.request("work", undefined, { signal: controller.signal });
    await until(() => handlerSignal !== undefined);
    controller.abort();
    assert.equal((await rejection(call)).name, "AbortError");
    await until(() => handlerSignal.aborted);
    assert.equal((await rejection(client.request("missing"))).code, ErrorCode.MethodNotFound);
  });

  it("gets one response, -32800, if two cancellations arrive", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("work", async (_, { signal }) => {
      signal.throwIfAborted();
      await new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(new DOMException("", "AbortError"))),
      );
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    assert.equal((await remoteEnd.next()).error.code, ErrorCode.RequestCancelled);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  it("gets the error of its handler if the handler fails for another reason", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const result = deferred();
    new JSONRPCServer(transport).method("work", () => result.promise);
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    result.reject(new RPCError(-32004, "broken"));
    assert.equal((await remoteEnd.next()).error.code, -32004);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  it("is not affected if its response was sent before the cancellation", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const signals = [];
    new JSONRPCServer(transport).method("work", ([n], { signal }) => (signals.push(signal), n));
    remoteEnd.post({ jsonrpc: "2.0", method: "work", params: [1], id: 1 });
    assert.equal((await remoteEnd.next()).result, 1);
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", params: [2], id: 2 });
    assert.equal((await remoteEnd.next()).result, 2);
    assert.deepEqual(
      [await remoteEnd.unreadBeforeResponse(), signals.map(({ aborted }) => aborted)],
      [[], [false, false]],
    );
  });

  it("gets its error response within the reply to its batch", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport)
      .method("echo", (params) => params)
      .method(
        "work",
        (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      );
    remoteEnd.post([
      { jsonrpc: "2.0", method: "work", id: 1 },
      { jsonrpc: "2.0", method: "echo", params: [2], id: 2 },
      { jsonrpc: "2.0", method: "work", id: 3 },
    ]);
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    remoteEnd.post([{ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 3 } }]);
    const answers = await remoteEnd.next();
    assert.sameDeepMembers(
      answers.map(({ id, error, result }) => [id, error?.code ?? result]),
      [
        [1, ErrorCode.RequestCancelled],
        [2, [2]],
        [3, ErrorCode.RequestCancelled],
      ],
    );
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
  });

  it("also cancels the calls that its handler makes with the same signal", async () => {
    const { near, far } = channel();
    const caller = new JSONRPCPeer(near);
    const inner = deferred();
    caller.method("ask", (_, { signal }) => {
      inner.resolve(signal);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const worker = new JSONRPCPeer(far);
    worker.method("work", (_, { signal }) => worker.request("ask", undefined, { signal }));
    const controller = new AbortController();
    const call = caller.request("work", undefined, { signal: controller.signal });
    const signal = await inner.promise;
    controller.abort();
    assert.equal((await rejection(call)).name, "AbortError");
    await until(() => signal.aborted);
    assert.deepEqual([caller.pending, worker.pending], [0, 0]);
  });

  it("ends a handler that runs in a loop and awaits context.yield() in each step", async () => {
    const { near, far } = channel();
    let steps = 0;
    const ends = [];
    new JSONRPCServer(far).method("loop", async (_, context) => {
      try {
        for (;;) {
          steps++;
          await context.yield();
        }
      } catch (error) {
        ends.push(error.name, context.signal.aborted);
        throw error;
      }
    });
    const client = new JSONRPCClient(near, { timeout: 0 });
    const controller = new AbortController();
    const call = rejection(client.request("loop", undefined, { signal: controller.signal }));
    await until(() => steps > 20);
    controller.abort();
    assert.equal((await call).name, "AbortError");
    await until(() => ends.length > 0);
    assert.deepEqual(ends, ["AbortError", true]);
    const stepsAtEnd = steps;
    await pause(20);
    assert.equal(steps, stepsAtEnd);
    client.destroy();
  });

  it("makes context.yield() reject with the reason destroyed if destroy() of the server cancelled the request", async () => {
    const { near, far } = channel();
    const server = new JSONRPCServer(far);
    const result = deferred();
    let yieldLater;
    server.method("loop", async (_, context) => {
      await context.yield();
      yieldLater = context.yield;
      await result.promise;
    });
    const client = new JSONRPCClient(near);
    client.request("loop").catch(() => {});
    await until(() => yieldLater !== undefined);
    server.destroy();
    const error = await rejection(yieldLater());
    assert.deepEqual([error.name, error.reason], ["CallError", "destroyed"]);
    result.resolve();
    client.destroy();
  });

  it("does not end other calls of its client", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const controller = new AbortController();
    const other = client.request("other");
    const call = client.request("work", undefined, { signal: controller.signal });
    controller.abort();
    await rejection(call);
    assert.isTrue(await isPending(other));
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "other" });
    assert.equal(await other, "other");
  });
});

describe("a running request with the id 1", () => {
  for (const params of [undefined, null, {}, { id: 99 }, { id: null }, { id: {} }, [1]]) {
    it(`is not cancelled by a cancellation with the params ${JSON.stringify(params)}`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      let signal;
      new JSONRPCServer(transport).method("work", (_, context) => {
        signal = context.signal;
        return new Promise(() => {});
      });
      remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
      remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params });
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
      assert.isFalse(signal.aborted);
    });
  }
});

it("a cancellation or credit without a valid id is ignored", async () => {
  const { transport, remoteEnd } = scriptedChannel();
  const errors = [];
  const server = new JSONRPCServer(transport, { onError: (error) => errors.push(error) });
  const result = deferred();
  server.method("quick", () => 1).method("slow", () => result.promise);
  remoteEnd.post({ jsonrpc: "2.0", method: "slow", id: 1 });
  remoteEnd.post({ jsonrpc: "2.0", method: "quick", id: 2 });
  for (const params of [undefined, {}, { id: undefined }, { id: null }, []]) {
    for (const method of ["$/cancelRequest", "rpc.credit"]) remoteEnd.post({ jsonrpc: "2.0", method, params });
  }
  await remoteEnd.unreadBeforeResponse();
  assert.deepEqual(errors, []);
  result.resolve();
});
