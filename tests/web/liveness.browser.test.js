// How a peer notices that the other peer has ended without a goodbye, and the events that must not look like an end.

import { assert } from "chai";
import { connected, recordSessions, hexId, scriptedPort } from "./support/connections.js";
import { connectingIframe, origins } from "./support/iframes.js";
import { worker } from "./support/workers.js";
import { afterThisTest } from "./support/cleanup.js";
import { isPending, pause, rejection, until } from "./support/outcomes.js";

const file = "connect-worker.js";

/** Returns the reason of a rejection, and the time in milliseconds until the rejection. */
async function timedRejection(promise) {
  const start = performance.now();
  const error = await rejection(promise);
  return [error.reason, performance.now() - start];
}

/** Repeats a call until the blocked peer responds. Returns the result. */
async function resultAfterBlock(peer, ...call) {
  for (;;) {
    try {
      return await peer.request(...call);
    } catch ({ reason }) {
      assert.equal(reason, "unresponsive");
    }
  }
}

/** Waits until this peer has requested the lock that the other peer holds. */
async function untilLockRequested(peer) {
  await peer.request("echo");
  const pending = async () => (await navigator.locks.query()).pending.some(({ name }) => name.startsWith("portway:"));
  for (let n = 0; !(await pending()); n++) {
    if (n > 200) assert.fail("the lock was not requested");
    await pause(10);
  }
}

describe("if both peers can see each other's locks,", () => {
  for (const [how, end] of [
    ["is terminated", ({ started }) => started.terminate()],
    ["closes itself", ({ peer }) => peer.notify("close")],
  ]) {
    it(`pending calls to a worker end within a second after the worker ${how}`, async () => {
      const started = worker(file);
      const sessions = recordSessions({ heartbeat: 0 });
      const peer = await connected(started, sessions);
      await untilLockRequested(peer);
      const hanging = timedRejection(peer.request("hang", [], { timeout: 0 }));
      await peer.request("echo");
      end({ started, peer });
      const [reason, ms] = await hanging;
      assert.equal(reason, "peer-gone");
      assert.isBelow(ms, 1_000);
      assert.equal((await rejection(peer.request("echo"))).reason, "peer-gone");
      assert.deepEqual(sessions.events, [1, "peer-gone"]);
    });
  }

  for (const [when, act] of Object.entries({
    "right after connect resolves": () => {},
    "right after its first response": (peer) => peer.request("echo"),
  })) {
    for (const [kind, connectTo] of Object.entries({
      "a worker": (started) => connected(started, { heartbeat: 0 }),
      "a worker connected through a port": async (started) => {
        const { port1, port2 } = new MessageChannel();
        started.postMessage({ port: port2 }, [port2]);
        return connected(port1, { heartbeat: 0 });
      },
    })) {
      it(`pending calls end within a second if ${kind} is terminated ${when}, in each of 12 attempts`, async () => {
        for (let n = 0; n < 12; n++) {
          const started = worker(file, kind === "a worker" ? {} : { port: "" });
          const peer = await connectTo(started);
          await act(peer);
          const hanging = timedRejection(peer.request("hang", [], { timeout: 0 }));
          started.terminate();
          const [reason, ms] = await hanging;
          assert.equal(reason, "peer-gone");
          assert.isBelow(ms, 1_000);
          peer.destroy();
        }
      }).timeout(30_000);
    }
  }

  it("a worker stays in its session while it is blocked for longer than the heartbeat", async () => {
    const sessions = recordSessions({ heartbeat: 150 });
    const peer = await connected(worker(file), sessions);
    await untilLockRequested(peer);
    await peer.request("block", [1_200]);
    assert.deepEqual(sessions.events, [1]);
  });

  it("a destroyed peer releases its lock, and no longer requests the lock of the other peer", async () => {
    const before = await navigator.locks.query();
    const peer = await connected(worker(file));
    await untilLockRequested(peer);
    peer.destroy();
    const count = async () => {
      const { held, pending } = await navigator.locks.query();
      return held.length + pending.length;
    };
    while ((await count()) > before.held.length + before.pending.length) await pause(10);
  });

  it("a worker that sends a goodbye can connect again: the release of its lock has no effect", async () => {
    const sessions = recordSessions();
    const peer = await connected(worker(file), sessions);
    await untilLockRequested(peer);
    peer.notify("again");
    await until(() => sessions.events.length === 3);
    assert.deepEqual(sessions.events, [1, "session-ended", 2]);
  });
});

/** Steals and releases the locks of all sessions, as another script of this origin can. */
async function stealLocks() {
  const { held } = await navigator.locks.query();
  const names = held.map(({ name }) => name).filter((name) => name.startsWith("portway:"));
  assert.isNotEmpty(names);
  await Promise.all(names.map((name) => navigator.locks.request(name, { steal: true }, () => {})));
}

describe("a stolen lock", () => {
  for (const [kind, target] of [
    ["a worker", () => worker(file)],
    ["an iframe", () => connectingIframe()],
  ]) {
    it(`does not end the session with ${kind} if the peer still responds, and a later end of the peer is noticed`, async () => {
      const sessions = recordSessions({ heartbeat: 900 });
      const started = target();
      const peer = await connected(started, sessions);
      await untilLockRequested(peer);
      const call = peer.request("sleep", [1_500], { timeout: 0 });
      await stealLocks();
      assert.equal(await call, null);
      assert.deepEqual(await peer.request("echo", [1]), [1]);
      assert.deepEqual(sessions.events, [1]);
      const hanging = timedRejection(peer.request("hang", [], { timeout: 0 }));
      await peer.request("echo");
      if (started.terminate) started.terminate();
      else started.remove();
      const [reason, ms] = await hanging;
      assert.include(["unresponsive", "peer-gone"], reason);
      assert.isBelow(ms, 2_000);
    });
  }

  it("does not end the session if this page is blocked for a second, and the worker responds afterwards", async () => {
    const sessions = recordSessions();
    const peer = await connected(worker(file), sessions);
    await untilLockRequested(peer);
    await stealLocks();
    await pause(150);
    const end = performance.now() + 1_000;
    while (performance.now() < end);
    await pause(700);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    assert.deepEqual(sessions.events, [1]);
  });
});

describe("if the peer has no locks,", () => {
  it("pending calls end as unresponsive about one heartbeat after the worker is terminated", async () => {
    const started = worker(file, { lockless: 1 });
    const peer = await connected(started, { heartbeat: 600 });
    const hanging = timedRejection(peer.request("hang", [], { timeout: 0 }));
    await peer.request("echo");
    started.terminate();
    const [reason, ms] = await hanging;
    assert.equal(reason, "unresponsive");
    assert.isBelow(ms, 1_500);
  });

  it("a blocked worker is unresponsive, and later responsive again in the same session", async () => {
    const sessions = recordSessions({ heartbeat: 300 });
    const peer = await connected(worker(file, { lockless: 1 }), sessions);
    const blocked = rejection(peer.request("block", [1_500], { timeout: 0 }));
    assert.equal((await blocked).reason, "unresponsive");
    assert.deepEqual(await resultAfterBlock(peer, "echo", [1]), [1]);
    assert.deepEqual(sessions.events, [1]);
  });

  it("requests of an unresponsive peer still get their responses", async () => {
    let finish;
    const methods = { slow: () => new Promise((resolve) => (finish = resolve)), name: () => "page" };
    const peer = await connected(worker(file, { lockless: 1 }), { heartbeat: 300, methods });
    const outcome = peer.request("relay", ["slow"], { timeout: 0 }).catch(({ reason }) => reason);
    await until(() => finish !== undefined);
    assert.equal((await rejection(peer.request("block", [1_200], { timeout: 0 }))).reason, "unresponsive");
    finish("late");
    assert.equal(await outcome, "unresponsive");
    assert.equal(await resultAfterBlock(peer, "relayed"), "late");
  });

  it("the heartbeat keeps a session open while no other messages are exchanged", async () => {
    const sessions = recordSessions({ heartbeat: 600 });
    const peer = await connected(worker(file, { lockless: 1, heartbeat: 600 }), sessions);
    const call = peer.request("sleep", [2_400], { timeout: 0 });
    assert.equal(await call, null);
    assert.deepEqual(sessions.events, [1]);
  });

  it("a heartbeat that is too short for a response is replaced by a longer heartbeat", async () => {
    for (const heartbeat of [0.1, 1, 5]) {
      const peer = await connected(worker(file, { lockless: 1 }), { heartbeat });
      assert.equal(await peer.request("sleep", [300], { timeout: 0 }), null);
    }
  });

  it("a blocked thread of this page does not end the session", async () => {
    const peer = await connected(worker(file, { lockless: 1 }), { heartbeat: 300 });
    const call = peer.request("sleep", [1_500], { timeout: 0 });
    for (let n = 0; n < 3; n++) {
      const end = performance.now() + 400;
      while (performance.now() < end);
      await pause(1);
    }
    assert.equal(await call, null);
  });

  it("an iframe of another origin or without an origin stays in its session, because it responds to pings", async () => {
    for (const [query, options, iframeOptions] of [
      [{ origin: origins.own }, { origin: origins.other }, { origin: origins.other }],
      [{ origin: origins.own }, { origin: "null" }, { sandbox: "allow-scripts" }],
    ]) {
      const peer = await connected(connectingIframe(query, iframeOptions), { ...options, heartbeat: 600 });
      assert.equal(await peer.request("sleep", [1_600], { timeout: 0 }), null);
    }
  });

  it("no ping is sent periodically if the heartbeat is 0", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port, { heartbeat: 0 });
    const end = await scriptedPeer.open();
    const peer = await connecting;
    const call = peer.request("silence", [], { timeout: 0 });
    call.catch(() => {});
    assert.isTrue(await isPending(call, 200));
    // One ping is sent when the session begins.
    assert.equal(end.received.filter(({ method }) => method === "rpc.ping").length, 1);
  });
});

describe("a silent peer", () => {
  it("gets a ping before it counts as unresponsive, and later calls are still sent", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port, { heartbeat: 300 });
    const end = await scriptedPeer.open();
    const peer = await connecting;
    const [reason, ms] = await timedRejection(peer.request("a", [], { timeout: 0 }));
    assert.equal(reason, "unresponsive");
    assert.isAbove(ms, 190);
    assert.isAtLeast(end.received.filter(({ method }) => method === "rpc.ping").length, 2);
    const call = peer.request("b", [], { timeout: 0 });
    const isCallOfB = ({ method }) => method === "b";
    await until(() => end.received.some(isCallOfB));
    end.answer(end.received.find(isCallOfB), "there");
    assert.equal(await call, "there");
  });

  it("is responsive if it responds with a pong", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port, { heartbeat: 900 });
    const end = await scriptedPeer.open();
    const peer = await connecting;
    const call = peer.request("a", [], { timeout: 0 });
    let pongs = 0;
    while (pongs < 6) {
      if ((await end.next()).method !== "rpc.ping") continue;
      end.post({ jsonrpc: "2.0", method: "rpc.pong" });
      pongs++;
    }
    assert.isTrue(await isPending(call, 10));
    call.catch(() => {});
  });

  it("gets a pong if it sends a ping", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port);
    const end = await scriptedPeer.open();
    await connecting;
    end.post({ jsonrpc: "2.0", method: "rpc.ping" });
    assert.deepEqual(await end.notification("rpc.pong"), { jsonrpc: "2.0", method: "rpc.pong" });
  });
});

describe("a lock that the peer announces", () => {
  it("does not replace the heartbeat if the peer does not hold the lock", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port, { heartbeat: 300 });
    const end = await scriptedPeer.open();
    const peer = await connecting;
    end.post({ jsonrpc: "2.0", method: "rpc.lock" });
    assert.equal((await rejection(peer.request("a", [], { timeout: 0 }))).reason, "unresponsive");
  });

  it("does not replace the heartbeat of a session over a port if this page itself holds the lock", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port, { heartbeat: 300 });
    const end = await scriptedPeer.open({ session: hexId(4) });
    let release;
    await new Promise((granted) => {
      navigator.locks.request(`portway:${hexId(4)}`, () => (granted(), new Promise((resolve) => (release = resolve))));
    });
    afterThisTest(() => release());
    const peer = await connecting;
    end.post({ jsonrpc: "2.0", method: "rpc.lock" });
    await pause(50);
    assert.equal((await rejection(peer.request("a", [], { timeout: 5_000 }))).reason, "unresponsive");
  });

  it("ends the session when it is released without a goodbye", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const sessions = recordSessions();
    const connecting = connected(port, sessions);
    let release;
    const session = "1234".repeat(8);
    await new Promise((granted) => {
      navigator.locks.request(`portway:${session}`, () => (granted(), new Promise((resolve) => (release = resolve))));
    });
    afterThisTest(() => release());
    const end = await scriptedPeer.open({ session });
    const peer = await connecting;
    end.post({ jsonrpc: "2.0", method: "rpc.lock" });
    const hanging = timedRejection(peer.request("a", [], { timeout: 0 }));
    const isLockRequested = async () =>
      (await navigator.locks.query()).pending.some(({ name }) => name.endsWith(session));
    while (!(await isLockRequested())) await pause(10);
    release();
    const [reason, ms] = await hanging;
    assert.equal(reason, "peer-gone");
    assert.isBelow(ms, 1_000);
  });
});
