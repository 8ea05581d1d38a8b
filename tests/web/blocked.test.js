// This thread was blocked, or its process was stopped. Messages that arrived meanwhile are handled before calls time
// out.

import { assert } from "chai";
import { JSONRPCClient, portTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { RemoteEnd } from "./support/transports.js";
import { rejection } from "./support/outcomes.js";

const SOON = 1_000;

function block(ms) {
  for (const end = performance.now() + ms; performance.now() < end; );
}

function link() {
  const { port1, port2 } = new MessageChannel();
  const client = new JSONRPCClient(portTransport(port1));
  afterThisTest(() => [client, port2].forEach((end) => (end.destroy ?? end.close).call(end)));
  return { client, remoteEnd: new RemoteEnd(port2) };
}

describe("a response that arrived while this thread was blocked", () => {
  for (const [name, next] of [
    ["ends its call, although the timeout has passed", () => {}],
    [
      "ends its call even if the application makes another call first",
      (client) => client.request("next", [], { timeout: 1 }).catch(() => {}),
    ],
  ]) {
    it(name, async () => {
      const { client, remoteEnd } = link();
      const call = client.request("late", [], { timeout: SOON });
      const { id } = await remoteEnd.next();
      remoteEnd.post({ jsonrpc: "2.0", result: "here", id });
      block(1.5 * SOON);
      next(client);
      assert.equal(await call, "here");
    });
  }

  it("does not keep other calls from timing out", async () => {
    const { client, remoteEnd } = link();
    const [first, second] = ["a", "b"].map((method) => client.request(method, [], { timeout: SOON }));
    const { id } = await remoteEnd.next();
    remoteEnd.post({ jsonrpc: "2.0", result: "here", id });
    block(1.5 * SOON);
    assert.equal((await rejection(second)).reason, "timeout");
    assert.equal(await first, "here");
  });
});
