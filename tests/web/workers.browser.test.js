// Calls between a page and its worker or shared worker, also before the worker has loaded its wasm.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, portTransport, workerTransport } from "./support/portway.js";
import { readyWorker, nextMessage, worker } from "./support/workers.js";
import { recordMessageListeners } from "./support/iframes.js";
import { afterThisTest } from "./support/cleanup.js";
import { isPending, rejection } from "./support/outcomes.js";

/** Starts a worker. Returns the worker, and a peer for the worker. */
async function connected(file = "worker.js") {
  const started = await readyWorker(file);
  const peer = new JSONRPCPeer(workerTransport(started));
  afterThisTest(() => peer.destroy());
  return { worker: started, peer };
}

describe("a worker", () => {
  it("responds to calls, and calls methods of the page", async () => {
    const { peer } = await connected();
    peer.method("name", ([n]) => `page ${n}`);
    assert.deepEqual(await peer.request("echo", { entry: "src/App.tsx" }), { entry: "src/App.tsx" });
    assert.deepEqual(await peer.request("callBack", [1]), ["back", "page 1"]);
    assert.equal((await rejection(peer.request("fail"))).code, -32005);
    assert.equal((await rejection(peer.request("missing"))).code, -32601);
  });

  it("transmits notifications, progress, transfer lists and ports", async () => {
    const { peer } = await connected();
    const notes = [];
    peer.onNotify("note", ([n]) => void notes.push(n));
    await peer.request("notifyBack", [1]);
    const seen = [];
    await peer.request("progress", [], { onProgress: (n) => seen.push(n) });
    assert.deepEqual([notes, seen], [[1], [1, 2, 3]]);
    const bytes = new Uint8Array(1 << 20).fill(7);
    const result = await peer.request("take", { bytes }, { transfer: [bytes.buffer] });
    assert.deepEqual([result.length, result.bytes[9], bytes.byteLength], [1 << 20, 7, 0]);
    const port = await peer.request("connect");
    const answer = new Promise((resolve) => (port.onmessage = ({ data }) => resolve(data)));
    port.postMessage("hi");
    assert.equal(await answer, "echo hi");
  });

  it("may exchange ad-hoc messages with the page between calls", async () => {
    const { worker, peer } = await connected();
    const pongs = [];
    worker.onmessage = ({ data }) => data.type === "pong" && pongs.push(data.n);
    const results = [];
    for (let n = 0; n < 10; n++) {
      worker.postMessage({ type: "ping", n });
      results.push((await peer.request("echo", [n]))[0]);
    }
    assert.deepEqual([pongs, results], [results, pongs]);
  });

  it("keeps the onmessage of the page and the onmessage of its own scope", async () => {
    const started = await readyWorker("worker.js");
    const onmessage = () => {};
    started.onmessage = onmessage;
    const peer = new JSONRPCPeer(workerTransport(started));
    await peer.request("echo");
    assert.equal(started.onmessage, onmessage);
    peer.destroy();
    assert.equal(started.onmessage, onmessage);
    started.postMessage({ type: "what is onmessage?" });
    assert.isTrue((await nextMessage(started, "onmessage")).kept);
  });

  it("can stop the loop of a cancelled call, if the loop awaits yield()", async () => {
    const { peer } = await connected();
    for (let n = 0; n < 10; n++) {
      const controller = new AbortController();
      let last;
      const onProgress = (step) => (last = step) === 3 && controller.abort();
      const call = peer.request("steps", { count: 60, ms: 10 }, { onProgress, signal: controller.signal });
      assert.equal((await rejection(call)).name, "AbortError");
      const start = performance.now();
      await peer.request("echo");
      assert.isBelow(performance.now() - start, 300, "the worker did not stop its loop");
      assert.equal(last, 3);
    }
  });

  it("is not terminated when the transport on it is destroyed, and the listener is removed", async () => {
    const started = await readyWorker("worker.js");
    const listeners = recordMessageListeners(started);
    const first = new JSONRPCPeer(workerTransport(started));
    assert.equal(listeners.size, 1);
    await first.request("echo");
    first.destroy();
    assert.equal(listeners.size, 0);
    const second = new JSONRPCPeer(workerTransport(started));
    assert.deepEqual(await second.request("echo", [2]), [2]);
    second.destroy();
  });

  it("still handles ad-hoc messages after its own peer is destroyed", async () => {
    const { worker, peer } = await connected();
    assert.deepEqual((await rejection(peer.request("destroy"))).data, { reason: "destroyed" });
    const pong = nextMessage(worker, "pong");
    worker.postMessage({ type: "ping", n: 1 });
    assert.equal((await pong).n, 1);
  });

  it("makes calls time out after it is terminated, and throws nothing", async () => {
    const { worker, peer } = await connected();
    worker.terminate();
    assert.equal((await rejection(peer.request("echo", [], { timeout: 30 }))).reason, "timeout");
  });

  it("makes pending and later calls fail if its script is missing", async () => {
    const missing = new Worker(new URL("fixtures/no-such-worker.js", import.meta.url), { type: "module" });
    const client = new JSONRPCClient(workerTransport(missing), { timeout: 0 });
    const { reason, message } = await rejection(client.request("a"));
    assert.equal(reason, "peer-gone");
    assert.include(message, "is its script there?");
    assert.equal((await rejection(client.request("b"))).reason, "peer-gone");
    client.destroy();
  });

  it("makes pending calls fail with the cause if its script throws at the start", async () => {
    const script = URL.createObjectURL(new Blob(["throw new Error('no luck')"]));
    const broken = new Worker(script);
    const client = new JSONRPCClient(workerTransport(broken), { timeout: 0 });
    broken.addEventListener("error", (event) => event.preventDefault());
    const error = await rejection(client.request("a"));
    assert.equal(error.reason, "peer-gone");
    assert.include(error.message, "no luck");
    assert.include(error.cause.message, "no luck");
    client.destroy();
  });

  it("may throw after it has sent a message: calls stay pending, and later calls work", async () => {
    const script = `
      let held;
      onmessage = ({ data }) => {
        if (data.method === "throw") throw new Error("not the end");
        if (data.method === "hold") return void (held = data.id);
        if (data.method === "release") return postMessage({ jsonrpc: "2.0", result: "released", id: held });
        postMessage({ jsonrpc: "2.0", result: "here", id: data.id });
      };`;
    const throwing = new Worker(URL.createObjectURL(new Blob([script])));
    throwing.addEventListener("error", (event) => event.preventDefault());
    const client = new JSONRPCClient(workerTransport(throwing), { timeout: 0 });
    assert.equal(await client.request("a"), "here");
    const failed = new Promise((resolve) => throwing.addEventListener("error", resolve, { once: true }));
    const pendingCall = client.request("hold");
    client.notify("throw");
    await failed;
    assert.equal(await client.request("b"), "here");
    assert.equal(client.pending, 1);
    client.notify("release");
    assert.equal(await pendingCall, "released");
    client.destroy();
    throwing.terminate();
  });

  it("calls methods of its own peer, and not of the peer of another worker", async () => {
    const [a, b] = [await connected(), await connected()];
    a.peer.method("name", () => "a");
    b.peer.method("name", () => "b");
    const results = await Promise.all([a, b, a, b].map(({ peer }) => peer.request("callBack")));
    assert.deepEqual(
      results.map(([, name]) => name),
      ["a", "b", "a", "b"],
    );
  });

  it("can serve a port and its own scope at the same time", async () => {
    const { worker, peer } = await connected();
    const { port1, port2 } = new MessageChannel();
    worker.postMessage({ type: "port", port: port2 }, [port2]);
    const direct = new JSONRPCClient(portTransport(port1));
    afterThisTest(() => direct.destroy());
    assert.deepEqual(await Promise.all([direct.request("echo", ["port"]), peer.request("echo", ["worker"])]), [
      ["port"],
      ["worker"],
    ]);
  });

  it("still responds to the page after it has received a port to another worker", async () => {
    const [a, b] = [await readyWorker("worker.js"), await readyWorker("worker.js")];
    const { port1, port2 } = new MessageChannel();
    a.postMessage({ type: "port", port: port1 }, [port1]);
    b.postMessage({ type: "port", port: port2 }, [port2]);
    const peer = new JSONRPCPeer(workerTransport(a));
    afterThisTest(() => peer.destroy());
    assert.deepEqual(await peer.request("echo", ["still here"]), ["still here"]);
  });

  it("throws a TypeError for windowTransport(), because a worker has no windows", async () => {
    const { peer } = await connected();
    assert.match(await peer.request("windowTransport"), /^TypeError: /);
  });
});

describe("a shared worker", () => {
  /** Connects through a new port, and returns the peer. The port buffers calls until the worker runs. */
  function connect(name) {
    const url = new URL("fixtures/shared-worker.js", import.meta.url);
    const { port } = new SharedWorker(url, { type: "module", name });
    const peer = new JSONRPCPeer(portTransport(port));
    afterThisTest(() => peer.destroy());
    return peer;
  }

  it("serves each page through a separate port", async () => {
    const name = `specs ${Math.random()}`;
    const peers = [connect(name), connect(name)].map((peer, n) => peer.method("name", () => `page ${n}`));
    const results = await Promise.all(peers.map((peer) => peer.request("callBack")));
    assert.deepEqual(results, [
      ["back", "page 0"],
      ["back", "page 1"],
    ]);
    assert.sameMembers(await Promise.all(peers.map((peer) => peer.request("number"))), [1, 2]);
  });

  it("throws a TypeError for selfTransport()", async () => {
    assert.match(await connect(`specs ${Math.random()}`).request("selfTransport"), /^TypeError: .*portTransport/);
  });
});

describe("calls that are made before a worker has loaded its wasm", () => {
  const slow = { wasm: "/pkg/portway_bg.wasm?delay=300" };

  it("get their responses, in order, if the worker has imported portway/early first", async () => {
    const peer = new JSONRPCPeer(workerTransport(worker("early-worker.js", slow)));
    afterThisTest(() => peer.destroy());
    for (let n = 0; n < 100; n++) peer.notify("count", [n]);
    const calls = [1, 2, 3].map((n) => peer.request("echo", [n]));
    assert.deepEqual(await Promise.all(calls), [[1], [2], [3]]);
    assert.deepEqual(
      await peer.request("seen"),
      Array.from({ length: 100 }, (_, n) => n),
    );
  });

  it("get their responses if they are in a batch", async () => {
    const client = new JSONRPCClient(workerTransport(worker("early-worker.js", slow)));
    afterThisTest(() => client.destroy());
    const outcomes = await client.batch([
      { method: "echo", params: [1] },
      { method: "count", params: [1], notify: true },
      { method: "seen" },
    ]);
    assert.deepEqual(
      outcomes.map(({ value }) => value),
      [[1], undefined, [1]],
    );
  });

  it("get an error if the wasm is missing, and so do later calls", async () => {
    const started = worker("early-worker.js", { wasm: "/nowhere.wasm?delay=100" });
    const client = new JSONRPCClient(workerTransport(started));
    afterThisTest(() => client.destroy());
    const failed = nextMessage(started, "failed");
    const [first, second] = [await rejection(client.request("echo")), await rejection(client.request("echo"))];
    await failed;
    for (const error of [first, second]) {
      assert.deepEqual([error.code, error.message], [-32603, "portway could not start"]);
    }
    const [{ reason }, note] = await client.batch([{ method: "echo" }, { method: "note", notify: true }]);
    assert.deepEqual([reason.code, note.status], [-32603, "fulfilled"]);
  });

  it("get an error until a second load succeeds, and are then buffered until the worker has a server", async () => {
    const started = worker("early-retry-worker.js", slow);
    const client = new JSONRPCClient(workerTransport(started));
    afterThisTest(() => client.destroy());
    await nextMessage(started, "failed");
    assert.equal((await rejection(client.request("echo", [1]))).code, -32603);
    started.postMessage({ type: "retry" });
    const loaded = nextMessage(started, "loaded");
    let isLoaded = false;
    loaded.then(() => (isLoaded = true));
    assert.equal((await rejection(client.request("echo", [2]))).code, -32603);
    assert.isFalse(isLoaded, "the call during the second load must be answered at once");
    await loaded;
    const call = client.request("echo", [3]);
    assert.isTrue(await isPending(call));
    started.postMessage({ type: "serve" });
    assert.deepEqual(await call, [3]);
  });
});
