// A handshake closes each offered port that it does not use. Otherwise, both ports of the channel and their memory
// would stay in use.

import { assert } from "chai";
import { connect, inNode } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connected, hexId, ports, recordClosedPorts, scriptedPort } from "./support/connections.js";
import { pause, rejection, until } from "./support/outcomes.js";

/** Whether this engine sends a `close` event to a port when the other port of its channel is closed. */
const reportsPortClose = inNode || "onclose" in MessagePort.prototype;

/** Answers the hello `id` with a port, and asserts that the peer under test closes this port without using it. */
async function assertPortRefused(scriptedPeer, { id, session = hexId(2) }) {
  const { port1, port2 } = new MessageChannel();
  let received = 0;
  let isNotified = false;
  port1.addEventListener("message", () => received++);
  port1.addEventListener("close", () => (isNotified = true));
  port1.start();
  afterThisTest(() => port1.close());
  const closed = recordClosedPorts();
  scriptedPeer.post({ jsonrpc: "2.0", id, result: { session, version: 1, features: [], port: port2 } }, [port2]);
  await until(() => closed.size > 0, "the port was not closed");
  if (reportsPortClose) await until(() => isNotified, "the other port of the channel got no close event");
  port1.postMessage({ jsonrpc: "2.0", method: "rpc.ping" });
  await pause(20);
  assert.deepEqual([received, closed.size], [0, 1]);
}

describe("an unused port is closed:", () => {
  it("the port of a second response to the same hello", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const events = [];
    const connecting = connected(port, { onLost: () => events.push("lost") });
    const hello = await scriptedPeer.nextHello();
    const end = scriptedPeer.accept(hello, { session: hexId(1) });
    const peer = await connecting;
    await assertPortRefused(scriptedPeer, { id: hello.id });
    const call = peer.request("a");
    end.answer(await end.nextCall(), "the session lives");
    assert.equal(await call, "the session lives");
    assert.deepEqual(events, []);
  });

  it("the port of a response with an invalid session name, and the handshake continues", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port);
    await assertPortRefused(scriptedPeer, { id: (await scriptedPeer.nextHello()).id, session: "no name" });
    await scriptedPeer.open();
    await connecting;
  });

  it("the port of a second response to a hello whose session has ended", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const events = [];
    const connecting = connected(port, { onLost: () => events.push("lost") });
    const hello = await scriptedPeer.nextHello();
    const end = scriptedPeer.accept(hello, { session: hexId(1) });
    await connecting;
    end.bye();
    await until(() => events.length > 0);
    await assertPortRefused(scriptedPeer, { id: hello.id });
  });

  it("the port that connect has offered in its answer to a hello, when connect is aborted", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const abort = new AbortController();
    const connecting = rejection(connect(port, { signal: abort.signal }));
    await scriptedPeer.nextHello();
    scriptedPeer.hello(hexId(0));
    const { result } = await scriptedPeer.find((message) => message?.id === hexId(0) && message.result !== undefined);
    let isNotified = false;
    result.port.addEventListener("close", () => (isNotified = true));
    result.port.start();
    afterThisTest(() => result.port.close());
    const closed = recordClosedPorts();
    abort.abort();
    await connecting;
    assert.isAbove(closed.size, 0);
    if (reportsPortClose) await until(() => isNotified, "the offered port got no close event");
  });
});

describe("a port of a session", () => {
  it("stays open after a response with another port that the handshake refuses", async () => {
    const [near, far] = ports();
    const [one] = await Promise.all([connected(near), connected(far, { methods: { echo: ([n]) => n } })]);
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => port1.close());
    far.postMessage(
      { jsonrpc: "2.0", id: hexId(9), result: { session: hexId(8), version: 1, features: [], port: port2 } },
      [port2],
    );
    assert.equal(await one.request("echo", [1]), 1);
  });
});
