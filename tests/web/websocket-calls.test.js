// The outcomes of calls and notifications over a WebSocket that opens, is lost, or is closed.

import { assert } from "chai";
import { CallError, RPCError } from "./support/portway.js";
import { connectTo, requestsIn, startServer } from "./support/sockets.js";
import { isPending, pause, rejection, until } from "./support/outcomes.js";

/** Returns the value or the error of each promise. */
const outcomes = (promises) =>
  Promise.allSettled(promises).then((all) => all.map(({ reason, value }) => reason ?? value));

describe("a client over a WebSocket", () => {
  it("gets responses to its calls, even to a call that it made before the connection opened", async () => {
    const server = await startServer();
    const { peer, transport, named } = connectTo(server.url);
    assert.deepEqual(await peer.request("echo", ["early"]), ["early"]);
    assert.deepEqual(await peer.request("echo", { a: "ü" }), { a: "ü" });
    assert.instanceOf(await rejection(peer.request("none")), RPCError);
    assert.deepEqual(
      await peer.batch([
        { method: "echo", params: [1] },
        { method: "echo", params: [2] },
      ]),
      [
        { status: "fulfilled", value: [1] },
        { status: "fulfilled", value: [2] },
      ],
    );
    assert.deepEqual(named("onSession"), [{ number: 1, url: server.url, protocol: "" }]);
    assert.equal(transport.state, "open");
  });

  it("rejects its sent calls with the code and the reason when the connection closes, and does not send the calls again", async () => {
    const server = await startServer();
    const { peer, session, named } = connectTo(server.url);
    await session();
    const calls = Array.from({ length: 20 }, (_, n) => peer.request("never", [n]));
    const callOutcomes = outcomes(calls);
    await server.logOnce((log) => requestsIn(log, "never").length === 20);
    await server.command("close", { code: 1001, reason: "going" });
    for (const error of await callOutcomes) {
      assert.instanceOf(error, CallError);
      assert.equal(error.reason, "session-ended");
      assert.deepEqual(error.data, { code: 1001, reason: "going", wasClean: true });
    }
    await session(2);
    await peer.request("echo", []);
    assert.equal(requestsIn(await server.log(), "never").length, 20);
    assert.deepEqual(
      named("onLost").map(({ reason, data }) => [reason, data.code]),
      [["session-ended", 1001]],
    );
  });

  it("sends pending idempotent calls again, once over each new connection, and no other calls", async () => {
    const server = await startServer();
    await server.set({ isMute: true });
    const { peer, session } = connectTo(server.url);
    await session();
    const repeated = peer.request("echo", ["again"], { idempotent: true });
    const once = rejection(peer.request("echo", ["once"]));
    await server.logOnce((log) => requestsIn(log, "echo").length === 2);
    await server.command("terminate");
    await session(2);
    assert.equal((await once).reason, "session-ended");
    await server.logOnce((log) => requestsIn(log, "echo").length === 3);
    await server.set({ isMute: false });
    await server.command("terminate");
    assert.deepEqual(await repeated, ["again"]);
    const texts = requestsIn(await server.log(), "echo");
    assert.equal(texts.filter((text) => text.includes("again")).length, 3);
    assert.equal(texts.filter((text) => text.includes("once")).length, 1);
  });

  for (const coalesce of [true, "columns"]) {
    const option = `coalesce: ${JSON.stringify(coalesce)}`;

    it(`sends only its idempotent calls again, once each, with the option ${option}`, async () => {
      const server = await startServer();
      await server.set({ isMute: true });
      const { peer, session } = connectTo(server.url, {}, { coalesce });
      await session();
      const names = ["first", "once", "a", "b"];
      const calls = names.map((name) => peer.request("echo", [name], { idempotent: name.length === 1 }));
      const callOutcomes = outcomes(calls);
      await server.logOnce(([{ received }]) => received.some((text) => text.includes('"b"')));
      await server.set({ isMute: false });
      await server.command("terminate");
      const [first, once, ...results] = await callOutcomes;
      assert.deepEqual([first.reason, once.reason], ["session-ended", "session-ended"]);
      assert.deepEqual(results, [["a"], ["b"]]);
      const [, { received }] = await server.log();
      assert.deepEqual(
        received.flatMap((text) => JSON.parse(text)).map(({ params }) => params[0]),
        ["a", "b"],
      );
    });

    it(`sends all calls that it made before the connection opened, with the option ${option}`, async () => {
      const server = await startServer();
      const { peer } = connectTo(server.url, {}, { coalesce });
      const calls = Array.from({ length: 300 }, (_, n) => peer.request("echo", [n], { timeout: 3_000 }));
      assert.deepEqual(
        await outcomes(calls),
        calls.map((_, n) => [n]),
      );
    });

    it(`rejects a large call with too-large if a notification precedes it, with the option ${option}`, async () => {
      const server = await startServer();
      const { peer, session } = connectTo(server.url, {}, { coalesce });
      await session();
      const first = rejection(peer.request("never"));
      for (let n = 0; n < 40; n++) peer.notify("note", ["x".repeat(500)]);
      const call = rejection(peer.request("never", ["y"]));
      await server.logOnce(([{ received }]) => received.length === 2);
      await server.command("close", { code: 1009, reason: "too big" });
      assert.equal((await first).reason, "session-ended");
      assert.equal((await call).reason, "too-large");
    });
  }

  it("sends an idempotent call at most ten times", async function () {
    this.timeout(30_000);
    const server = await startServer();
    const { peer, named } = connectTo(server.url);
    const error = await rejection(peer.request("end", [], { timeout: 0, idempotent: true }));
    assert.equal(error.reason, "session-ended");
    assert.equal(named("onLost").length, 10);
    assert.deepEqual(await peer.request("echo", ["next"]), ["next"]);
    assert.lengthOf(requestsIn(await server.log(), "end"), 10);
  });

  it("does not send an idempotent call again if the call has a response or was aborted", async () => {
    const server = await startServer();
    const { peer, session } = connectTo(server.url);
    await session();
    await peer.request("echo", ["answered"], { idempotent: true });
    const controller = new AbortController();
    const aborted = rejection(peer.request("never", ["aborted"], { idempotent: true, signal: controller.signal }));
    await server.logOnce((log) => requestsIn(log, "never").length === 1);
    controller.abort();
    await aborted;
    await server.command("terminate");
    await session(2);
    await peer.request("echo", ["last"]);
    const second = (await server.log())[1].received;
    assert.deepEqual(second.length, 1, String(second));
  });

  it("queues calls while no connection is open, and does not send queued calls that have ended", async () => {
    const server = await startServer();
    const { peer, session, named } = connectTo(server.url);
    await session();
    await server.signal("SIGKILL");
    await until(() => named("onLost").length === 1);
    const controller = new AbortController();
    const queuedCall = peer.request("echo", ["waits"]);
    const aborted = rejection(peer.request("echo", ["aborted"], { signal: controller.signal }));
    const timedOut = rejection(peer.request("echo", ["timed out"], { timeout: 20 }));
    const batch = peer.batch([{ method: "echo", params: ["in a batch"] }]);
    controller.abort();
    assert.equal((await aborted).name, "AbortError");
    assert.equal((await timedOut).reason, "timeout");
    assert.isTrue(await isPending(queuedCall));
    await server.restart();
    assert.deepEqual(await queuedCall, ["waits"]);
    assert.equal((await batch)[0].value[0], "in a batch");
    const texts = (await server.log()).flatMap(({ received }) => received);
    assert.equal(texts.filter((text) => /aborted|timed out|cancel/.test(text)).length, 0, String(texts));
  });

  const offline = () => connectTo("ws://127.0.0.1:9/", { reconnect: { base: 60_000, jitter: (delay) => delay } });

  it("queues at most 1 000 calls for the next connection: a further call rejects", async () => {
    const { peer } = offline();
    const calls = Array.from({ length: 1_000 }, () => peer.request("echo", []));
    const callOutcomes = outcomes(calls);
    assert.equal((await rejection(peer.request("echo", []))).reason, "too-many-calls");
    // After a queued call has ended, another call can be queued.
    const controller = new AbortController();
    const other = offline();
    const first = rejection(other.peer.request("echo", [], { signal: controller.signal }));
    const others = Array.from({ length: 999 }, () => other.peer.request("echo", []).catch(() => {}));
    controller.abort();
    await first;
    assert.isTrue(await isPending(other.peer.request("echo", []).catch(() => {})));
    peer.destroy();
    other.peer.destroy();
    for (const { reason } of await callOutcomes) assert.equal(reason, "destroyed");
    await Promise.all(others);
  });

  it("queues at most 2^20 characters of calls for the next connection: a further call rejects", async () => {
    const { peer } = offline();
    const half = "x".repeat(2 ** 19 - 100);
    const calls = outcomes([peer.request("echo", [half]), peer.request("echo", [half])]);
    assert.equal((await rejection(peer.request("echo", ["x".repeat(200)]))).reason, "too-many-calls");
    peer.destroy();
    await calls;
    const { peer: other } = offline();
    assert.isTrue(await isPending(other.request("echo", ["x".repeat(2 ** 21)]).catch(() => {})));
  });

  it("rejects pending calls, and later calls at once, if the close code forbids further connections", async () => {
    for (const code of [1008, 4401]) {
      const server = await startServer();
      const { peer, session, named, transport } = connectTo(server.url);
      await session();
      const call = rejection(peer.request("never"));
      await server.logOnce((log) => requestsIn(log, "never").length === 1);
      await server.command("close", { code, reason: "no entry" });
      const error = await call;
      assert.equal(error.reason, "peer-gone");
      assert.deepEqual(error.data, { code, reason: "no entry", wasClean: true });
      assert.equal((await rejection(peer.request("echo", []))).data.code, code);
      assert.equal(transport.state, "closed");
      assert.equal(named("onEnd").length, 1);
      assert.equal(named("onRetry").length, 0);
      assert.equal((await server.log()).length, 1);
    }
  });

  it("connects again after a close with the code 1000, 1006 or 1012, and makes calls over the new connection", async () => {
    const server = await startServer();
    const { peer, named, session } = connectTo(server.url, { reconnect: { base: 10, cap: 50, restart: 20 } });
    await session();
    for (const [n, code] of [1000, 1006, 1012].entries()) {
      await server.command(code === 1006 ? "terminate" : "close", { code, reason: "" });
      await session(n + 2);
      assert.deepEqual(await peer.request("echo", [code]), [code]);
    }
    const [normal, abnormal, restart] = named("onRetry");
    assert.deepEqual([normal.code, abnormal.code], [1000, 1006]);
    // WebKit reports the code 1006 in place of 1012.
    assert.include([1006, 1012], restart.code);
    if (restart.code === 1012) assert.isAtLeast(restart.delay, 20);
  });

  it("connects again only if shouldReconnect returns true, whatever the code is", async () => {
    const server = await startServer();
    const seen = [];
    const shouldReconnect = (closing) => {
      seen.push(closing);
      return closing.code === 4403;
    };
    const { session, named, transport } = connectTo(server.url, { shouldReconnect });
    await session();
    await server.command("close", { code: 4403, reason: "a" });
    await session(2);
    await server.command("close", { code: 1000, reason: "b" });
    await until(() => transport.state === "closed");
    assert.deepEqual(seen, [
      { code: 4403, reason: "a", wasClean: true, attempt: 0, hasOpened: true },
      { code: 1000, reason: "b", wasClean: true, attempt: 1, hasOpened: true },
    ]);
    assert.equal(named("onEnd").length, 1);
  });

  it("rejects its longest call with too-large after a close with the code 1009, even if the call is idempotent", async () => {
    const server = await startServer();
    await server.set({ isMute: true });
    const { peer, session } = connectTo(server.url);
    await session();
    const small = rejection(peer.request("never", ["x"]));
    const large = rejection(peer.request("never", ["x".repeat(200_000)], { idempotent: true }));
    const medium = peer.request("length", ["y".repeat(50_000)], { idempotent: true });
    await server.logOnce((log) => log[0].received.length === 3);
    await server.set({ isMute: false });
    await server.command("close", { code: 1009, reason: "too big" });
    assert.equal((await small).reason, "session-ended");
    assert.equal((await large).reason, "too-large");
    assert.equal(await medium, 50_004);
    assert.equal(requestsIn(await server.log(), "never").length, 2);
  });

  it("does not report a request of the peer as too large if the longest call has the same id", async () => {
    const server = await startServer();
    const { peer, session, errors } = connectTo(server.url);
    await session();
    const contexts = [];
    peer.method("work", (_, context) => (contexts.push(context), new Promise(() => {})));
    // In the log, long texts are cut before their id. So the test computes the next id: each id is greater by one.
    await peer.request("echo", []);
    const id = JSON.parse(requestsIn(await server.log(), "echo")[0]).id + 1;
    const large = rejection(peer.request("never", ["x".repeat(200_000)]));
    await server.logOnce((log) => requestsIn(log, "never").length === 1);
    for (const each of [id, 0])
      await server.command("send", { text: JSON.stringify({ jsonrpc: "2.0", method: "work", id: each }) });
    await until(() => contexts.length === 2);
    await server.command("close", { code: 1009, reason: "too big" });
    assert.equal((await large).reason, "too-large");
    for (const context of contexts) context.notify("late");
    assert.deepEqual(
      errors.map(({ reason, method }) => [reason, method]),
      [
        ["session-ended", "work"],
        ["session-ended", "work"],
      ],
    );
  });

  it("rejects its calls when it is destroyed, and makes no further attempt to connect", async () => {
    const server = await startServer();
    const { peer, session, named, transport } = connectTo(server.url, {
      reconnect: { base: 100, jitter: (delay) => delay },
    });
    await session();
    await server.command("terminate");
    await until(() => named("onRetry").length === 1);
    const call = rejection(peer.request("echo", []));
    peer.destroy();
    assert.equal((await call).reason, "destroyed");
    assert.equal(transport.state, "closed");
    await pause(300);
    assert.equal((await server.log()).length, 1);
    assert.equal(named("onSession").length, 1);
  });

  it("leaves no connection open if it is destroyed while the connection opens", async () => {
    const server = await startServer();
    const { peer, named } = connectTo(server.url);
    await Promise.resolve();
    peer.destroy();
    await pause(100);
    assert.equal(named("onSession").length, 0);
    for (const { closed } of await server.log()) assert.isDefined(closed);
  });

  it("closes with 1000 in place of a code that browsers refuse, and shortens the reason to at most 123 bytes", async () => {
    const cases = [
      [1001, "é".repeat(62), 1000, "é".repeat(61)],
      [4001, "bye", 4001, "bye"],
      [3000, `${"a".repeat(121)}😀`, 3000, "a".repeat(121)],
      [1006, "", 1000, ""],
      [5000, "a\u{1f600}".repeat(40), 1000, `${"a\u{1f600}".repeat(24)}a`],
    ];
    for (const [code, reason, sentCode, sentReason] of cases) {
      const server = await startServer();
      const { peer, session, transport, named } = connectTo(server.url);
      await session();
      const call = rejection(peer.request("never"));
      transport.close(code, reason);
      const log = await server.logOnce(([connection]) => connection.closed !== undefined);
      assert.deepEqual(log[0].closed, { code: sentCode, reason: sentReason });
      assert.equal((await call).reason, "peer-gone");
      assert.equal((await rejection(peer.request("echo", []))).reason, "peer-gone");
      assert.equal(named("onLost").length + named("onEnd").length, 0);
    }
  });

  it("rejects a call after close() of the transport", async () => {
    const server = await startServer();
    const { peer, session, transport } = connectTo(server.url);
    await session();
    transport.close();
    assert.equal((await rejection(peer.request("echo", []))).reason, "peer-gone");
  });
});

describe("notifications over a WebSocket", () => {
  it("are queued until the first connection opens, and are sent in order with calls", async () => {
    const server = await startServer();
    const { peer } = connectTo(server.url);
    peer.notify("first", [1]);
    const call = peer.request("echo", [2]);
    await call;
    const [{ received }] = await server.log();
    assert.deepEqual(
      received.map((text) => JSON.parse(text).method),
      ["first", "echo"],
    );
  });

  it("fail between two connections, or are queued if queueNotifications is true", async () => {
    for (const queueNotifications of [false, true]) {
      const server = await startServer();
      let error;
      const onLost = () => {
        // In this callback, certainly no connection is open. Later, the next connection may be open.
        try {
          peer.notify("later", [1]);
        } catch (thrown) {
          error = thrown;
        }
      };
      const { peer, session } = connectTo(server.url, { queueNotifications, onLost });
      await session();
      await server.command("terminate");
      await session(2);
      if (queueNotifications) assert.isUndefined(error);
      else {
        assert.instanceOf(error, CallError);
        assert.include(error.message, "no connection: set queueNotifications");
      }
      await peer.request("echo", []);
      assert.equal(requestsIn(await server.log(), "later").length, queueNotifications ? 1 : 0);
    }
  });
});
