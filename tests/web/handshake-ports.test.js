// A handshake closes the ports that it does not use. An open port would keep the other end and its memory in use.

import { assert } from "chai";
import { connect, inNode } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connected, hexId, ports, recordClosedPorts, scriptedPort } from "./support/connections.js";
import { pause, rejection, until } from "./support/outcomes.js";

/** Some engines do not report at one end of a channel that the other end was closed. */
const reportsPortClose = inNode || "onclose" in MessagePort.prototype;

/** Answers a hello with a port, and asserts that the connection closes the port without using it. */
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
  if (reportsPortClose) await until(() => isNotified, "the other end was not notified");
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

  it("the port of a response for a session that has ended, before a new session begins", async () => {
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

  it("the port that was offered to a peer, after connect was aborted", async () => {
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
    if (reportsPortClose) await until(() => isNotified, "the other end was not notified");
  });
});

describe("a port of a session", () => {
  it("is not closed by responses that are refused", async () => {
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
