// Two modules of the package, portway.js and inline.js, in one realm. The build shortens the internal names of each
// module differently. The members of shared objects (boundaries, connections, queues and their transports) must have
// the same names in both modules.

import { assert } from "chai";
import * as main from "./support/portway.js";
import { ports } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";
import { RemoteEnd } from "./support/transports.js";

const inline = await import(main.packaged("inline.js"));

describe("two modules of the package in one realm", () => {
  before(() => inline.default());

  /** Destroys a client, server or peer after the test, and returns it. */
  function destroyedAfterTest(end) {
    afterThisTest(() => end.destroy());
    return end;
  }

  it("have different classes, and each recognizes the errors of the other module", async () => {
    assert.notEqual(main.JSONRPCClient, inline.JSONRPCClient);
    const [port] = ports();
    const client = new inline.JSONRPCClient(inline.portTransport(port));
    const pending = rejection(client.request("a"));
    client.destroy();
    assert.instanceOf(await pending, main.CallError);
  });

  it("send one response to each request on a shared port, from the server that has the method", async () => {
    const [port, far] = ports();
    const remoteEnd = new RemoteEnd(far);
    destroyedAfterTest(new main.JSONRPCServer(main.portTransport(port))).method("a", () => "main");
    destroyedAfterTest(new inline.JSONRPCServer(inline.portTransport(port))).method("b", () => "inline");
    for (const [id, method] of ["a", "b", "c"].entries()) remoteEnd.post({ jsonrpc: "2.0", id, method });
    const answers = await remoteEnd.unreadBeforeResponse();
    const outcomes = answers.map(({ id, result, error }) => [id, result ?? error.code]);
    assert.sameDeepMembers(outcomes, [
      [0, "main"],
      [1, "inline"],
      [2, -32601],
    ]);
  });

  it("use different ids for their calls on one port", async () => {
    const [port, far] = ports();
    const remoteEnd = new RemoteEnd(far);
    const clients = [
      destroyedAfterTest(new main.JSONRPCClient(main.portTransport(port))),
      destroyedAfterTest(new inline.JSONRPCClient(inline.portTransport(port))),
    ];
    const calls = clients.map((client, n) => client.request("echo", [n]));
    await until(() => remoteEnd.received.length === 2);
    for (const { id, params } of remoteEnd.received) remoteEnd.post({ jsonrpc: "2.0", id, result: params[0] });
    assert.deepEqual(await Promise.all(calls), [0, 1]);
  });

  it("can each use transports of the other module", async () => {
    const [port, far] = ports();
    const peer = destroyedAfterTest(new main.JSONRPCPeer(inline.portTransport(port)));
    const other = destroyedAfterTest(new inline.JSONRPCPeer(main.portTransport(far)));
    const notes = [];
    peer.onNotify("note", ([value]) => void notes.push(value));
    other.method("work", async (_, context) => {
      context.progress("progress");
      context.notify("note", ["note"]);
      await context.yield();
      return context.method;
    });
    other.method("count", async function* () {
      for (let n = 0; n < 20; n++) yield n;
    });
    const onProgress = (value) => void notes.push(value);
    assert.equal(await peer.request("work", undefined, { onProgress }), "work");
    assert.sameMembers(notes, ["progress", "note"]);
    let count = 0;
    for await (const n of peer.stream("count", undefined, { window: 3 })) assert.equal(n, count++);
    assert.equal(count, 20);
  });

  for (const [name, first, second] of [
    ["main", main, inline],
    ["inline", inline, main],
  ]) {
    it(`replace each other's connections: a newer connection on a port ends a pending connection of the module ${name}`, async () => {
      const [port, far] = ports();
      const replaced = rejection(first.connect(port, { connectTimeout: 0 }));
      const connecting = second.connect(port);
      assert.equal((await replaced).reason, "peer-gone");
      destroyedAfterTest(await first.connect(far, { methods: { echo: (params) => params } }));
      const peer = destroyedAfterTest(await connecting);
      assert.deepEqual(await peer.request("echo", [1]), [1]);
    });
  }

  it("register one queue for each client, and a flush of all queues sends the queued messages", () => {
    const [port, far] = ports();
    const remoteEnd = new RemoteEnd(far);
    const queues = globalThis[Symbol.for("portway.nonEmptyQueues")];
    const before = queues.size;
    for (const { JSONRPCClient, portTransport } of [main, inline]) {
      const client = destroyedAfterTest(new JSONRPCClient(portTransport(port), { coalesce: true }));
      for (const method of ["first", "second"]) client.notify(method);
    }
    assert.equal(queues.size, before + 2);
    for (const queue of queues) queue.flush();
    assert.equal(queues.size, 0);
    return until(() => remoteEnd.received.flat().length === 4, "some messages did not arrive");
  });

  it("do not replace each other's connections on one port if the names of their channels differ", async () => {
    const [port, far] = ports();
    const remoteEnd = new RemoteEnd(far);
    const options = [{ channel: "a" }, { channel: "b" }];
    const attempts = [main.connect(port, options[0]), inline.connect(port, options[1])].map(rejection);
    await until(() => new Set(remoteEnd.received.map(({ params }) => params?.channel)).size === 2);
    const refusal = { code: -32600, message: "no" };
    for (const { id, method } of [...remoteEnd.received])
      if (method === "rpc.hello") remoteEnd.post({ jsonrpc: "2.0", id, error: refusal });
    assert.deepEqual(
      (await Promise.all(attempts)).map(({ reason }) => reason),
      ["refused", "refused"],
    );
  });
});
