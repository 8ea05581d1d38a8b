// Connections that die without a close frame, and servers that hang. Processes are stopped and killed for real.

import { assert } from "chai";
import { connectTo, requestsIn, startServer } from "./support/sockets.js";
import { afterThisTest } from "./support/cleanup.js";
import { inNode } from "./support/portway.js";
import { pause, rejection, until } from "./support/outcomes.js";

const noDelay = { base: 0, cap: 0 };

describe("The end of a WebSocket", () => {
  it("is noticed within a second if the server is killed (R25)", async () => {
    const server = await startServer();
    const { peer, session } = connectTo(server.url);
    await session();
    const call = rejection(peer.request("never"));
    await server.logOnce((log) => requestsIn(log, "never").length === 1);
    const start = performance.now();
    await server.signal("SIGKILL");
    const error = await call;
    assert.equal(error.reason, "session-ended");
    assert.equal(error.data.code, 1006);
    assert.isBelow(performance.now() - start, 1_000);
  });

  const isNoticed = (act) =>
    async function () {
      this.timeout(30_000);
      const server = await startServer();
      const { peer, session } = connectTo(server.url, { reconnect: noDelay });
      await session();
      await act(server);
      const start = performance.now();
      const error = await rejection(peer.request("never", [], { timeout: 25_000 }));
      const passed = performance.now() - start;
      assert.equal(error.reason, "session-ended");
      assert.match(error.data.reason, /no answer to rpc.ping within 4500 ms/);
      assert.isAbove(passed, 6_500);
      // The timers of a busy machine are late, and the time of a late timer does not count.
      assert.isBelow(passed, 15_000);
    };

  it(
    "a server that is mute is noticed within ten seconds",
    isNoticed((server) => server.set({ isMute: true })),
  );
  it(
    "a server that is stopped is noticed within ten seconds",
    isNoticed((server) => server.signal("SIGSTOP")),
  );

  it("abandons a stopped server: its late events go nowhere, and the calls go to the next connection", async () => {
    const server = await startServer();
    const other = await startServer();
    const urls = [server.url, other.url];
    const { peer, session, named, events } = connectTo(() => urls.shift() ?? other.url, { heartbeat: 100 });
    await session();
    await server.signal("SIGSTOP");
    assert.equal((await rejection(peer.request("never"))).reason, "session-ended");
    await session(2);
    assert.deepEqual(await peer.request("echo", [2]), [2]);
    await server.signal("SIGCONT");
    // The old connection ends by the close frame that waited for the server, or with its process.
    await server.logOnce((log) => log[0].closed !== undefined);
    await server.signal("SIGKILL");
    assert.deepEqual(await peer.request("echo", [3]), [3]);
    assert.equal(named("onSession").length, 2);
    assert.deepEqual(
      events.map(({ name }) => name),
      ["onSession", "onLost", "onRetry", "onSession"],
    );
  });

  it("is not assumed while the server answers rpc.ping, however late the result is", async () => {
    const server = await startServer();
    const { peer, session, named } = connectTo(server.url, { heartbeat: 200 });
    await session();
    assert.equal(await peer.request("slow", [2_000], { timeout: 8_000 }), "late");
    assert.equal(named("onLost").length, 0);
    const pings = requestsIn(await server.log(), "rpc.ping");
    assert.isAtLeast(pings.length, 2);
    for (const text of pings) assert.equal(JSON.parse(text).id, "rpc.ping");
    // Without a pending call, a plain peer is not asked.
    await pause(600);
    assert.isAtMost(requestsIn(await server.log(), "rpc.ping").length, pings.length + 1);
    assert.equal(peer.ignored, 0);
  });

  it("is not assumed if the heartbeat is off", async () => {
    const server = await startServer();
    await server.set({ isMute: true });
    const { peer, named } = connectTo(server.url, { heartbeat: false });
    assert.equal((await rejection(peer.request("never", [], { timeout: 1_000 }))).reason, "timeout");
    assert.equal(named("onLost").length, 0);
    assert.equal(requestsIn(await server.log(), "rpc.ping").length, 0);
  });

  it("is asked about without a pending call, once the peer has answered or sent rpc.ping", async () => {
    const server = await startServer();
    const { session, named } = connectTo(server.url, { heartbeat: 150 });
    await session();
    await server.command("send", { text: '{"jsonrpc":"2.0","method":"rpc.ping"}' });
    const [{ received }] = await server.logOnce(([{ received }]) => received.some((text) => text.includes("rpc.ping")));
    assert.deepEqual(JSON.parse(received[0]), { jsonrpc: "2.0", method: "rpc.pong" });
    assert.deepEqual(JSON.parse(received[1]), { jsonrpc: "2.0", method: "rpc.ping" });
    // The server answers requests only, so it is dead for a peer of Portway.
    await until(() => named("onLost").length === 1);
  });

  it("is not assumed after time in which this thread did not run: the peer is asked first", async () => {
    const server = await startServer();
    const { peer, session, named } = connectTo(server.url, { heartbeat: 300 });
    await session();
    const call = peer.request("slow", [1_500], { timeout: 8_000 });
    await server.logOnce((log) => requestsIn(log, "slow").length === 1);
    const end = performance.now() + 1_200;
    while (performance.now() < end);
    assert.equal(await call, "late");
    assert.equal(named("onLost").length, 0);
  });

  it("is not assumed if timers run once a minute, as in a background tab (case 153)", async () => {
    const server = await startServer();
    await server.set({ isMute: true });
    const { setTimeout } = globalThis;
    const { peer, session, named } = connectTo(server.url, { heartbeat: 100 });
    await session();
    // Each timer of the heartbeat is late by many intervals, as browsers do it for hidden pages.
    globalThis.setTimeout = (run, ms, ...args) => setTimeout(run, ms < 50 ? ms + 300 : ms, ...args);
    afterThisTest(() => {
      globalThis.setTimeout = setTimeout;
    });
    const call = peer.request("never", [], { timeout: 0 }).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    assert.equal(named("onLost").length, 0);
    globalThis.setTimeout = setTimeout;
    await until(() => named("onLost").length === 1, "the silence in time that counts was not noticed");
    await call;
  });

  it("is noticed by an attempt that hangs in the handshake: it ends after the connect timeout", async () => {
    const server = await startServer();
    await server.set({ upgrades: "hang" });
    const { peer, named } = connectTo(server.url, { connectTimeout: 200 });
    const call = peer.request("echo", ["after all"]);
    await until(() => named("onRetry").length >= 2);
    assert.match(named("onRetry")[0].reason, /no connection within 200 ms/);
    await server.set({ upgrades: "accept" });
    assert.deepEqual(await call, ["after all"]);
    // The attempts that were abandoned did not become connections.
    assert.equal((await server.log()).length, 1);
  });

  it("is noticed by an attempt that is refused: the client backs off", async () => {
    const server = await startServer();
    await server.set({ upgrades: "503" });
    const { peer, named } = connectTo(server.url, { reconnect: { base: 10, cap: 1_000, jitter: (delay) => delay } });
    const call = peer.request("echo", [1]);
    await until(() => named("onRetry").length >= 4);
    const delays = named("onRetry").map(({ delay }) => delay);
    assert.deepEqual(delays.slice(0, 4), [10, 20, 40, 80]);
    await server.set({ upgrades: "accept" });
    assert.deepEqual(await call, [1]);
  });

  it("within a moment of its beginning does not reset the delays", async () => {
    const server = await startServer();
    const { session, named } = connectTo(server.url, { reconnect: { base: 10, cap: 1_000, jitter: (delay) => delay } });
    for (let n = 1; n <= 4; n++) {
      await session(n);
      await server.command("terminate");
      await until(() => named("onRetry").length === n);
    }
    assert.deepEqual(
      named("onRetry").map(({ delay }) => delay),
      [10, 20, 40, 80],
    );
  });
});

describe("Events of the page", () => {
  const dispatch = (type, members) => globalThis.dispatchEvent(Object.assign(new Event(type), members));
  const slow = { reconnect: { base: 60_000, cap: 60_000, jitter: (delay) => delay } };

  if (inNode) {
    it("do not exist in Node, where nothing listens to them", async () => {
      const server = await startServer();
      const { peer } = connectTo(server.url);
      assert.deepEqual(await peer.request("echo", []), []);
    });
    return;
  }

  it("such as online start one attempt at once, and a flood of them no more", async () => {
    const server = await startServer();
    const { session, named } = connectTo(server.url, slow);
    await session();
    await server.command("terminate");
    await until(() => named("onRetry").length === 1);
    for (let n = 0; n < 50; n++) dispatch("online");
    await session(2);
    await server.command("terminate");
    await until(() => named("onRetry").length === 2);
    for (let n = 0; n < 50; n++) dispatch("online");
    await pause(200);
    assert.equal((await server.log()).length, 2);
  });

  it("such as online ask the peer at once while a call waits", async () => {
    const server = await startServer();
    const { peer, session } = connectTo(server.url);
    await session();
    const call = peer.request("never").catch(() => {});
    await server.logOnce((log) => requestsIn(log, "never").length === 1);
    for (let n = 0; n < 5; n++) dispatch("online");
    document.dispatchEvent(new Event("visibilitychange"));
    await server.logOnce((log) => requestsIn(log, "rpc.ping").length >= 1);
    peer.destroy();
    await call;
  });

  it("such as pagehide into the back/forward cache close the connection, and pageshow opens the next one", async () => {
    const server = await startServer();
    const { peer, session, named } = connectTo(server.url, slow);
    await session();
    const call = rejection(peer.request("never"));
    dispatch("pagehide", { persisted: true });
    assert.equal((await call).reason, "session-ended");
    const log = await server.logOnce(([{ closed }]) => closed !== undefined);
    assert.deepEqual(log[0].closed, { code: 1000, reason: "this page was left" });
    const waiting = peer.request("echo", ["thawed"]);
    dispatch("pageshow", { persisted: true });
    assert.deepEqual(await waiting, ["thawed"]);
    assert.equal(named("onSession").length, 2);
  });

  it("are no longer heard after destroy()", async () => {
    const server = await startServer();
    const { peer, session } = connectTo(server.url);
    await session();
    peer.destroy();
    dispatch("pageshow", { persisted: true });
    dispatch("online");
    await pause(100);
    assert.equal((await server.log()).length, 1);
  });
});
