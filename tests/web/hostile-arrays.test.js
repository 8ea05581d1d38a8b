// Arrays that are long and hold nothing: most engines send them at no cost, and to walk through one takes minutes.
//
// Where the length matters nothing is cloned here, since WebKit walks through what it clones.

import { assert } from "chai";
import { JSONRPCPeer, JSONRPCServer, connect } from "./rig/portway.js";
import { rawChannel, recorder } from "./rig/ends.js";
import { afterThisTest } from "./rig/cleanup.js";
import { until } from "./rig/outcomes.js";

/** Long enough to be noticed, and not to stop whoever runs this. */
const LENGTH = 2 ** 27;

const holes = (...items) => Object.assign([], items, { length: LENGTH });
const note = { jsonrpc: "2.0", method: "n" };

describe("an array of holes", () => {
  for (const [name, make] of Object.entries({
    "of nothing else": () => holes(),
    "that begins with a message": () => holes(note),
    "between messages": () => [note, , note], // eslint-disable-line no-sparse-arrays
  })) {
    it(`${name} belongs to somebody else, and costs no time`, () => {
      const transport = recorder();
      const told = [];
      new JSONRPCPeer(transport, { onError: (error) => told.push(error) }).onNotify("n", () => told.push("n"));
      const start = performance.now();
      transport.deliver(make());
      assert.isBelow(performance.now() - start, 200);
      assert.deepEqual([told, transport.sent], [[], []]);
    });
  }

  it("that comes through a port is passed over in silence", async () => {
    const { transport, raw } = rawChannel();
    const told = [];
    new JSONRPCServer(transport, { onError: (error) => told.push(error) }).onNotify("n", () => told.push("n"));
    raw.post(new Array(3));
    raw.post([note, , note]); // eslint-disable-line no-sparse-arrays
    assert.deepEqual([await raw.before(), told], [[], []]);
  });

  it("as the features of either side's hello costs no time", async () => {
    const sent = [];
    const listeners = {};
    const target = {
      postMessage: (message) => sent.push(message),
      addEventListener: (type, listener) => (listeners[type] = listener),
      removeEventListener() {},
    };
    const connecting = connect(target);
    const say = (data) => listeners.message({ data });
    const id = "f".repeat(32);
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => [port1, port2].forEach((port) => port.close()));
    await until(() => sent.length > 0);
    const start = performance.now();
    say({ jsonrpc: "2.0", id, method: "rpc.hello", params: { version: 1, channel: "", features: holes("batch") } });
    say({ jsonrpc: "2.0", id: sent[0].id, result: { session: id, version: 1, features: holes("batch"), port: port1 } });
    assert.isBelow(performance.now() - start, 200);
    (await connecting).destroy();
  });

  it("in an error that is thrown costs no time, and crosses without its holes", () => {
    const transport = recorder();
    new JSONRPCServer(transport).method("check", (params) => {
      throw Object.assign(new Error("invalid", { cause: params.list }), { params, errors: [...params.list.slice(0, 2), params.more] });
    });
    const start = performance.now();
    transport.deliver({ jsonrpc: "2.0", method: "check", params: { list: holes(1), more: holes(2) }, id: 1 });
    assert.isBelow(performance.now() - start, 200);
    const [{ error }] = transport.sent;
    assert.deepEqual([error.message, error.data], ["invalid", { cause: [1], errors: [1, [2]] }]);
  });
});
