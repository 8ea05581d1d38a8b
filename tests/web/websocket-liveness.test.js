// How a client notices that its connection has ended without a close frame, or that its server does not respond. The
// tests stop and kill real processes.

import { assert } from "chai";
import { connectTo, requestsIn, startServer } from "./support/sockets.js";
import { afterThisTest } from "./support/cleanup.js";
import { inNode } from "./support/portway.js";
import { pause, rejection, until } from "./support/outcomes.js";

const noDelay = { base: 0, cap: 0 };

describe("a client over a WebSocket", () => {
  it("ends its pending calls within a second if the server is killed", async () => {
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

  /** Returns a test. The test makes the server silent with `silence`, and checks that a pending call ends. */
  const endsCalls = (silence) =>
    async function () {
      this.timeout(30_000);
      const server = await startServer();
      const { peer, session } = connectTo(server.url, { reconnect: noDelay });
      await session();
      await silence(server);
      const start = performance.now();
      const error = await rejection(peer.request("never", [], { timeout: 25_000 }));
      const passed = performance.now() - start;
      assert.equal(error.reason, "session-ended");
      assert.match(error.data.reason, /no answer to rpc.ping within 4500 ms/);
      assert.isAbove(passed, 6_500);
      // The timers of a busy machine are late, and the heartbeat does not count the time by which a timer is late.
      assert.isBelow(passed, 15_000);
    };

  it(
    "ends its calls within ten seconds if the server reads but does not respond",
    endsCalls((server) => server.set({ isMute: true })),
  );
  it(
    "ends its calls within ten seconds if the process of the server is stopped",
    endsCalls((server) => server.signal("SIGSTOP")),
  );

  it("replaces the connection to a stopped server, and ignores later events of the old connection", async () => {
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
    // The server now reads the close frame of the abandoned connection.
    await server.logOnce((log) => log[0].closed !== undefined);
    await server.signal("SIGKILL");
    assert.deepEqual(await peer.request("echo", [3]), [3]);
    assert.equal(named("onSession").length, 2);
    assert.deepEqual(
      events.map(({ name }) => name),
      ["onSession", "onLost", "onRetry", "onSession"],
    );
  });

  it("keeps the connection while the server responds to rpc.ping, however late the result of a call is", async () => {
    const server = await startServer();
    const { peer, session, named } = connectTo(server.url, { heartbeat: 600 });
    await session();
    assert.equal(await peer.request("slow", [2_400], { timeout: 8_000 }), "late");
    assert.equal(named("onLost").length, 0);
    const pings = requestsIn(await server.log(), "rpc.ping");
    assert.isAtLeast(pings.length, 2);
    for (const text of pings) assert.equal(JSON.parse(text).id, "rpc.ping");
    // A server that never sent rpc.ping or rpc.pong gets a ping only while a call is pending.
    await pause(1_200);
    assert.isAtMost(requestsIn(await server.log(), "rpc.ping").length, pings.length + 1);
    assert.equal(peer.ignored, 0);
  });

  it("sends no ping to a silent server, and calls end by their timeouts, if the heartbeat is off", async () => {
    const server = await startServer();
    await server.set({ isMute: true });
    const { peer, named } = connectTo(server.url, { heartbeat: false });
    assert.equal((await rejection(peer.request("never", [], { timeout: 1_000 }))).reason, "timeout");
    assert.equal(named("onLost").length, 0);
    assert.equal(requestsIn(await server.log(), "rpc.ping").length, 0);
  });

  it("sends pings without a pending call after the server has sent rpc.ping", async () => {
    const server = await startServer();
    const { session, named } = connectTo(server.url, { heartbeat: 150 });
    await session();
    await server.command("send", { text: '{"jsonrpc":"2.0","method":"rpc.ping"}' });
    const [{ received }] = await server.logOnce(([{ received }]) => received.some((text) => text.includes("rpc.ping")));
    assert.deepEqual(JSON.parse(received[0]), { jsonrpc: "2.0", method: "rpc.pong" });
    assert.deepEqual(JSON.parse(received[1]), { jsonrpc: "2.0", method: "rpc.ping" });
    // The server does not answer the notification rpc.ping, so the client abandons the connection.
    await until(() => named("onLost").length === 1);
  });

  it("keeps the connection after this thread was blocked for longer than the heartbeat", async () => {
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

  it("keeps the connection while timers are late, as in a hidden page", async () => {
    const server = await startServer();
    await server.set({ isMute: true });
    const { setTimeout } = globalThis;
    const { peer, session, named } = connectTo(server.url, { heartbeat: 100 });
    await session();
    // Browsers delay the timers of hidden pages. Here, the timers of the heartbeat are 300 ms late.
    globalThis.setTimeout = (callback, ms, ...args) => setTimeout(callback, ms < 50 ? ms + 300 : ms, ...args);
    afterThisTest(() => {
      globalThis.setTimeout = setTimeout;
    });
    const call = peer.request("never", [], { timeout: 0 }).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    assert.equal(named("onLost").length, 0);
    globalThis.setTimeout = setTimeout;
    await until(() => named("onLost").length === 1, "the silence was not noticed after the timers were on time again");
    await call;
  });

  it("ends an attempt after connectTimeout if the server does not respond to the handshake", async () => {
    const server = await startServer();
    await server.set({ upgrades: "hang" });
    const { peer, named } = connectTo(server.url, { connectTimeout: 200 });
    const call = peer.request("echo", ["after all"]);
    await until(() => named("onRetry").length >= 2);
    assert.match(named("onRetry")[0].reason, /no connection within 200 ms/);
    await server.set({ upgrades: "accept" });
    assert.deepEqual(await call, ["after all"]);
    // The abandoned attempts have not become connections.
    assert.equal((await server.log()).length, 1);
  });

  it("doubles the delay after each attempt that the server refuses", async () => {
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

  it("doubles the delay after each connection that is lost soon after it opens", async () => {
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

describe("a client over a WebSocket that listens to the events of its page", () => {
  const dispatch = (type, members) => globalThis.dispatchEvent(Object.assign(new Event(type), members));
  const slow = { reconnect: { base: 60_000, cap: 60_000, jitter: (delay) => delay } };

  if (inNode) {
    it("makes calls in Node, which has no such events", async () => {
      const server = await startServer();
      const { peer } = connectTo(server.url);
      assert.deepEqual(await peer.request("echo", []), []);
    });
    return;
  }

  it("makes one attempt to connect at once, and no second attempt soon afterwards, if `online` is dispatched repeatedly", async () => {
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

  it("sends a ping at once if a call is pending when `online` is dispatched", async () => {
    const server = await startServer();
    const { peer, session } = connectTo(server.url);
    await session();
    const call = peer.request("never").catch(() => {});
    await server.logOnce((log) => requestsIn(log, "never").length === 1);
    for (let n = 0; n < 5; n++) dispatch("online");
    await server.logOnce((log) => requestsIn(log, "rpc.ping").length >= 1);
    peer.destroy();
    await call;
  });

  it("sends a ping at once if a call is pending when `visibilitychange` is dispatched", async () => {
    const server = await startServer();
    const { peer, session } = connectTo(server.url);
    await session();
    const call = peer.request("never").catch(() => {});
    await server.logOnce((log) => requestsIn(log, "never").length === 1);
    // Browsers dispatch this event at the document, and it bubbles.
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
    await server.logOnce((log) => requestsIn(log, "rpc.ping").length >= 1);
    peer.destroy();
    await call;
  });

  it("closes the connection when the page enters the back/forward cache, and opens the next connection when the page returns", async () => {
    const server = await startServer();
    const { peer, session, named } = connectTo(server.url, slow);
    await session();
    const call = rejection(peer.request("never"));
    dispatch("pagehide", { persisted: true });
    assert.equal((await call).reason, "session-ended");
    const log = await server.logOnce(([{ closed }]) => closed !== undefined);
    assert.deepEqual(log[0].closed, { code: 1000, reason: "this page was left" });
    const queuedCall = peer.request("echo", ["thawed"]);
    dispatch("pageshow", { persisted: true });
    assert.deepEqual(await queuedCall, ["thawed"]);
    assert.equal(named("onSession").length, 2);
  });

  it("closes the transport when the page enters the back/forward cache if reconnect is false", async () => {
    const server = await startServer();
    const { peer, session, named, transport } = connectTo(server.url, { reconnect: false });
    await session();
    dispatch("pagehide", { persisted: true });
    assert.equal(transport.state, "closed");
    dispatch("pageshow", { persisted: true });
    assert.equal((await rejection(peer.request("echo", []))).reason, "peer-gone");
    assert.equal(named("onEnd").length, 1);
    assert.equal((await server.logOnce(([{ closed }]) => closed !== undefined)).length, 1);
  });

  it("ignores the events after destroy()", async () => {
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
