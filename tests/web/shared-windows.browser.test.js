// Several clients and servers with transports of their own on one window.

import { assert } from "chai";
import { frame, origins } from "./rig/frames.js";
import { rejection } from "./rig/outcomes.js";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, windowTransport } from "./rig/portway.js";
import { describeSharedBoundary } from "./rig/shared-boundary.js";

for (const [kind, origin] of [["of the page's origin", origins.own], ["of another origin", origins.other]]) {
  describe(`clients and servers on the window of a frame ${kind}`, () => {
    describeSharedBoundary(async () => {
      const element = await frame("frame.html", { origin, query: { origin: origins.own } });
      const target = element.contentWindow;
      const asker = new JSONRPCClient(windowTransport(target, { origin }));
      return {
        transport: () => windowTransport(target, { origin }),
        ask: (method) => asker.request("ask", [method]),
        tell: (method, params) => asker.notify("notifyBack", params),
        close() {
          asker.destroy();
          element.remove();
        },
      };
    });
  });
}

describe("transports on one window that allow other origins", () => {
  it("do not mix answers, and a method that one of them serves is known", async () => {
    const origin = origins.other;
    const element = await frame("frame.html", { origin, query: { origin: origins.own } });
    const ways = [origin, [origin, origins.own], "*"];
    const peers = ways.map((origin, n) => {
      return new JSONRPCPeer(windowTransport(element.contentWindow, { origin })).method(`own ${n}`, () => n);
    });
    const answers = peers.map((peer, n) => peer.request("later", [30 - 10 * n, n]));
    assert.deepEqual(await Promise.all(answers), [0, 1, 2]);
    const asked = peers.map((peer, n) => peer.request("ask", [`own ${(n + 1) % 3}`]));
    assert.deepEqual(await Promise.all(asked), [1, 2, 0]);
    assert.equal((await rejection(peers[0].request("ask", ["none of them"]))).code, -32601);
    peers.forEach((peer) => peer.destroy());
  });

  it("say that a method is unknown to an origin that its server does not allow", async () => {
    const element = await frame("frame.html", { origin: origins.other, query: { origin: origins.own } });
    const target = element.contentWindow;
    const peer = new JSONRPCPeer(windowTransport(target, { origin: origins.other })).method("open", () => "open");
    const server = new JSONRPCServer(windowTransport(target, { origin: origins.neighbour })).method("secret", () => "secret");
    assert.equal(await peer.request("ask", ["open"]), "open");
    assert.equal((await rejection(peer.request("ask", ["secret"]))).code, -32601);
    peer.destroy();
    server.destroy();
  });
});
