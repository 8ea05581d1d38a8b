// `connect` between a Node program and its worker threads.

import { assert } from "chai";
import { Worker } from "node:worker_threads";
import { JSONRPCClient, connect, workerTransport } from "./support/portway.js";
import { connected, recordSessions } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

/** Starts a thread, and ends it after the test. `query` has options for the fixture. */
function thread(query = {}, file = "connect-thread.mjs") {
  const started = new Worker(new URL(`fixtures/${file}`, import.meta.url), {
    workerData: String(new URLSearchParams(query)),
  });
  afterThisTest(() => started.terminate());
  return started;
}

describe("a worker thread and its program", () => {
  it("connect, and calls work both ways", async () => {
    const peer = await connected(thread(), { methods: { name: ([n]) => `main ${n}` } });
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    assert.deepEqual(await peer.request("callBack", [1]), ["back", "main 1"]);
    const bytes = new Uint8Array([1, 2, 3]);
    const { length } = await peer.request("take", { bytes }, { transfer: [bytes.buffer] });
    assert.deepEqual([length, bytes.byteLength], [3, 0]);
  });

  it("deliver the messages of a long turn at once", async () => {
    const flag = new SharedArrayBuffer(4);
    const received = [];
    const notifications = {
      step([step]) {
        received.push(step);
        Atomics.store(new Int32Array(flag), 0, step);
        Atomics.notify(new Int32Array(flag), 0);
      },
    };
    const peer = await connected(thread(), { notifications });
    assert.equal(await peer.request("stepwise", [flag, 3]), "heard");
    assert.deepEqual(received, [1, 2, 3]);
  });

  it("deliver the last messages of the thread even if it exits in the same turn", async () => {
    const received = [];
    const peer = await connected(thread(), { notifications: { step: ([step]) => void received.push(step) } });
    const call = rejection(peer.request("compute", [5, 0, "exit"]));
    assert.equal((await call).reason, "peer-gone");
    assert.deepEqual(received, [0, 1, 2, 3, 4]);
  });

  it("connect if the thread starts slowly", async () => {
    assert.deepEqual(await (await connected(thread({ late: 300 }))).request("echo", [1]), [1]);
  });

  it("begin a new session when either of them reconnects", async () => {
    const started = thread();
    const sessions = recordSessions();
    const peer = await connected(started, sessions);
    // The thread destroys its peer and connects again.
    peer.notify("again");
    await until(() => sessions.events.length === 3);
    assert.deepEqual(sessions.events, [1, "session-ended", 2]);
    peer.destroy();
    assert.deepEqual(await (await connected(started)).request("echo", [2]), [2]);
  });

  it("connect without a session if the thread has a plain peer", async () => {
    const started = new Worker(new URL("fixtures/node-worker.mjs", import.meta.url));
    afterThisTest(() => started.terminate());
    const peer = await connected(started, { methods: { name: () => "main" } });
    assert.deepEqual(await peer.request("callBack"), ["back", "main"]);
  });

  for (const [how, end, causeMessage] of [
    ["is terminated", (started) => started.terminate()],
    ["ends itself", (_, peer) => peer.notify("exit")],
    ["throws", (_, peer) => peer.notify("throwLater"), "missing is not defined"],
  ]) {
    it(`end their connection at once and permanently if the thread ${how}`, async () => {
      const started = thread();
      const sessions = recordSessions({ heartbeat: 0 });
      const peer = await connected(started, sessions);
      const hanging = rejection(peer.request("hang", [], { timeout: 0 }));
      await peer.request("echo");
      const start = performance.now();
      end(started, peer);
      const { reason, cause } = await hanging;
      assert.deepEqual([reason, cause?.message], ["peer-gone", causeMessage]);
      assert.isBelow(performance.now() - start, 1_000);
      assert.equal((await rejection(peer.request("echo"))).reason, "peer-gone");
      assert.deepEqual(sessions.events, [1, "peer-gone"]);
    });
  }

  it("deliver the last response of the thread even if the thread exits while the program is busy", async () => {
    for (let n = 0; n < 5; n++) {
      const peer = await connected(thread());
      const answer = peer.request("lastAnswer", [], { timeout: 0 });
      const hanging = rejection(peer.request("hang", [], { timeout: 0 }));
      const end = performance.now() + 400;
      while (performance.now() < end);
      assert.equal(await answer, "the last");
      assert.equal((await hanging).reason, "peer-gone");
    }
  });

  it("cause no warning about listeners if the program connects on 20 channels; destroy() restores the limit of a port", async () => {
    const warnings = [];
    const onWarning = (warning) => warnings.push(warning.name);
    process.on("warning", onWarning);
    afterThisTest(() => process.off("warning", onWarning));
    const { port1, port2 } = new MessageChannel();
    const started = thread();
    const limit = started.getMaxListeners();
    const peers = [];
    for (let n = 0; n < 20; n++) {
      const channel = String(n);
      const [one, other] = await Promise.all([
        connected(port1, { channel }),
        connected(port2, { channel, methods: { n: () => n } }),
      ]);
      assert.equal(await one.request("n"), n);
      peers.push(one, other);
      const controller = new AbortController();
      const connecting = rejection(connect(started, { channel: `none ${n}`, signal: controller.signal }));
      afterThisTest(() => (controller.abort(), connecting));
    }
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(warnings, []);
    peers.forEach((peer) => peer.destroy());
    await until(() => port1.getMaxListeners() === 10);
    assert.isAbove(started.getMaxListeners(), limit);
    port1.close();
  });

  it("cannot connect if the thread has already exited: connect rejects at once", async () => {
    const started = thread();
    const peer = await connected(started);
    await started.terminate();
    const failure = await rejection(connect(started, { connectTimeout: 0 }));
    assert.deepEqual(
      [failure.reason, failure.message],
      ["worker-failed", "the worker has not started: it has ended already"],
    );
    const client = new JSONRPCClient(workerTransport(started), { timeout: 0 });
    assert.equal((await rejection(client.request("echo"))).reason, "peer-gone");
    client.destroy();
    peer.destroy();
  });

  it("disconnect by destroy(), which removes the listeners and does not end the thread", async () => {
    const started = thread();
    const count = () => ["message", "messageerror", "error", "exit"].map((name) => started.listenerCount(name));
    const before = count();
    const peer = await connected(started);
    peer.destroy();
    assert.deepEqual(count(), before);
    assert.deepEqual(await (await connected(started)).request("echo", [1]), [1]);
  });
});

it("connect fails at once if the thread exits before it has sent a message", async () => {
  for (const [query, file] of [[{ throws: 1 }], [{}, "no-such-thread.mjs"]]) {
    const { reason, message, cause } = await rejection(connect(thread(query, file), { connectTimeout: 0 }));
    assert.equal(reason, "worker-failed");
    assert.equal(message, `the worker has not started: ${cause.message}`);
    assert.match(message, /throws at its start|no-such-thread/);
  }
});
