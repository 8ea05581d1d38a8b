// The option `limits`. limits-table.test.js tests the default values.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer } from "./support/portway.js";
import { scriptedChannel, recorder } from "./support/transports.js";
import { pause, rejection } from "./support/outcomes.js";

describe("the limit", () => {
  it("pendingCalls makes a further call fail at once with the reason too-many-calls", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport, { limits: { pendingCalls: 2 } });
    const calls = [client.request("a"), client.request("b")];
    const error = await rejection(client.request("c"));
    assert.deepEqual(
      [error.name, error.reason, error.method, transport.sent.length],
      ["CallError", "too-many-calls", "c", 2],
    );
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "done" });
    assert.equal(await calls[0], "done");
    const next = client.request("d");
    transport.deliver({ jsonrpc: "2.0", id: transport.sent.at(-1).id, result: "there is room again" });
    assert.equal(await next, "there is room again");
    client.destroy();
    await rejection(calls[1]);
  });

  it("pendingCalls also applies to the calls of a batch", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport, { limits: { pendingCalls: 2 }, timeout: 20 });
    const outcomes = await client.batch([{ method: "a" }, { method: "b" }, { method: "c" }]);
    assert.deepEqual(
      outcomes.map(({ reason }) => reason.reason),
      ["timeout", "timeout", "too-many-calls"],
    );
    assert.lengthOf(transport.sent[0], 2);
  });

  it("inFlight makes the server refuse a further request with -32600 until a running request has ended", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const finishers = [];
    new JSONRPCServer(transport, { limits: { inFlight: 2 } }).method(
      "work",
      () => new Promise((resolve) => finishers.push(resolve)),
    );
    for (const id of [1, 2, 3]) remoteEnd.post({ jsonrpc: "2.0", method: "work", id });
    const { error, id } = await remoteEnd.next();
    assert.deepEqual([error.code, id, finishers.length], [-32600, 3, 2]);
    assert.isString(error.data.reason);
    finishers[0]("done");
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: "done", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 4 });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 5 });
    assert.equal((await remoteEnd.next()).id, 5);
    assert.lengthOf(finishers, 3);
  });

  it("inFlight is 1024 by default", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    let started = 0;
    new JSONRPCServer(transport).method("work", () => (started++, new Promise(() => {})));
    for (let id = 1; id <= 1025; id++) remoteEnd.post({ jsonrpc: "2.0", method: "work", id });
    const { error, id } = await remoteEnd.next();
    assert.deepEqual([error.code, id, started], [-32600, 1025, 1024]);
  });

  it("inFlight counts the error responses that wait for the other responses of their batch", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const finishers = [];
    new JSONRPCServer(transport).method("work", () => new Promise((resolve) => finishers.push(resolve)));
    const broken = Array.from({ length: 999 }, (_, n) => ({
      jsonrpc: "2.0",
      method: 5,
      id: `${"x".repeat(1_000)}${n}`,
    }));
    for (let n = 0; n < 20; n++) remoteEnd.post([{ jsonrpc: "2.0", method: "work", id: n }, ...broken]);
    const refused = [];
    while (refused.length < 19) refused.push(await remoteEnd.next());
    assert.lengthOf(finishers, 1);
    for (const [n, replies] of refused.entries()) {
      const { error } = replies.find(({ id }) => id === n + 1);
      assert.deepEqual([replies.length, error.data.reason], [1_000, "too-many-requests"]);
    }
    finishers[0]("done");
    assert.lengthOf(await remoteEnd.next(), 1_000);
  });

  it("inFlight counts the responses that wait for one slow request of their batch", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const finishers = [];
    new JSONRPCServer(transport)
      .method("quick", () => "quick")
      .method("work", () => new Promise((resolve) => finishers.push(resolve)));
    const batch = () => [
      ...Array.from({ length: 999 }, (_, id) => ({ jsonrpc: "2.0", method: "quick", id })),
      { jsonrpc: "2.0", method: "work", id: "w" },
    ];
    for (let n = 0; n < 20; n++) remoteEnd.post(batch());
    remoteEnd.post({ jsonrpc: "2.0", method: "quick", id: "alone" });
    const refused = [];
    for (let reply; (reply = await remoteEnd.next()).id !== "alone"; ) refused.push(reply);
    // The first batch waits for its slow request. All other batches are refused.
    assert.deepEqual([refused.length, finishers.length], [19, 1]);
    assert.isTrue(
      refused.every((replies) => replies.length === 1_000 && replies.at(-1).error.data.reason === "too-many-requests"),
    );
    finishers[0]("done");
    const first = await remoteEnd.next();
    assert.isTrue(first.every(({ result }) => result === "quick" || result === "done"));
    remoteEnd.post(batch());
    remoteEnd.post({ jsonrpc: "2.0", method: "quick", id: "again" });
    assert.equal((await remoteEnd.next()).id, "again");
    assert.lengthOf(finishers, 2);
  });

  it("inFlight does not refuse notifications, or a thousand requests whose handlers return at once", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    let notes = 0;
    new JSONRPCServer(transport, { limits: { inFlight: 1 } })
      .method("work", () => new Promise(() => {}))
      .method("quick", () => "quick")
      .onNotify("note", () => notes++);
    for (let id = 1; id <= 1000; id++) remoteEnd.post({ jsonrpc: "2.0", method: "quick", id });
    const replies = await Promise.all(Array.from({ length: 1000 }, () => remoteEnd.next()));
    assert.isTrue(replies.every(({ result }) => result === "quick"));
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: "w" });
    remoteEnd.post({ jsonrpc: "2.0", method: "note" });
    remoteEnd.post({ jsonrpc: "2.0", method: "quick", id: "q" });
    assert.equal((await remoteEnd.next()).error.code, -32600);
    assert.equal(notes, 1);
  });

  it("batchItems makes the server refuse a longer batch with one error -32600 that has the id null, and no handler runs", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    let ran = 0;
    new JSONRPCServer(transport, { limits: { batchItems: 3 } }).method("a", () => ++ran);
    const batch = (length) => Array.from({ length }, (_, id) => ({ jsonrpc: "2.0", method: "a", id }));
    remoteEnd.post(batch(4));
    const { error, id } = await remoteEnd.next();
    assert.deepEqual([error.code, id, ran], [-32600, null, 0]);
    remoteEnd.post(batch(3));
    assert.lengthOf(await remoteEnd.next(), 3);
  });

  it("batchItems is 1000 by default", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("a", () => 1);
    const batch = (length) => Array.from({ length }, (_, id) => ({ jsonrpc: "2.0", method: "a", id }));
    remoteEnd.post(batch(1001));
    assert.equal((await remoteEnd.next()).error.code, -32600);
    remoteEnd.post(batch(1000));
    assert.lengthOf(await remoteEnd.next(), 1000);
  });

  it("causes a TypeError if its name is unknown, and a RangeError if its value is not a number of at least 0", () => {
    for (const limits of [{ pending: 1 }, { toString: 1 }]) {
      assert.throws(() => new JSONRPCClient(recorder(), { limits }), TypeError);
    }
    for (const inFlight of [-1, NaN, "many", "5", "", null, true, [], [5], new Date(), 5n, Symbol("5")]) {
      assert.throws(() => new JSONRPCServer(recorder(), { limits: { inFlight } }), RangeError);
    }
  });

  it("that is invalid leaves the transport unchanged: no message is consumed, and no option is set", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 1 });
    assert.throws(() => new JSONRPCServer(transport, { limits: { nothing: 1 } }), TypeError);
    await pause(30);
    const events = [];
    new JSONRPCServer(transport, { onError: () => events.push("right") })
      .method("a", () => 1)
      .onNotify("n", () => {
        throw 1;
      });
    assert.throws(
      () => new JSONRPCClient(transport, { onError: () => events.push("wrong"), limits: { inFlight: 0, nothing: 1 } }),
      TypeError,
    );
    remoteEnd.post({ jsonrpc: "2.0", method: "n" });
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: 1, id: 1 });
    new JSONRPCClient(transport);
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 2 });
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: 1, id: 2 });
    assert.deepEqual(events, ["right"]);
  });
});
