// Arrays that are long and hold nothing: to send one costs nothing, and to walk through it takes minutes.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, connect } from "./rig/portway.js";
import { Raw, channel, rawChannel, recorder } from "./rig/ends.js";
import { afterThisTest } from "./rig/cleanup.js";
import { rejection } from "./rig/outcomes.js";

/** Long enough to be noticed, and not to stop whoever runs this. */
const LENGTH = 2 ** 27;

const holes = (...items) => Object.assign([], items, { length: LENGTH });
const note = { jsonrpc: "2.0", method: "n" };

describe("an array of holes", () => {
  for (const [name, make] of Object.entries({
    "of nothing else": () => holes(),
    "that begins with a message": () => holes(note),
    "that is short": () => [note, , note], // eslint-disable-line no-sparse-arrays
    "that is empty but for its length": () => new Array(3),
  })) {
    it(`${name} belongs to somebody else, and costs no time`, async () => {
      const transport = recorder();
      const told = [];
      new JSONRPCPeer(transport, { onError: (error) => told.push(error) }).onNotify("n", () => told.push("n"));
      const start = performance.now();
      transport.deliver(make());
      assert.isBelow(performance.now() - start, 200);
      assert.deepEqual([told, transport.sent], [[], []]);
    });

    it(`${name} does not stop a port`, async () => {
      const { transport, raw } = rawChannel();
      const told = [];
      new JSONRPCServer(transport, { onError: (error) => told.push(error) });
      const start = performance.now();
      raw.post(make());
      assert.deepEqual([await raw.before(), told], [[], []]);
      assert.isBelow(performance.now() - start, 1_000);
    });
  }

  it("as the features of a hello costs no time", async () => {
    const { port1, port2 } = new MessageChannel();
    const raw = new Raw(port2);
    const connecting = connect(port1);
    const id = "f".repeat(32);
    const start = performance.now();
    raw.post({ jsonrpc: "2.0", id, method: "rpc.hello", params: { version: 1, channel: "", features: holes("batch") } });
    const hello = await raw.next();
    const { port1: far, port2: near } = new MessageChannel();
    raw.post({ jsonrpc: "2.0", id: hello.id, result: { session: id, version: 1, features: holes("batch"), port: near } }, [near]);
    const peer = await connecting;
    assert.isBelow(performance.now() - start, 1_000);
    afterThisTest(() => (peer.destroy(), far.close(), port2.close()));
  });

  it("in an error that is thrown costs no time, and crosses as it is", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("check", (params) => {
      throw Object.assign(new Error("invalid"), { params });
    });
    const start = performance.now();
    const { message, data } = await rejection(new JSONRPCClient(near).request("check", { list: holes(1) }));
    assert.isBelow(performance.now() - start, 1_000);
    assert.deepEqual([message, data.params.list.length, data.params.list[0]], ["invalid", LENGTH, 1]);
  });
});
