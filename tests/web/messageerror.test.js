// If a received message cannot be deserialized, the library reports this to the application, and the link still works.
// No message is unreadable in all engines, so these tests dispatch the event `messageerror` themselves.
// `messageerror.browser.test.js` has real messages.

import { assert } from "chai";
import { JSONRPCPeer, broadcastTransport, inNode, portTransport, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connected, hexId, scriptedPort } from "./support/connections.js";
import { RemoteEnd } from "./support/transports.js";
import { printed } from "./support/console.js";
import { pause, rejection } from "./support/outcomes.js";

const text = "received a message that could not be deserialized";

/** Dispatches the event that an engine dispatches for a message that it cannot deserialize. */
function fire(target) {
  target.dispatchEvent(inNode ? new Event("messageerror") : new MessageEvent("messageerror"));
}

/** Returns a target that exchanges messages over `port`. Like a worker, it is not a port and has no `start`. */
function asWorker(port) {
  const target = new EventTarget();
  target.postMessage = (message, transfer) => port.postMessage(message, transfer);
  port.addEventListener("message", ({ data }) => target.dispatchEvent(Object.assign(new Event("message"), { data })));
  port.start();
  return target;
}

function channel() {
  const { port1, port2 } = new MessageChannel();
  afterThisTest(() => [port1, port2].forEach((port) => port.close()));
  return [port1, port2];
}

const boundaries = {
  "a port": () => {
    const [near, far] = channel();
    return { target: near, transport: portTransport(near), remoteEnd: new RemoteEnd(far) };
  },
  "a worker": () => {
    const [near, far] = channel();
    const target = asWorker(near);
    return { target, transport: workerTransport(target), remoteEnd: new RemoteEnd(far) };
  },
  "a BroadcastChannel": () => {
    const name = `unreadable ${Math.random()}`;
    const [target, far] = [new BroadcastChannel(name), new BroadcastChannel(name)];
    afterThisTest(() => [target, far].forEach((channel) => channel.close()));
    return { target, transport: broadcastTransport(target), remoteEnd: new RemoteEnd(far) };
  },
};

for (const [name, make] of Object.entries(boundaries)) {
  describe(`an unreadable message over ${name}`, () => {
    it("is reported to onError once, ends no call if several calls are pending, and requests still get responses", async () => {
      const { target, transport, remoteEnd } = make();
      const errors = [];
      const peer = new JSONRPCPeer(transport, { onError: ({ message }) => errors.push(message) }).method(
        "echo",
        ([n]) => n,
      );
      afterThisTest(() => peer.destroy());
      const calls = ["a", "b"].map((method) => peer.request(method, undefined, { timeout: 0 }));
      const ids = [await remoteEnd.next(), await remoteEnd.next()].map(({ id }) => id);
      fire(target);
      assert.deepEqual([errors, peer.pending], [[text], 2]);
      remoteEnd.post({ jsonrpc: "2.0", method: "echo", params: [5], id: "x" });
      assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result: 5, id: "x" });
      for (const id of ids) remoteEnd.post({ jsonrpc: "2.0", result: "lives", id });
      assert.deepEqual(await Promise.all(calls), ["lives", "lives"]);
    });

    it("does not end the only pending call if the response arrives soon afterwards", async () => {
      const { target, transport, remoteEnd } = make();
      const errors = [];
      const peer = new JSONRPCPeer(transport, { onError: ({ message }) => errors.push(message) });
      afterThisTest(() => peer.destroy());
      const call = peer.request("a", undefined, { timeout: 0 });
      const { id } = await remoteEnd.next();
      fire(target);
      assert.deepEqual([errors, peer.pending], [[text], 1]);
      remoteEnd.post({ jsonrpc: "2.0", result: "lives", id });
      assert.equal(await call, "lives");
    });

    it("is printed if there is no onError, and is not printed after the peer is destroyed", async () => {
      const { target, transport } = make();
      const peer = new JSONRPCPeer(transport);
      const lines = await printed(() => fire(target));
      assert.deepEqual([lines.length, lines[0].includes(text)], [1, true]);
      peer.destroy();
      fire(target);
    });
  });
}

describe("an unreadable message of a session", () => {
  it("is reported to onError once, and the session continues", async () => {
    // The session creates its port itself, so the test records the ports that get a listener for `messageerror`.
    const { addEventListener } = MessagePort.prototype;
    const isOwn = Object.hasOwn(MessagePort.prototype, "addEventListener");
    const targets = new Set();
    MessagePort.prototype.addEventListener = function (type, ...rest) {
      if (type === "messageerror") targets.add(this);
      return addEventListener.call(this, type, ...rest);
    };
    afterThisTest(() => {
      if (isOwn) MessagePort.prototype.addEventListener = addEventListener;
      else delete MessagePort.prototype.addEventListener;
    });
    const { port, scriptedPeer } = scriptedPort();
    const events = [];
    const options = {
      onError: ({ message }) => events.push(message),
      onLost: ({ reason }) => events.push(reason),
      timeout: 0,
    };
    const connecting = connected(port, options);
    const end = await scriptedPeer.open({ session: hexId(1) });
    const peer = await connecting;
    const calls = ["a", "b"].map((method) => peer.request(method));
    const requests = [await end.nextCall(), await end.nextCall()];
    assert.equal(targets.size, 1);
    targets.forEach(fire);
    assert.deepEqual([events, peer.pending], [[text], 2]);
    end.answer(requests[0], "lives");
    assert.equal(await calls[0], "lives");
    end.answer(requests[1], "lives");
    assert.equal(await calls[1], "lives");
  });
});

describe("a pending call without a timeout, when an unreadable message arrives,", () => {
  /**
   * Runs `prepare`, makes `count` calls, and then dispatches `messageerror`. Waits until a call ends, for at most 11 s.
   * Returns the `error` of this call, or undefined if no call has ended, and the `elapsed` time in milliseconds.
   */
  async function firstError(count, prepare = () => {}) {
    const [near, far] = channel();
    const remoteEnd = new RemoteEnd(far);
    const peer = new JSONRPCPeer(portTransport(near), { onError() {} });
    afterThisTest(() => peer.destroy());
    await prepare(peer, near, remoteEnd);
    const calls = Array.from({ length: count }, () => peer.request("a", undefined, { timeout: 0 }));
    await remoteEnd.next();
    const start = performance.now();
    fire(near);
    const error = await Promise.race([...calls.map((call) => rejection(call)), pause(11_000)]);
    return { error, elapsed: performance.now() - start };
  }

  it("ends after 10 seconds if it is the only call that the message may respond to", async function () {
    this.timeout(30_000);
    const abandonCall = async (peer, _, remoteEnd) => {
      await rejection(peer.request("abandoned", undefined, { signal: AbortSignal.timeout(1), timeout: 0 }));
      await remoteEnd.next();
      await remoteEnd.next();
    };
    const sharePort = (_, near) => {
      const other = new JSONRPCPeer(portTransport(near), { onError() {} });
      other.request("other", undefined, { timeout: 0 }).catch(() => {});
      afterThisTest(() => other.destroy());
    };
    const [only, several, abandoned, shared] = await Promise.all([
      firstError(1),
      firstError(2),
      firstError(1, abandonCall),
      firstError(1, sharePort),
    ]);
    const { error, elapsed } = only;
    assert.deepEqual(
      [error.name, error.reason, error.method, error.cause.message],
      ["CallError", "unreadable-response", "a", text],
    );
    assert.isAtLeast(elapsed, 9_900);
    assert.deepEqual([several.error, abandoned.error, shared.error], [undefined, undefined, undefined]);
  });
});
