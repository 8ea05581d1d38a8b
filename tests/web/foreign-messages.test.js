// Foreign messages of every kind that can be cloned. The transports of the library receive and ignore them.

import { assert } from "chai";
import { JSONRPCPeer, broadcastTransport, inNode } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connected, ports } from "./support/connections.js";
import { RemoteEnd, scriptedChannel } from "./support/transports.js";
import { until } from "./support/outcomes.js";

const members = { jsonrpc: "2.0", method: "echo", id: 1 };

const values = {
  "a Blob": () => new Blob([JSON.stringify(members)]),
  "a Map with the entries of a request": () => new Map(Object.entries(members)),
  "a Set": () => new Set(["2.0"]),
  "a Uint8Array": () => new TextEncoder().encode(JSON.stringify(members)),
  "an empty Float64Array": () => new Float64Array(),
  "a BigInt64Array": () => new BigInt64Array(2),
  "a DataView": () => new DataView(new ArrayBuffer(8)),
  "an ArrayBuffer": () => new ArrayBuffer(8),
  "a Date": () => new Date(0),
  "a RegExp": () => /2.0/g,
  "an Error": () => new Error("2.0"),
  "a String object": () => Object("2.0"),
  "a request as text": () => JSON.stringify(members),
  ...(inNode ? {} : { "an ImageData": () => new ImageData(1, 1) }),
};

const foreign = {
  ...values,
  "an array of all of these": () => Object.values(values).map((make) => make()),
  "an array of a request and a Map": () => [members, new Map()],
};

/** Creates a peer on a transport. `outcome` returns the effects of all received messages. */
function createPeer(transport) {
  const errors = [];
  let ran = 0;
  const run = () => void ran++;
  const peer = new JSONRPCPeer(transport, { onError: (error) => errors.push(error) })
    .method("echo", run)
    .onNotify("echo", run);
  afterThisTest(() => peer.destroy());
  return { peer, outcome: () => ({ ran, errors, ignored: peer.ignored }) };
}

const noEffect = { ran: 0, errors: [], ignored: 0 };

describe("foreign messages:", () => {
  for (const [name, make] of Object.entries(foreign)) {
    it(`${name} is ignored and gets no response`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const { outcome } = createPeer(transport);
      remoteEnd.post(make());
      remoteEnd.post(make());
      assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
      assert.deepEqual(outcome(), noEffect);
    });
  }

  it("all kinds reach other listeners unchanged", async () => {
    const { transport, remoteEnd, port } = scriptedChannel();
    createPeer(transport);
    const kinds = [];
    port.addEventListener("message", ({ data }) => kinds.push(Object.prototype.toString.call(data)));
    const sent = Object.values(foreign).map((make) => make());
    for (const value of sent) remoteEnd.post(value);
    await until(() => kinds.length === sent.length);
    assert.deepEqual(
      kinds,
      sent.map((value) => Object.prototype.toString.call(value)),
    );
  });

  it("all kinds are ignored by a connection on the same boundary, before the session and during it", async () => {
    const [near, far] = ports();
    const other = new RemoteEnd(far);
    const post = () => Object.values(foreign).forEach((make) => far.postMessage(make()));
    const events = [];
    const options = { onError: (error) => events.push(error), onLost: (error) => events.push(error) };
    const connecting = connected(near, { ...options, methods: { echo: ([n]) => n } });
    post();
    const peer = await connected(far);
    await connecting;
    const before = other.received.length;
    post();
    assert.equal(await peer.request("echo", [1]), 1);
    assert.deepEqual(events, []);
    const replies = other.received
      .slice(before)
      .filter((message) => message?.method !== "rpc.hello" && message?.id !== undefined);
    assert.deepEqual(
      replies.filter(({ result }) => result?.port === undefined),
      [],
    );
  });

  it("all kinds are ignored on a BroadcastChannel", async () => {
    const name = `foreign ${Math.random()}`;
    const channel = new BroadcastChannel(name);
    afterThisTest(() => channel.close());
    const { outcome } = createPeer(broadcastTransport(name));
    const received = [];
    channel.addEventListener("message", ({ data }) => received.push(data));
    for (const make of Object.values(foreign)) channel.postMessage(make());
    channel.postMessage({ jsonrpc: "2.0", method: "none", id: "last" });
    await until(() => received.length > 0, "no response arrived");
    assert.deepEqual(
      received.map(({ id }) => id),
      ["last"],
    );
    assert.deepEqual(outcome(), noEffect);
  });
});
