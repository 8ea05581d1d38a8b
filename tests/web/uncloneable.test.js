// The state of a client after a call that cannot be sent, and the error response for a result that cannot be sent.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { scriptedChannel, recorder } from "./support/transports.js";
import { countTimers } from "./support/connections.js";
import { pause, rejection, until } from "./support/outcomes.js";

/** Creates a transport that sends text, as a socket does. */
function textual() {
  const transport = recorder();
  const { send } = transport;
  transport.send = (message) => send.call(transport, JSON.stringify(message));
  return transport;
}

function throwing(thrown) {
  const transport = recorder();
  transport.send = () => {
    throw thrown;
  };
  return transport;
}

/**
 * Creates a transport whose send() returns a promise, as the IPC of app shells does. Each call of send() takes the next
 * problem. After the last problem, all further calls use the last problem again. The promise rejects with the problem,
 * or resolves if the problem is `undefined`.
 */
function rejecting(...problems) {
  const transport = recorder();
  transport.send = async () => {
    await undefined;
    const problem = problems.length > 1 ? problems.shift() : problems[0];
    if (problem !== undefined) throw problem;
  };
  return transport;
}

function cycle() {
  const value = {};
  return Object.assign(value, { value });
}

const cases = {
  "a function in its params, over a port": [() => scriptedChannel().transport, () => ({ f() {} }), "DataCloneError"],
  "a symbol in its params, over a port": [() => scriptedChannel().transport, () => [Symbol("a")], "DataCloneError"],
  "a bigint in its params, over a transport of text": [textual, () => ({ n: 1n }), "TypeError"],
  "a cycle in its params, over a transport of text": [textual, cycle, "TypeError"],
  "a transport that throws": [() => throwing(new RangeError("full")), () => [1], "RangeError"],
  "a transport whose promise rejects": [() => rejecting(new RangeError("full")), () => [1], "RangeError"],
  "a transport whose promise rejects, and which sends calls together": [
    () => Object.assign(rejecting(new RangeError("full")), { coalesces: true }),
    () => [1],
    "RangeError",
  ],
};

describe("a call that cannot be sent", () => {
  for (const [name, [make, params, error]] of Object.entries(cases)) {
    // If send() returned a promise, the call was pending until the promise rejected. The timer of such a call is not
    // cleared, and fires later without an effect. A response does not clear the timer of a call either.
    const mayLeaveTimer = name.includes("promise");
    it(`rejects, and leaves no ${mayLeaveTimer ? "" : "timer and no "}pending call: ${name}`, async () => {
      const transport = make();
      const client = new JSONRPCClient(transport);
      const timers = countTimers();
      assert.equal((await rejection(client.request("a", params()))).name, error);
      assert.equal((await rejection(client.request("a", params(), { timeout: 50 }))).name, error);
      const [first, second] = await client.batch([
        { method: "a", params: params() },
        { method: "b", params: params() },
      ]);
      assert.deepEqual([first.reason.name, second.reason.name], [error, error]);
      assert.deepEqual([client.pending, transport.sent ?? []], [0, []]);
      if (!mayLeaveTimer) await timers.allEnd();
      client.destroy();
    });
  }

  it("does not end the timer of another pending call", async () => {
    const client = new JSONRPCClient(textual());
    const pendingCall = rejection(client.request("a", undefined, { timeout: 30 }));
    await rejection(client.request("b", { n: 1n }, { timeout: 10_000 }));
    assert.equal((await pendingCall).reason, "timeout");
  });
});

describe("a transport whose send() returns a promise that rejects", () => {
  const full = new RangeError("full");

  it("causes a call of onError for each notification and each result, and no rejection is unhandled", async () => {
    const errors = [];
    const transport = rejecting(full);
    const peer = new JSONRPCPeer(transport, { onError: (error) => errors.push(error) });
    peer.notify("note");
    await until(() => errors.length === 1);
    peer.method("work", () => 1);
    transport.deliver({ jsonrpc: "2.0", method: "work", id: 1 });
    await until(() => errors.length === 2);
    assert.deepEqual(errors, [full, full]);
    peer.destroy();
  });

  it("makes the server send an error response in place of a result that was refused", async () => {
    const sent = [];
    const transport = recorder();
    transport.send = async (message) => {
      await undefined;
      if (message.result !== undefined) throw full;
      sent.push(message);
    };
    const server = new JSONRPCServer(transport).method("work", () => 1);
    transport.deliver({ jsonrpc: "2.0", method: "work", id: 7 });
    await until(() => sent.length === 1);
    assert.deepEqual(sent[0], {
      jsonrpc: "2.0",
      error: { code: -32603, message: 'The result of "work" cannot be sent: RangeError' },
      id: 7,
    });
    server.destroy();
  });

  it("ends a stream if it refuses an item", async () => {
    const errors = [];
    const transport = rejecting(undefined, full, undefined);
    const server = new JSONRPCServer(transport, { onError: (error) => errors.push(error) });
    let ended = false;
    server.method("items", async function* () {
      try {
        for (let n = 0; ; n++, await pause(1)) yield n;
      } finally {
        ended = true;
      }
    });
    transport.deliver({ jsonrpc: "2.0", method: "rpc.stream", id: 1, params: { method: "items", credit: 10 } });
    await until(() => ended, "the stream did not end");
    server.destroy();
  });

  it("does not end a later call that uses the internal slot of the call whose promise rejects", async () => {
    const transport = recorder();
    let fail;
    transport.send = () => new Promise((_, reject) => (fail ??= reject));
    const client = new JSONRPCClient(transport);
    const first = client.request("a");
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "first" });
    assert.equal(await first, "first");
    const second = client.request("b");
    fail(full);
    await pause(1);
    transport.deliver({ jsonrpc: "2.0", id: 2, result: "second" });
    assert.equal(await second, "second");
    client.destroy();
  });
});

describe("a result that cannot be sent", () => {
  for (const [name, value] of [
    ["a function", () => {}],
    ["a symbol", Symbol("a")],
    ["a WeakMap", new WeakMap()],
  ]) {
    it(`becomes an error that names the method and the DataCloneError, but not the value: ${name}`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      new JSONRPCServer(transport).method("render", () => ({ value }));
      remoteEnd.post({ jsonrpc: "2.0", method: "render", id: 1 });
      const { error } = await remoteEnd.next();
      assert.deepEqual(error, { code: -32603, message: 'The result of "render" cannot be sent: DataCloneError' });
    });
  }

  for (const [name, make] of [
    ["a bigint", () => ({ n: 1n })],
    ["a cycle", cycle],
  ]) {
    it(`becomes an error that names the method and the TypeError, over a transport of text: ${name}`, () => {
      const transport = textual();
      new JSONRPCServer(transport).method("render", make);
      transport.deliver({ jsonrpc: "2.0", method: "render", id: 1 });
      const { error, id } = JSON.parse(transport.sent[0]);
      assert.deepEqual(
        [error.code, error.message, id],
        [-32603, 'The result of "render" cannot be sent: TypeError', 1],
      );
      assert.equal(transport.sent.length, 1);
    });
  }
});
