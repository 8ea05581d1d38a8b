// Several connections on one target: the newest connection permanently replaces all older ones.

import { assert } from "chai";
import { connect } from "./support/portway.js";
import { reconnect, connected, recordSessions, hexId, ports, scriptedPort } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { pause, rejection, until } from "./support/outcomes.js";

const echo = { echo: (params) => params };
const replacedMessage = /another connection has taken its place/;

describe("of two connections on one target,", () => {
  for (const peerAfter of [0, 15, 60, 300]) {
    it(`the newer one keeps its session if the peer connects ${peerAfter} ms later, whether or not the older one was destroyed`, async () => {
      // The random ids of the hellos determine the order of the handshake. The trials cover different orders.
      const trials = Array.from({ length: 16 }, async (_, n) => {
        const [near, far] = ports();
        const sessions = recordSessions();
        const olderOutcome = connect(near, sessions).then(
          (peer) => (afterThisTest(() => peer.destroy()), n % 2 && peer.destroy(), peer),
          (error) => error,
        );
        await pause(n);
        const connecting = connected(near, { methods: { name: () => "newer" } });
        await pause(peerAfter);
        const peer = await connected(far, { methods: echo });
        const newer = await connecting;
        const outcome = await olderOutcome;
        if (outcome instanceof Error) assert.match(outcome.message, replacedMessage);
        await pause(200);
        assert.deepEqual(await newer.request("echo", [n]), [n]);
        assert.equal(await peer.request("name"), "newer");
        const error = await rejection(
          Promise.resolve(outcome instanceof Error ? Promise.reject(outcome) : outcome.request("echo")),
        );
        assert.include(["peer-gone", "destroyed"], error.reason);
      });
      await Promise.all(trials);
    });
  }

  it("the older one fails at once if it has no session yet, and a response to its hello is ignored", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const olderRejection = rejection(connect(port, { connectTimeout: 0 }));
    const first = await scriptedPeer.nextHello();
    const newer = connected(port);
    const error = await olderRejection;
    assert.equal(error.reason, "peer-gone");
    assert.match(error.message, replacedMessage);
    // The older connection has ended, so this response to its hello has no effect.
    scriptedPeer.accept(first);
    const end = await scriptedPeer.open();
    const peer = await newer;
    const call = peer.request("echo");
    end.post({ jsonrpc: "2.0", id: (await end.nextCall()).id, result: "newer" });
    assert.equal(await call, "newer");
  });

  it("the older one keeps its session until the peer begins a session with the newer one", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const sessions = recordSessions();
    const connecting = connected(port, sessions);
    const end = await scriptedPeer.open();
    const older = await connecting;
    const newer = rejection(connect(port, { connectTimeout: 100 }));
    const call = older.request("echo");
    end.post({ jsonrpc: "2.0", id: (await end.nextCall()).id, result: "still here" });
    assert.equal(await call, "still here");
    assert.equal((await newer).reason, "no-answer");
    // The session ends after the newer connection has failed, so the older one connects again.
    end.bye();
    await until(() => sessions.events.length === 2);
    const next = await reconnect(scriptedPeer);
    const second = older.request("echo");
    next.post({ jsonrpc: "2.0", id: (await next.nextCall()).id, result: "again" });
    assert.equal(await second, "again");
    assert.deepEqual(sessions.events, [1, "session-ended", 2]);
  });

  it("the older one ends permanently if its session ends while the newer one is connecting", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const sessions = recordSessions();
    const connecting = connected(port, sessions);
    const end = await scriptedPeer.open();
    const older = await connecting;
    const newer = connected(port);
    end.bye();
    await until(() => sessions.events.length === 2);
    assert.deepEqual(sessions.events, [1, "peer-gone"]);
    assert.match((await rejection(older.request("echo"))).message, replacedMessage);
    const next = await scriptedPeer.open({ session: hexId(2) });
    const call = (await newer).request("echo");
    next.post({ jsonrpc: "2.0", id: (await next.nextCall()).id, result: "newer" });
    assert.equal(await call, "newer");
  });

  it("both stay connected if their channels differ", async () => {
    const [near, far] = ports();
    const peers = await Promise.all(
      ["a", "b"].flatMap((channel) => [
        connected(near, { channel, methods: echo }),
        connected(far, { channel, methods: echo }),
      ]),
    );
    for (const [n, peer] of peers.entries()) assert.deepEqual(await peer.request("echo", [n]), [n]);
  });
});
