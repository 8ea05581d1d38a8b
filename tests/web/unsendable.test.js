// What a call leaves behind that cannot be sent, and what is said of a result that cannot be.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer } from "./rig/portway.js";
import { rawChannel, recorder } from "./rig/ends.js";
import { timersSet } from "./rig/connections.js";
import { rejection } from "./rig/outcomes.js";

/** A transport that sends text, as a socket does. */
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

function cycle() {
  const value = {};
  return Object.assign(value, { value });
}

const cases = {
  "holds a function, over a port": [() => rawChannel().transport, () => ({ f() {} }), "DataCloneError"],
  "holds a symbol, over a port": [() => rawChannel().transport, () => [Symbol("a")], "DataCloneError"],
  "holds a bigint, over a transport of text": [textual, () => ({ n: 1n }), "TypeError"],
  "holds itself, over a transport of text": [textual, cycle, "TypeError"],
  "is sent by a transport that throws": [() => throwing(new RangeError("full")), () => [1], "RangeError"],
};

describe("a call that", () => {
  for (const [name, [make, params, error]] of Object.entries(cases)) {
    it(`${name} rejects, and leaves neither a timer nor a call that waits`, async () => {
      const transport = make();
      const client = new JSONRPCClient(transport);
      const timers = timersSet();
      assert.equal((await rejection(client.request("a", params()))).name, error);
      assert.equal((await rejection(client.request("a", params(), { timeout: 50 }))).name, error);
      const [first, second] = await client.batch([{ method: "a", params: params() }, { method: "b", params: params() }]);
      assert.deepEqual([first.reason.name, second.reason.name], [error, error]);
      assert.deepEqual([client.pending, timers.size, transport.sent ?? []], [0, 0, []]);
      client.destroy();
    });
  }

  it("cannot be sent does not end the timer of another that waits", async () => {
    const client = new JSONRPCClient(textual());
    const waits = rejection(client.request("a", undefined, { timeout: 30 }));
    await rejection(client.request("b", { n: 1n }, { timeout: 10_000 }));
    assert.equal((await waits).reason, "timeout");
  });
});

describe("a result that cannot be sent", () => {
  for (const [name, value] of [
    ["a function", () => {}],
    ["a symbol", Symbol("a")],
    ["a WeakMap", new WeakMap()],
  ]) {
    it(`since it is ${name} is -32603, which names the method and the DataCloneError, and not the value`, async () => {
      const { transport, raw } = rawChannel();
      new JSONRPCServer(transport).method("render", () => ({ value }));
      raw.post({ jsonrpc: "2.0", method: "render", id: 1 });
      const { error } = await raw.next();
      assert.deepEqual(error, { code: -32603, message: 'The result of "render" cannot be sent: DataCloneError' });
    });
  }

  for (const [name, make] of [["holds a bigint", () => ({ n: 1n })], ["holds itself", cycle]]) {
    it(`as text since it ${name} is -32603, which names the method and the TypeError`, () => {
      const transport = textual();
      new JSONRPCServer(transport).method("render", make);
      transport.deliver({ jsonrpc: "2.0", method: "render", id: 1 });
      const { error, id } = JSON.parse(transport.sent[0]);
      assert.deepEqual([error.code, error.message, id], [-32603, 'The result of "render" cannot be sent: TypeError', 1]);
      assert.equal(transport.sent.length, 1);
    });
  }
});
