import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer } from "./rig/portway.js";
import { rawChannel, recorder } from "./rig/ends.js";
import { pause, rejection } from "./rig/outcomes.js";

describe("the limit", () => {
  it("pendingCalls lets one call more fail at once with the reason too-many-calls", async () => {
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

  it("pendingCalls holds within a batch, too", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport, { limits: { pendingCalls: 2 }, timeout: 20 });
    const outcomes = await client.batch([{ method: "a" }, { method: "b" }, { method: "c" }]);
    assert.deepEqual(
      outcomes.map(({ reason }) => reason.reason),
      ["timeout", "timeout", "too-many-calls"],
    );
    assert.lengthOf(transport.sent[0], 2);
  });

  it("inFlight answers one request more with -32600, and takes requests again afterwards", async () => {
    const { transport, raw } = rawChannel();
    const ends = [];
    new JSONRPCServer(transport, { limits: { inFlight: 2 } }).method(
      "work",
      () => new Promise((resolve) => ends.push(resolve)),
    );
    for (const id of [1, 2, 3]) raw.post({ jsonrpc: "2.0", method: "work", id });
    const { error, id } = await raw.next();
    assert.deepEqual([error.code, id, ends.length], [-32600, 3, 2]);
    assert.isString(error.data.reason);
    ends[0]("done");
    assert.deepEqual(await raw.next(), { jsonrpc: "2.0", result: "done", id: 1 });
    raw.post({ jsonrpc: "2.0", method: "work", id: 4 });
    raw.post({ jsonrpc: "2.0", method: "work", id: 5 });
    assert.equal((await raw.next()).id, 5);
    assert.lengthOf(ends, 3);
  });

  it("inFlight is 1024 if nobody says", async () => {
    const { transport, raw } = rawChannel();
    let started = 0;
    new JSONRPCServer(transport).method("work", () => (started++, new Promise(() => {})));
    for (let id = 1; id <= 1025; id++) raw.post({ jsonrpc: "2.0", method: "work", id });
    const { error, id } = await raw.next();
    assert.deepEqual([error.code, id, started], [-32600, 1025, 1024]);
  });

  it("inFlight counts the errors that wait for the rest of their batch, too", async () => {
    const { transport, raw } = rawChannel();
    const ends = [];
    new JSONRPCServer(transport).method("work", () => new Promise((resolve) => ends.push(resolve)));
    const broken = Array.from({ length: 999 }, (_, n) => ({
      jsonrpc: "2.0",
      method: 5,
      id: `${"x".repeat(1_000)}${n}`,
    }));
    for (let n = 0; n < 20; n++) raw.post([{ jsonrpc: "2.0", method: "work", id: n }, ...broken]);
    const refused = [];
    while (refused.length < 19) refused.push(await raw.next());
    assert.lengthOf(ends, 1);
    for (const [n, replies] of refused.entries()) {
      const { error } = replies.find(({ id }) => id === n + 1);
      assert.deepEqual([replies.length, error.data.reason], [1_000, "too-many-requests"]);
    }
    ends[0]("done");
    assert.lengthOf(await raw.next(), 1_000);
  });

  it("inFlight counts the replies that wait for the rest of their batch, so that one slow request in each batch frees nothing", async () => {
    const { transport, raw } = rawChannel();
    const ends = [];
    new JSONRPCServer(transport)
      .method("quick", () => "quick")
      .method("work", () => new Promise((resolve) => ends.push(resolve)));
    const batch = () => [
      ...Array.from({ length: 999 }, (_, id) => ({ jsonrpc: "2.0", method: "quick", id })),
      { jsonrpc: "2.0", method: "work", id: "w" },
    ];
    for (let n = 0; n < 20; n++) raw.post(batch());
    raw.post({ jsonrpc: "2.0", method: "quick", id: "alone" });
    const refused = [];
    for (let reply; (reply = await raw.next()).id !== "alone"; ) refused.push(reply);
    // The replies of the first batch wait, and those of all others do not.
    assert.deepEqual([refused.length, ends.length], [19, 1]);
    assert.isTrue(
      refused.every((replies) => replies.length === 1_000 && replies.at(-1).error.data.reason === "too-many-requests"),
    );
    ends[0]("done");
    const first = await raw.next();
    assert.isTrue(first.every(({ result }) => result === "quick" || result === "done"));
    raw.post(batch());
    raw.post({ jsonrpc: "2.0", method: "quick", id: "again" });
    assert.equal((await raw.next()).id, "again");
    assert.lengthOf(ends, 2);
  });

  it("inFlight does not hinder notifications, nor a thousand requests that are answered at once", async () => {
    const { transport, raw } = rawChannel();
    let notes = 0;
    new JSONRPCServer(transport, { limits: { inFlight: 1 } })
      .method("work", () => new Promise(() => {}))
      .method("quick", () => "quick")
      .onNotify("note", () => notes++);
    for (let id = 1; id <= 1000; id++) raw.post({ jsonrpc: "2.0", method: "quick", id });
    const replies = await Promise.all(Array.from({ length: 1000 }, () => raw.next()));
    assert.isTrue(replies.every(({ result }) => result === "quick"));
    raw.post({ jsonrpc: "2.0", method: "work", id: "w" });
    raw.post({ jsonrpc: "2.0", method: "note" });
    raw.post({ jsonrpc: "2.0", method: "quick", id: "q" });
    assert.equal((await raw.next()).error.code, -32600);
    assert.equal(notes, 1);
  });

  it("batchItems answers a longer batch with one -32600 under the id null, and runs nothing of it", async () => {
    const { transport, raw } = rawChannel();
    let ran = 0;
    new JSONRPCServer(transport, { limits: { batchItems: 3 } }).method("a", () => ++ran);
    const batch = (length) => Array.from({ length }, (_, id) => ({ jsonrpc: "2.0", method: "a", id }));
    raw.post(batch(4));
    const { error, id } = await raw.next();
    assert.deepEqual([error.code, id, ran], [-32600, null, 0]);
    raw.post(batch(3));
    assert.lengthOf(await raw.next(), 3);
  });

  it("batchItems is 1000 if nobody says", async () => {
    const { transport, raw } = rawChannel();
    new JSONRPCServer(transport).method("a", () => 1);
    const batch = (length) => Array.from({ length }, (_, id) => ({ jsonrpc: "2.0", method: "a", id }));
    raw.post(batch(1001));
    assert.equal((await raw.next()).error.code, -32600);
    raw.post(batch(1000));
    assert.lengthOf(await raw.next(), 1000);
  });

  it("that does not exist is a TypeError, and one that is no number a RangeError", () => {
    for (const limits of [{ pending: 1 }, { toString: 1 }]) {
      assert.throws(() => new JSONRPCClient(recorder(), { limits }), TypeError);
    }
    for (const inFlight of [-1, NaN, "many", "5", "", null, true, [], [5], new Date(), 5n, Symbol("5")]) {
      assert.throws(() => new JSONRPCServer(recorder(), { limits: { inFlight } }), RangeError);
    }
  });

  it("that is refused leaves a transport as it was: nothing of it is heard, and nothing is set", async () => {
    const { transport, raw } = rawChannel();
    raw.post({ jsonrpc: "2.0", method: "a", id: 1 });
    assert.throws(() => new JSONRPCServer(transport, { limits: { nothing: 1 } }), TypeError);
    await pause(30);
    const told = [];
    new JSONRPCServer(transport, { onError: () => told.push("right") })
      .method("a", () => 1)
      .onNotify("n", () => {
        throw 1;
      });
    assert.throws(
      () => new JSONRPCClient(transport, { onError: () => told.push("wrong"), limits: { inFlight: 0, nothing: 1 } }),
      TypeError,
    );
    raw.post({ jsonrpc: "2.0", method: "n" });
    assert.deepEqual(await raw.next(), { jsonrpc: "2.0", result: 1, id: 1 });
    new JSONRPCClient(transport);
    raw.post({ jsonrpc: "2.0", method: "a", id: 2 });
    assert.deepEqual(await raw.next(), { jsonrpc: "2.0", result: 1, id: 2 });
    assert.deepEqual(told, ["right"]);
  });
});
