// The version of the handshake: a peer with another version is refused, and `connect` rejects at both peers.

import { assert } from "chai";
import { connect } from "./support/portway.js";
import {
  ScriptedPeer,
  connected,
  countTimers,
  hexId,
  ports,
  reconnect,
  recordClosedPorts,
  scriptedPort,
} from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { isPending, pause, rejection, until } from "./support/outcomes.js";

const isHello = (message) => message?.method === "rpc.hello";
const isRefusal = (message) => message?.error?.data?.reason === "incompatible-version";
const refusals = (scriptedPeer) => scriptedPeer.received.filter(isRefusal);

/**
 * Returns two ports. Each hello, response or refusal between them gets this version before it arrives. `seen` contains
 * all messages between the ports.
 */
function portsOfVersion(version) {
  const [near, nearFar] = ports();
  const [far, farFar] = ports();
  const seen = [];
  const relay = (from, to) => {
    from.addEventListener("message", ({ data, ports: transferred }) => {
      const part = data.params ?? data.result ?? data.error?.data;
      if (part?.version !== undefined) part.version = version;
      seen.push(data);
      to.postMessage(data, transferred);
    });
    from.start();
  };
  relay(nearFar, farFar);
  relay(farFar, nearFar);
  return { near, far, seen };
}

/** Returns a target that is like a worker, over a port. It has no `start`, so sessions use virtual ports. */
function asWorker(port) {
  port.start();
  return {
    postMessage: (...args) => port.postMessage(...args),
    addEventListener: (...args) => port.addEventListener(...args),
    removeEventListener: (...args) => port.removeEventListener(...args),
  };
}

const kinds = { port: (port) => port, worker: asWorker };

for (const [kind, targetOf] of Object.entries(kinds)) {
  describe(`over a ${kind}, a peer with another version`, () => {
    it("gets a refusal with the version 1, and connect rejects at once with an error that names both versions", async () => {
      const [port, far] = ports();
      const scriptedPeer = new ScriptedPeer(far);
      const timers = countTimers();
      const start = performance.now();
      const connecting = rejection(connect(targetOf(port), { connectTimeout: 0 }));
      scriptedPeer.hello(hexId(0), { version: 2, features: ["lane"] });
      const { reason, message } = await connecting;
      assert.equal(reason, "incompatible-version");
      assert.match(message, /version 2\b.*version 1\b/);
      assert.isBelow(performance.now() - start, 1_000);
      const answer = await scriptedPeer.find(({ id }) => id === hexId(0));
      assert.deepEqual(answer, {
        jsonrpc: "2.0",
        id: hexId(0),
        error: {
          code: -32600,
          message: "Incompatible version",
          data: { reason: "incompatible-version", version: 1 },
        },
      });
      await pause(60);
      await timers.allEnd();
      assert.lengthOf(refusals(scriptedPeer), 1);
      assert.isAtMost(scriptedPeer.received.filter(isHello).length, 1);
    });

    it("that refuses the hello makes connect reject at once with an error that names both versions", async () => {
      const [port, far] = ports();
      const scriptedPeer = new ScriptedPeer(far);
      const connecting = rejection(connect(targetOf(port), { connectTimeout: 0 }));
      const { id } = await scriptedPeer.nextHello();
      const data = { reason: "incompatible-version", version: 3 };
      scriptedPeer.post({ jsonrpc: "2.0", id, error: { code: -32600, message: "Incompatible version", data } });
      const { reason, message } = await connecting;
      assert.equal(reason, "incompatible-version");
      assert.match(message, /version 3\b.*version 1\b/);
    });

    it("that responds to the hello makes connect reject at once; the port of the response is closed and not used", async () => {
      const [port, far] = ports();
      const scriptedPeer = new ScriptedPeer(far);
      const closed = recordClosedPorts();
      const connecting = rejection(connect(targetOf(port), { connectTimeout: 0 }));
      const end = scriptedPeer.accept(await scriptedPeer.nextHello(), { version: 2 });
      assert.equal((await connecting).reason, "incompatible-version");
      await until(() => closed.size === 1, "the port of the response must be closed");
      await pause(20);
      assert.deepEqual(end.received, []);
    });

    it("cannot connect: connect rejects at both peers", async () => {
      const { near, far, seen } = portsOfVersion(2);
      const options = { connectTimeout: 0 };
      const rejections = [rejection(connect(targetOf(near), options)), rejection(connect(targetOf(far), options))];
      const reasons = (await Promise.all(rejections)).map(({ reason }) => reason);
      assert.deepEqual(reasons, ["incompatible-version", "incompatible-version"]);
      await pause(60);
      assert.isAtMost(seen.length, 4, "each peer must send at most one hello and one refusal");
    });
  });
}

describe("a hello with another version", () => {
  it("gets one refusal if it arrived before connect was called", async () => {
    const [port, far] = ports();
    const scriptedPeer = new ScriptedPeer(far);
    scriptedPeer.hello(hexId(0), { version: 2 });
    assert.equal((await rejection(connect(port, { connectTimeout: 0 }))).reason, "incompatible-version");
    await until(() => refusals(scriptedPeer).length === 1);
    await pause(40);
    assert.lengthOf(refusals(scriptedPeer), 1);
  });

  it("gets a refusal during a session, and the session continues", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const reported = [];
    const connecting = connected(port, { onLost: ({ reason }) => reported.push(reason) });
    const end = await scriptedPeer.open({ session: hexId(1) });
    const peer = await connecting;
    scriptedPeer.hello(hexId(2), { version: 2 });
    await until(() => refusals(scriptedPeer).length === 1, "the refusal is missing");
    await pause(250);
    const call = peer.request("a");
    end.answer(await end.nextCall(), 1);
    assert.equal(await call, 1);
    assert.deepEqual(reported, []);
    assert.isUndefined(end.received.find(({ method }) => method === "rpc.bye"));
  });

  it("ends pending calls with peer-gone if it arrives between sessions, and a compatible peer can connect later", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const reported = [];
    const connecting = connected(port, {
      onSession: ({ number }) => void reported.push(number),
      onLost: ({ reason }) => void reported.push(reason),
    });
    const end = await scriptedPeer.open({ session: hexId(1) });
    const peer = await connecting;
    end.bye();
    await until(() => reported.length === 2);
    const call = rejection(peer.request("a"));
    scriptedPeer.hello(hexId(2), { version: 2 });
    const { reason, message, cause } = await call;
    assert.equal(reason, "peer-gone");
    assert.match(message, /version 2\b.*version 1\b/);
    assert.equal(cause.reason, "incompatible-version");
    const next = await reconnect(scriptedPeer);
    await until(() => reported.length === 3);
    assert.deepEqual(reported, [1, "session-ended", 2]);
    const second = peer.request("b");
    next.answer(await next.nextCall(), 2);
    assert.equal(await second, 2);
  });

  it("gets at most one refusal in 10 ms", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port);
    await scriptedPeer.open({ session: hexId(1) });
    await connecting;
    const start = performance.now();
    for (let n = 0; n < 2_000; n++)
      scriptedPeer.hello(hexId("f").slice(4) + String(n).padStart(4, "0"), { version: 2 });
    await until(() => refusals(scriptedPeer).length > 0);
    await pause(50);
    assert.isAtMost(refusals(scriptedPeer).length, 1 + (performance.now() - start) / 10);
  });
});

describe("a version that is not an integer from 1 to 2^53 - 1", () => {
  const versions = [undefined, null, 0, -1, 1.5, NaN, Infinity, 2 ** 53, 1e300, "1", "2", [1], { major: 2 }, true];

  it("in a hello makes the connection ignore this hello; a later valid hello begins the session", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port, { connectTimeout: 0 });
    await scriptedPeer.nextHello();
    for (const version of versions) {
      scriptedPeer.hello(hexId(0), { version });
      await pause(12);
    }
    assert.isTrue(await isPending(connecting));
    assert.deepEqual(
      scriptedPeer.received.filter((message) => !isHello(message)),
      [],
    );
    await scriptedPeer.openByHello(hexId(0));
    await connecting;
  });

  it("in a response makes the connection ignore the response, and close its port", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port, { connectTimeout: 0 });
    const hello = await scriptedPeer.nextHello();
    const closed = recordClosedPorts();
    const ends = versions.map((version) => scriptedPeer.accept(hello, { version }));
    await until(() => closed.size === ends.length, "the ports of the responses must be closed");
    assert.isTrue(await isPending(connecting));
    assert.deepEqual(
      ends.flatMap(({ received }) => received),
      [],
    );
    scriptedPeer.accept(hello);
    await connecting;
    assert.equal(closed.size, ends.length, "the port of the session must stay open");
  });

  it("in a refusal, or the version 1 in a refusal, makes connect reject with the reason refused", async () => {
    for (const version of [...versions, 1]) {
      const { port, scriptedPeer } = scriptedPort();
      const connecting = rejection(connect(port, { connectTimeout: 0 }));
      const { id } = await scriptedPeer.nextHello();
      const data = { reason: "incompatible-version", version };
      scriptedPeer.post({ jsonrpc: "2.0", id, error: { code: -32600, message: "no", data } });
      assert.equal((await connecting).reason, "refused");
    }
  });
});

describe('a response with the error "Method not found"', () => {
  it("connects the peer without a session; a later hello with another version gets a refusal, and calls work", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port);
    const { id } = await scriptedPeer.nextHello();
    scriptedPeer.post({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found: rpc.hello" } });
    const peer = await connecting;
    scriptedPeer.hello(hexId(0), { version: 2 });
    await until(() => refusals(scriptedPeer).length === 1);
    const call = peer.request("a");
    const request = await scriptedPeer.find(({ method }) => method === "a");
    scriptedPeer.post({ jsonrpc: "2.0", id: request.id, result: 1 });
    assert.equal(await call, 1);
    afterThisTest(() => peer.destroy());
  });
});
