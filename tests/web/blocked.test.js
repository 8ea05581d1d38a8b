// While this thread is blocked, messages arrive and calls reach their timeouts. After the block, the library handles
// the messages before it ends any call.

import { assert } from "chai";
import { JSONRPCClient, portTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { RemoteEnd } from "./support/transports.js";
import { rejection } from "./support/outcomes.js";

const TIMEOUT_MS = 1_000;

/** Keeps this thread busy. */
function block(ms) {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/** Returns a client, and the remote end with which the test acts as its peer. */
function link() {
  const { port1, port2 } = new MessageChannel();
  const client = new JSONRPCClient(portTransport(port1));
  afterThisTest(() => [client, port2].forEach((end) => (end.destroy ?? end.close).call(end)));
  return { client, remoteEnd: new RemoteEnd(port2) };
}

describe("a response that arrived while this thread was blocked", () => {
  for (const [name, afterBlock] of [
    ["ends its call, although the timeout has passed", () => {}],
    [
      "ends its call even if the application makes another call before the response is handled",
      (client) => client.request("next", [], { timeout: 1 }).catch(() => {}),
    ],
  ]) {
    it(name, async () => {
      const { client, remoteEnd } = link();
      const call = client.request("late", [], { timeout: TIMEOUT_MS });
      const { id } = await remoteEnd.next();
      remoteEnd.post({ jsonrpc: "2.0", result: "here", id });
      block(1.5 * TIMEOUT_MS);
      afterBlock(client);
      assert.equal(await call, "here");
    });
  }

  it("ends only its own call: another call times out", async () => {
    const { client, remoteEnd } = link();
    const [first, second] = ["a", "b"].map((method) => client.request(method, [], { timeout: TIMEOUT_MS }));
    const { id } = await remoteEnd.next();
    remoteEnd.post({ jsonrpc: "2.0", result: "here", id });
    block(1.5 * TIMEOUT_MS);
    assert.equal((await rejection(second)).reason, "timeout");
    assert.equal(await first, "here");
  });
});
