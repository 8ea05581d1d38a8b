// Sessions over a worker. If both peers support lanes, a session uses no port: each message is wrapped with the name of
// the session's lane.

import { assert } from "chai";
import { JSONRPCServer, connect, workerTransport } from "./support/portway.js";
import { ScriptedPeer, ScriptedSession, connected, hexId, recordListeners, ports } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { pause, rejection, until } from "./support/outcomes.js";

/** Returns a target that exchanges messages over `port`. Like a worker, it is not a MessagePort, and is always open. */
function asWorker(port) {
  port.start();
  return {
    postMessage: (...args) => port.postMessage(...args),
    addEventListener: (...args) => port.addEventListener(...args),
    removeEventListener: (...args) => port.removeEventListener(...args),
  };
}

/** Returns both ends of a worker-like boundary. */
const workerEnds = () => ports().map(asWorker);

/** Returns a worker-like target as `port`, and a `scriptedPeer`, with which the test acts as the peer. */
function scriptedPort() {
  const [port, far] = ports();
  return { port: asWorker(port), scriptedPeer: new ScriptedPeer(far) };
}

/** Returns the end of the lane `name` at which the test acts as the peer. `port` transmits the messages of the lane. */
function laneOver(port, name) {
  return new ScriptedSession({
    postMessage: (message, transfer) => port.postMessage({ portway: name, message }, transfer),
    addEventListener(type, listener) {
      port.addEventListener(type, ({ data }) => data?.portway === name && listener({ data: data.message }));
    },
  });
}

/** Begins a session over a lane. With `end`, the test acts as the peer in this session. */
async function connectOverLane(options) {
  const [port, far] = ports();
  const scriptedPeer = new ScriptedPeer(far);
  const connecting = connected(asWorker(port), options);
  const lane = hexId("a");
  const end = laneOver(far, lane);
  const { id } = await scriptedPeer.nextHello();
  scriptedPeer.post({ jsonrpc: "2.0", id, result: { session: hexId(1), version: 1, features: ["lane"], lane } });
  return { peer: await connecting, end, scriptedPeer, far };
}

/** Returns an array to which each message that arrives at one of the targets is added. */
function recordMessages(...targets) {
  const seen = [];
  for (const target of targets) target.addEventListener("message", ({ data }) => seen.push(data));
  return seen;
}

describe("a session over a worker", () => {
  it("has a lane if both peers support lanes: each message has the lane's name, and no port is created", async () => {
    const [near, far] = workerEnds();
    const seen = recordMessages(near, far);
    const [nearPeer, farPeer] = await Promise.all([
      connected(near),
      connected(far, { methods: { twice: ([n]) => 2 * n } }),
    ]);
    assert.equal(await nearPeer.request("twice", [21]), 42);
    const answer = seen.find(({ result }) => result?.session !== undefined);
    assert.match(answer.result.lane, /^[0-9a-f]{32}$/);
    assert.isUndefined(answer.result.port);
    const name = answer.result.lane;
    const call = { jsonrpc: "2.0", method: "twice", params: [21], id: 1 };
    assert.deepInclude(seen, { portway: name, message: call });
    assert.deepInclude(seen, { portway: name, message: { jsonrpc: "2.0", result: 42, id: 1 } });
    assert.isTrue(
      seen.every(({ portway, method, result }) => portway === name || method === "rpc.hello" || result?.lane === name),
    );
    farPeer.destroy();
  });

  it("requests a lane in its hello, and offers a lane to a peer that requests one", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port, { methods: { echo: (params) => params } });
    const hello = await scriptedPeer.nextHello();
    assert.include(hello.params.features, "lane");
    scriptedPeer.hello(hexId(0), { features: ["lane"] });
    const { result } = await scriptedPeer.find((message) => message?.id === hexId(0) && message.result !== undefined);
    assert.isUndefined(result.port);
    scriptedPeer.post({ portway: result.lane, message: { jsonrpc: "2.0", method: "rpc.ping" } });
    scriptedPeer.post({ portway: result.lane, message: { jsonrpc: "2.0", id: "x", method: "echo", params: [1] } });
    const reply = await scriptedPeer.find((message) => message?.message?.id === "x");
    assert.deepEqual(reply, { portway: result.lane, message: { jsonrpc: "2.0", result: [1], id: "x" } });
    await connecting;
  });

  it("uses a port if the peer does not request a lane", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port);
    const end = await scriptedPeer.openByHello();
    const peer = await connecting;
    const call = peer.request("a", [1]);
    end.answer(await end.nextCall(), "by the port");
    assert.equal(await call, "by the port");
  });

  it("does not begin if the response to its hello has an invalid name for the lane", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = rejection(connect(port, { connectTimeout: 300 }));
    const { id } = await scriptedPeer.nextHello();
    for (const lane of [undefined, null, "", "a", hexId("g"), 7, [hexId("a")], {}]) {
      scriptedPeer.post({ jsonrpc: "2.0", id, result: { session: hexId(1), version: 1, features: ["lane"], lane } });
    }
    assert.equal((await connecting).reason, "no-answer");
  });

  it("ignores messages with the name of another lane, and values that are not messages", async () => {
    const errors = [];
    const { peer, end, far } = await connectOverLane({ onError: (error) => errors.push(error) });
    const call = peer.request("a", [1]);
    const { id } = await end.nextCall();
    const forged = { jsonrpc: "2.0", result: "forged", id };
    for (const value of [forged, { portway: hexId("b"), message: forged }, { portway: [hexId("a")], message: forged }])
      far.postMessage(value);
    for (const message of [undefined, null, 1, "text", [], {}, { jsonrpc: "2.0" }, [forged, 1]])
      far.postMessage({ portway: hexId("a"), message });
    for (const foreign of [null, 1, "text", [1], { portway: null }, new Map([["portway", 1]])])
      far.postMessage(foreign);
    await pause(50);
    assert.equal(peer.pending, 1);
    end.answer({ id }, "right");
    assert.equal(await call, "right");
    assert.deepEqual(errors, []);
  });

  it("does not affect foreign messages or a plain server on the same worker", async () => {
    const [near, far] = workerEnds();
    const [nearPeer] = await Promise.all([
      connected(near),
      connected(far, { methods: { whose: () => "the session's" } }),
    ]);
    const server = new JSONRPCServer(workerTransport(near)).method("whose", () => "the plain server's");
    afterThisTest(() => server.destroy());
    const remoteEnd = new ScriptedPeer(far);
    remoteEnd.post({ jsonrpc: "2.0", id: "plain", method: "whose" });
    remoteEnd.post({ type: "foreign" });
    const reply = await remoteEnd.find((message) => message?.id === "plain");
    assert.equal(reply.result, "the plain server's");
    assert.equal(await nearPeer.request("whose"), "the session's");
  });

  it("is separate from a session on another channel", async () => {
    const [near, far] = workerEnds();
    const methods = (name) => ({ methods: { name: () => name } });
    const [a, b] = await Promise.all([
      connected(near, { channel: "a" }),
      connected(near, { channel: "b" }),
      connected(far, { channel: "a", ...methods("a") }),
      connected(far, { channel: "b", ...methods("b") }),
    ]);
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? a : b).request("name")));
    assert.deepEqual(
      answers,
      Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? "a" : "b")),
    );
  });

  it("ignores responses in the lane of the previous session", async () => {
    const { peer, end, scriptedPeer, far } = await connectOverLane();
    const old = rejection(peer.request("a", [1]));
    const { id } = await end.nextCall();
    end.bye();
    assert.equal((await old).reason, "session-ended");
    const call = peer.request("b", [2]);
    scriptedPeer.hello(hexId(0), { features: ["lane"] });
    const { result } = await scriptedPeer.find((message) => message?.id === hexId(0) && message.result !== undefined);
    const newEnd = laneOver(far, result.lane);
    newEnd.post({ jsonrpc: "2.0", method: "rpc.ping" });
    const request = await newEnd.nextCall();
    for (const responseId of [id, request.id]) end.answer({ id: responseId }, "of the old session");
    await pause(30);
    newEnd.answer(request, "of the new session");
    assert.equal(await call, "of the new session");
  });

  it("transfers buffers", async () => {
    const [near, far] = workerEnds();
    const [nearPeer] = await Promise.all([
      connected(near),
      connected(far, { methods: { size: ({ buffer }) => buffer.byteLength } }),
    ]);
    const buffer = new ArrayBuffer(8);
    assert.equal(await nearPeer.request("size", { buffer }, { transfer: [buffer] }), 8);
    assert.equal(buffer.byteLength, 0);
  });

  it("removes its listeners when it ends", async () => {
    const [near, far] = workerEnds();
    const listeners = [near, far].map(recordListeners);
    for (let round = 0; round < 5; round++) {
      const [nearPeer, farPeer] = await pairOver(near, far);
      assert.equal(await nearPeer.request("echo", round), round);
      nearPeer.destroy();
      farPeer.destroy();
    }
    await pause(20);
    assert.deepEqual(
      listeners.map(({ length }) => length),
      [0, 0],
    );
  });

  it("transmits 10 000 concurrent calls, half of them from each peer", async () => {
    const methods = { twice: ([n]) => 2 * n };
    const [nearPeer, farPeer] = await Promise.all(workerEnds().map((side) => connected(side, { methods })));
    const requestMany = (peer) => Array.from({ length: 5_000 }, (_, n) => peer.request("twice", [n]));
    const results = await Promise.all([...requestMany(nearPeer), ...requestMany(farPeer)]);
    assert.isTrue(results.every((result, n) => result === 2 * (n % 5_000)));
    await until(() => nearPeer.pending + farPeer.pending === 0);
  });
});

describe("a session over a port", () => {
  it("uses a private port and no lane", async () => {
    const [near, far] = ports();
    const seen = recordMessages(near, far);
    const [nearPeer] = await Promise.all([connected(near), connected(far, { methods: { echo: (params) => params } })]);
    assert.deepEqual(await nearPeer.request("echo", [1]), [1]);
    assert.isTrue(seen.every((message) => message.portway === undefined && message.result?.lane === undefined));
  });
});

/** Connects two targets. Returns a caller, and the peer at `far`. The caller's `request` wraps its value in params. */
function pairOver(near, far) {
  const methods = { echo: ({ value }) => value };
  const wrap = (peer) => ({
    request: (method, value) => peer.request(method, { value }),
    destroy: () => peer.destroy(),
  });
  return Promise.all([connect(near).then(wrap), connect(far, { methods })]);
}

describe("a broadcast channel", () => {
  it("is refused as a target of connect", async () => {
    const channel = new BroadcastChannel("lanes");
    afterThisTest(() => channel.close());
    assert.instanceOf(await rejection(connect(channel)), TypeError);
  });
});
