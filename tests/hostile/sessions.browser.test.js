// Tests that messages of a session do not reach the next document, and that forged locks neither begin nor end a
// session.

import { assert } from "chai";
import { afterThisTest } from "../web/support/cleanup.js";
import { connected } from "../web/support/connections.js";
import { deferred, pause, rejection, until } from "../web/support/outcomes.js";
import { connect } from "../web/support/portway.js";
import { origins, party } from "./support/parties.js";

describe("a handler that still runs after its session has ended", function () {
  this.timeout(30_000);

  for (const allowed of ["each of two origins", "any origin"]) {
    it(`sends nothing to the next document, and the host reports an error, if ${allowed} may connect`, async () => {
      const mayProceed = deferred();
      const done = deferred();
      const sessions = [];
      const reports = [];
      const frame = await party("friend");
      const connecting = connected(frame.element, {
        origin: allowed === "any origin" ? "*" : [origins.friend, origins.third],
        connectTimeout: 30_000,
        onSession: ({ origin }) => void sessions.push(origin),
        onError: (error) => reports.push(error),
        methods: {
          async job(_, context) {
            await mayProceed.promise;
            context.notify("secret", { from: "a notification" });
            context.progress({ secret: "progress" });
            done.resolve();
            return { secret: "a result" };
          },
          async *items(_, context) {
            await mayProceed.promise;
            yield { secret: "an item" };
            context.notify("secret", { from: "a stream" });
            yield { secret: "another item" };
          },
        },
      });
      await frame.run(() => sendHello(parent));
      await connecting;
      await frame.run(() => {
        session.port.postMessage(message({ id: 1, method: "job" }));
        session.port.postMessage(message({ id: 2, method: "rpc.stream", params: { method: "items", credit: 100 } }));
      });
      await pause(100);
      const next = await frame.load("third");
      await next.run(() => sendHello(parent));
      await until(() => sessions.length === 2, "the next document must get a session");
      // The next document uses the ids of the former requests, so it would accept their responses.
      await next.run(() => session.port.postMessage(message({ id: 1, method: "unknown" })));
      mayProceed.resolve();
      await done.promise;
      await pause(200);
      const got = await next.run(() => session.received.flat());
      assert.deepEqual(
        got.filter((one) => JSON.stringify(one).includes("secret")),
        [],
      );
      assert.deepEqual(
        got.filter(({ id }) => id === 1).map(({ error }) => error?.code),
        [-32601],
      );
      assert.isAtLeast(reports.length, 1, "the dropped messages must be reported");
    });
  }
});

describe("a plain session", function () {
  this.timeout(30_000);

  it("accepts only the origin with which it began, although a second origin is allowed", async () => {
    const events = [];
    const frame = await party("friend");
    const connecting = connect(frame.element, {
      origin: [origins.friend, origins.third],
      connectTimeout: 30_000,
      onError: () => {},
      onSession: ({ origin }) => void events.push(["session", origin]),
      onLost: () => void events.push(["lost"]),
      methods: { secret: ([from]) => void events.push(["called", from]) },
    });
    await frame.run(async () => {
      const { hello, origin } = await nextHello(parent);
      parent.postMessage(message({ id: hello.id, error: { code: -32601, message: "Method not found" } }), origin);
    });
    const peer = await connecting;
    afterThisTest(() => peer.destroy());
    await frame.run(() => parent.postMessage(message({ id: 1, method: "secret", params: [origin] }), "*"));
    await until(() => events.some(([event]) => event === "called"), "the friend must be served");
    const next = await frame.load("third");
    await next.run(() => parent.postMessage(message({ id: 2, method: "secret", params: [origin] }), "*"));
    await pause(1_500);
    let session;
    for (const [event, from] of events) {
      if (event === "session") session = from;
      else if (event === "lost") session = undefined;
      else assert.equal(from, session, `${from} was served in the session with ${session}`);
    }
  });
});

describe("a lock", function () {
  this.timeout(30_000);

  /**
   * Connects to a peer of another origin. The peer names the lock of `session` as its own, and then sends nothing more.
   * By default, the peer names the lock of the host.
   */
  async function connectToPeerNaming(session, connectTimeout) {
    const frame = await party("friend");
    const connecting = connect(frame.element, { origin: origins.friend, heartbeat: 500, connectTimeout, onError() {} });
    connecting.catch(() => {});
    await frame.run(async (session) => {
      const { port1, port2 } = new MessageChannel();
      const { hello, origin } = await nextHello(parent);
      const result = { session: session ?? hello.id, version: 1, features: [], port: port2 };
      parent.postMessage(message({ id: hello.id, result }), origin, [port2]);
      port1.start();
      for (let n = 0; n < 5; n++) port1.postMessage(message({ method: "rpc.lock" }));
    }, session);
    return connecting;
  }

  it("of the host begins no session if the peer names this lock as its own", async () => {
    assert.equal((await rejection(connectToPeerNaming(undefined, 2_000))).reason, "no-answer");
  });

  it("of another session does not stop the heartbeat if a silent peer names this lock as its own", async () => {
    const name = "b".repeat(32);
    const release = deferred();
    const acquired = deferred();
    navigator.locks.request(`portway:${name}`, () => (acquired.resolve(), release.promise));
    await acquired.promise;
    afterThisTest(() => release.resolve());
    const peer = await connectToPeerNaming(name, 30_000);
    afterThisTest(() => peer.destroy());
    const started = performance.now();
    const { reason } = await Promise.race([
      rejection(peer.request("any", [], { timeout: 0 })),
      pause(8_000).then(() => ({ reason: "none: the call is still pending" })),
    ]);
    assert.equal(reason, "unresponsive");
    assert.isBelow(performance.now() - started, 4_000);
  });

  it("that another document of the origin steals does not end the session if the peer answers pings", async () => {
    const [frame, thief] = [await party("host"), await party("host")];
    const lost = [];
    const connecting = connected(frame.element, {
      connectTimeout: 30_000,
      onLost: ({ reason }) => void lost.push(reason),
    });
    await frame.run(() => connectTo(parent, {}));
    const peer = await connecting;
    // During this pause, the host and the iframe begin to watch each other's lock.
    await pause(500);
    const stolen = await thief.run(async () => {
      const names = (await navigator.locks.query()).held
        .map(({ name }) => name)
        .filter((name) => name.startsWith("portway:"));
      for (const name of names) await navigator.locks.request(name, { steal: true }, () => {}).catch(() => {});
      return names.length;
    });
    assert.isAtLeast(stolen, 2);
    await pause(1_500);
    assert.deepEqual(lost, []);
    assert.deepEqual(await frame.run(() => events.filter((event) => "lost" in event)), []);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });
});
