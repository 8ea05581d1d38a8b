// The garbage collector does not end clients, servers and peers that are in use, even if the application does not refer
// to them.

import { assert } from "chai";
import {
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  broadcastTransport,
  connect,
  portTransport,
} from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { untilCollected } from "./support/garbage.js";
import { RemoteEnd, loopback } from "./support/transports.js";

const serve = (server) =>
  server
    .method("echo", ([n]) => n)
    .method("count", async function* () {
      for (let n = 1; ; n++) yield n;
    });

/** Returns a port of a channel. Passes the other port to `use`, and does not refer to this port afterwards. */
function portTo(use) {
  const { port1, port2 } = new MessageChannel();
  use(port2);
  afterThisTest(() => port1.close());
  return port1;
}

/** Makes calls with garbage collections between them. */
async function assertWorks(echo) {
  for (let n = 0; n < 3; n++) {
    await untilCollected();
    assert.equal(await echo([n]), n);
  }
}

describe("the garbage collector", function () {
  this.timeout(90_000);

  it("does not end an unreferenced server or its port", async () => {
    const remoteEnd = new RemoteEnd(portTo((port) => void serve(new JSONRPCServer(portTransport(port)))));
    let id = 0;
    await assertWorks(async (params) => {
      remoteEnd.post({ jsonrpc: "2.0", method: "echo", params, id: ++id });
      return (await remoteEnd.next()).result;
    });
  });

  it("does not end two peers if the application refers only to `remote`, or to a function of `remote`", async () => {
    const remoteOf = () =>
      new JSONRPCPeer(portTransport(portTo((port) => void serve(new JSONRPCPeer(portTransport(port)))))).remote;
    const remote = remoteOf();
    await assertWorks((params) => remote.echo(params));
    const { echo } = remoteOf();
    await assertWorks(echo);
  });

  it("does not end a call if the application refers only to its promise", async () => {
    let far;
    const port = portTo((port) => (far = new RemoteEnd(port)));
    const call = (() => new JSONRPCClient(portTransport(port), { timeout: 0 }).request("a"))();
    const { id } = await far.next();
    await untilCollected();
    far.post({ jsonrpc: "2.0", result: "at last", id });
    assert.equal(await call, "at last");
  });

  it("does not prevent the timeout of a call whose client is unreferenced", async () => {
    const call = (() => new JSONRPCClient(portTransport(portTo(() => {})), { timeout: 300 }).request("a"))().catch(
      ({ reason }) => reason,
    );
    await untilCollected();
    assert.equal(await call, "timeout");
  });

  it("does not end a stream if the application refers only to its iterator", async () => {
    const items = new JSONRPCClient(
      portTransport(portTo((port) => void serve(new JSONRPCServer(portTransport(port))))),
    ).stream("count", [], { window: 2 });
    for (let n = 1; n <= 6; n++) {
      if (n % 2 === 0) await untilCollected();
      assert.equal((await items.next()).value, n);
    }
    await items.return();
  });

  it("does not end a session if the application refers only to `remote`", async () => {
    const remote = await (async () => {
      const { port1, port2 } = new MessageChannel();
      afterThisTest(() => [port1, port2].forEach((port) => port.close()));
      const [peer] = await Promise.all([connect(port1), connect(port2, { methods: { echo: ([n]) => n } })]);
      afterThisTest(() => peer.destroy());
      return peer.remote;
    })();
    await assertWorks((params) => remote.echo(params));
  });

  it("does not end an unreferenced server on a BroadcastChannel that was created from a name", async () => {
    const name = `garbage ${Math.random()}`;
    (() => void serve(new JSONRPCServer(broadcastTransport(name))))();
    const client = new JSONRPCClient(broadcastTransport(name));
    afterThisTest(() => client.destroy());
    await assertWorks((params) => client.request("echo", params));
  });

  it("does not end an unreferenced server on a custom transport", async () => {
    const client = (() => {
      const { near, far } = loopback();
      serve(new JSONRPCServer(far));
      return new JSONRPCClient(near);
    })();
    await assertWorks((params) => client.request("echo", params));
  });
});
