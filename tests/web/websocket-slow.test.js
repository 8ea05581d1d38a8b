// Connections that are alive but slow: a message needs longer to arrive than the heartbeat waits.

import { assert } from "chai";
import { connectTo, requestsIn, startServer } from "./support/sockets.js";
import { inNode } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { pause, rejection, until } from "./support/outcomes.js";

/** The times within which the ends by the heartbeat expected an answer, in ms. */
const waitsOf = (ends) => ends.map(({ data }) => Number(/no answer to rpc.ping within (\d+) ms/.exec(data.reason)[1]));

describe("a client over a slow WebSocket", () => {
  if (inNode)
    it("keeps the connection while the bytes of a message arrive", async function () {
      this.timeout(40_000);
      const server = await startServer();
      const { peer, named } = connectTo(await server.slowUrl({ down: 100_000 }), { heartbeat: 1_000 });
      const result = await peer.request("large", [500_000], { timeout: 30_000 });
      assert.lengthOf(result, 500_000);
      assert.deepEqual(named("onLost"), []);
      assert.lengthOf(requestsIn(await server.log(), "large"), 1);
    });
  // A page does not see the bytes of a message before the last of them has arrived.
  else
    it("waits longer on each connection that repeats an idempotent call, until its large response arrives", async function () {
      this.timeout(60_000);
      const server = await startServer();
      const { peer, named } = connectTo(await server.slowUrl({ down: 50_000 }), { heartbeat: 500 });
      const result = await peer.request("large", [150_000], { timeout: 0, idempotent: true });
      assert.lengthOf(result, 150_000);
      const waits = waitsOf(named("onLost"));
      assert.isAtLeast(waits.length, 1);
      assert.isAtMost(waits.length, 4);
      assert.deepEqual(waits, [500, 1_000, 2_000, 4_000].slice(0, waits.length));
    });

  if (inNode)
    it("ends the connection if only pings of the WebSocket protocol arrive", async () => {
      const { WebSocketServer } = await import("ws");
      const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
      afterThisTest(() => {
        for (const socket of server.clients) socket.terminate();
        server.close();
      });
      await new Promise((listening) => server.once("listening", listening));
      server.on("connection", (socket) => {
        const pings = setInterval(() => socket.ping(), 20);
        socket.on("close", () => clearInterval(pings));
      });
      const { peer, named } = connectTo(`ws://127.0.0.1:${server.address().port}`, { heartbeat: 1_000 });
      const call = rejection(peer.request("add", [1, 2], { timeout: 0 }));
      await until(() => named("onLost").length > 0, "the connection did not end", 10_000);
      assert.equal((await call).reason, "session-ended");
    });

  // Firefox shows only whole messages that were sent. WebKit regards bytes as sent when its network process has them.
  if (inNode || /Chrome/.test(navigator.userAgent))
    it("keeps the connection while the bytes of a large request leave", async function () {
      this.timeout(90_000);
      const server = await startServer();
      // The system itself buffers several megabytes, which the client cannot see.
      const url = await server.slowUrl({ up: 2_500_000 });
      const { peer, named } = connectTo(url, { heartbeat: 4_000, maxMessage: 64_000_000 });
      assert.isAbove(await peer.request("length", ["x".repeat(32_000_000)], { timeout: 80_000 }), 32_000_000);
      assert.deepEqual(named("onLost"), []);
    });

  it("doubles the allowed silence each time that it ends the connection, up to eight heartbeats, until no call is pending", async function () {
    this.timeout(60_000);
    const server = await startServer();
    await server.set({ isMute: true });
    const { peer, named, session } = connectTo(server.url, { heartbeat: 100 });
    const controller = new AbortController();
    const { signal } = controller;
    const call = rejection(peer.request("never", [], { timeout: 0, idempotent: true, signal }));
    await until(() => named("onLost").length === 5, "the connection must end five times", 30_000);
    assert.deepEqual(waitsOf(named("onLost")), [100, 200, 400, 800, 800]);
    await session(6);
    controller.abort();
    await call;
    const callOnce = async () => {
      await pause(500);
      return rejection(peer.request("never", [], { timeout: 0 }));
    };
    // A check of the heartbeat must notice that no call is pending. On a busy machine, the first checks may be late.
    let next;
    for (let attempt = 1; attempt <= 5 && waitsOf([(next = await callOnce())])[0] !== 100; attempt++);
    assert.deepEqual(waitsOf([next]), [100]);
    assert.include(next.message, "raise heartbeat");
  });
});
