// `connect` between a page and its worker.

import { assert } from "chai";
import { connect } from "./support/portway.js";
import { connected, recordSessions, recordListeners, countTimers } from "./support/connections.js";
import { readyWorker, worker } from "./support/workers.js";
import { rejection, until } from "./support/outcomes.js";

const file = "connect-worker.js";

describe("a worker and its page", () => {
  it("connect, and calls work both ways", async () => {
    const peer = await connected(worker(file), { methods: { name: ([n]) => `page ${n}` } });
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    assert.deepEqual(await peer.request("callBack", [1]), ["back", "page 1"]);
    const bytes = new Uint8Array([1, 2, 3]);
    const { length } = await peer.request("take", { bytes }, { transfer: [bytes.buffer] });
    assert.deepEqual([length, bytes.byteLength], [3, 0]);
  });

  it("connect if the worker starts slowly", async () => {
    const peer = await connected(worker(file, { late: 400, wasm: "/pkg/portway_bg.wasm?delay=200" }));
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });

  it("connect only if the names of their channels are equal, and send nothing to other listeners", async () => {
    const started = worker(file, { channel: "build" });
    const notes = [];
    started.addEventListener("message", ({ data }) => data?.type && notes.push(data.type));
    const peer = await connected(started, { channel: "build" });
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    assert.equal((await rejection(connect(started, { connectTimeout: 100 }))).reason, "no-answer");
    assert.deepEqual(await peer.request("echo", [2]), [2]);
    assert.deepEqual(notes, []);
  });

  it("begin a new session when either of them reconnects", async () => {
    const started = worker(file);
    const sessions = recordSessions();
    const peer = await connected(started, sessions);
    // The worker destroys its peer and connects again.
    peer.notify("again");
    await until(() => sessions.events.length === 3);
    assert.deepEqual(sessions.events, [1, "session-ended", 2]);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    peer.destroy();
    const second = await connected(started);
    assert.deepEqual(await second.request("echo", [2]), [2]);
  });

  it("connect without a session if the worker has a plain server", async () => {
    const peer = await connected(await readyWorker("worker.js"), { methods: { name: () => "page" } });
    assert.deepEqual(await peer.request("callBack"), ["back", "page"]);
  });

  it("connect without a session if the plain server of the worker loads late", async () => {
    const peer = await connected(worker("early-worker.js", { wasm: "/pkg/portway_bg.wasm?delay=200" }));
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });

  it("disconnect by destroy(), which removes the listeners and does not end the worker", async () => {
    const started = worker(file);
    const listeners = recordListeners(started);
    const peer = await connected(started);
    assert.isAbove(listeners.length, 0);
    peer.destroy();
    assert.deepEqual(listeners, []);
    assert.deepEqual(await (await connected(started)).request("echo", [1]), [1]);
  });
});

describe("connect fails at once", () => {
  for (const [name, make] of Object.entries({
    "does not exist": () => worker("no-such-worker.js"),
    "throws at its start": () => worker(file, { throws: 1 }),
  })) {
    it(`if the script of the worker ${name}; no listener or timer remains`, async () => {
      const started = make();
      // Without preventDefault(), the error would also be an error of the page.
      started.addEventListener("error", (event) => event.preventDefault());
      const [listeners, timers] = [recordListeners(started), countTimers()];
      const { reason, cause } = await rejection(connect(started, { connectTimeout: 0 }));
      assert.equal(reason, "worker-failed");
      assert.isDefined(cause);
      assert.deepEqual(listeners, []);
      await timers.allEnd();
    });
  }

  it("if the wasm of the worker is missing; the error states the reason", async () => {
    const { reason, message } = await rejection(connect(worker("early-worker.js", { wasm: "/nowhere.wasm" })));
    assert.equal(reason, "refused");
    assert.equal(message, "portway could not start");
  });
});

describe("an error in a running worker", () => {
  it("does not end the session", async () => {
    const started = worker(file);
    const peer = await connected(started);
    const errorEvent = new Promise((resolve) =>
      started.addEventListener("error", (event) => (event.preventDefault(), resolve())),
    );
    peer.notify("throwLater");
    await errorEvent;
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });
});
