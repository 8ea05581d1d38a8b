// The package in Node: calls to worker threads, the end of a thread, the freeing of objects, and the exit of a process.

import { assert } from "chai";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";
import { JSONRPCClient, JSONRPCPeer, packaged, portTransport, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { copyWithMemory } from "./support/memory.js";
import { pause, rejection } from "./support/outcomes.js";

/** Returns a worker thread with the methods of `fixtures/node-worker.mjs`. */
function worker(options) {
  const started = new Worker(new URL("fixtures/node-worker.mjs", import.meta.url), options);
  afterThisTest(() => started.terminate());
  return started;
}

describe("a worker thread of Node", () => {
  it("responds to calls, and calls methods of the main thread", async () => {
    const peer = new JSONRPCPeer(workerTransport(worker())).method("name", () => "main");
    afterThisTest(() => peer.destroy());
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    assert.deepEqual(await peer.request("callBack"), ["back", "main"]);
    assert.equal((await rejection(peer.request("fail"))).code, -32005);
  });

  it("receives and returns transferred buffers", async () => {
    const peer = new JSONRPCPeer(workerTransport(worker()));
    afterThisTest(() => peer.destroy());
    const bytes = new Uint8Array([1, 2, 3]);
    const result = await peer.request("take", { bytes }, { transfer: [bytes.buffer] });
    assert.deepEqual([result.length, [...result.bytes], bytes.byteLength], [3, [1, 2, 3], 0]);
  });

  it("can receive calls through a port before it has loaded its wasm", async () => {
    const { port1, port2 } = new MessageChannel();
    const client = new JSONRPCClient(portTransport(port1));
    afterThisTest(() => client.destroy());
    const call = client.request("echo", ["early"]);
    worker({ workerData: port2, transferList: [port2] });
    assert.deepEqual(await call, ["early"]);
  });

  it("has no listener of the library after the transport is destroyed, and still runs", async () => {
    const started = worker();
    const before = started.listenerCount("message");
    const peer = new JSONRPCPeer(workerTransport(started));
    await peer.request("echo");
    peer.destroy();
    assert.equal(started.listenerCount("message"), before);
    const again = new JSONRPCPeer(workerTransport(started));
    afterThisTest(() => again.destroy());
    assert.deepEqual(await again.request("echo", [2]), [2]);
  });
});

describe("the pending calls to a worker thread of Node", () => {
  const startScript = (script) => {
    const started = new Worker(script, { eval: true });
    afterThisTest(() => started.terminate());
    return started;
  };

  for (const [fault, script] of [
    ["throws", "throw new Error('no luck')"],
    ["has a syntax error", "no luck"],
  ]) {
    it(`end with the cause if the script ${fault} when it starts`, async () => {
      const client = new JSONRPCClient(workerTransport(startScript(script)), { timeout: 0 });
      const { reason, message, cause } = await rejection(client.request("a"));
      assert.equal(reason, "peer-gone");
      assert.equal(message, `the worker has not started: ${cause.message}`);
      assert.equal((await rejection(client.request("b"))).reason, "peer-gone");
      client.destroy();
    });
  }

  it("end with the cause after an uncaught error in the worker", async () => {
    const script = `
      const { parentPort } = require("node:worker_threads");
      parentPort.on("message", ({ id, method }) => {
        if (method === "die") throw new Error("no luck");
        parentPort.postMessage({ jsonrpc: "2.0", result: 1, id });
      });`;
    const client = new JSONRPCClient(workerTransport(startScript(script)), { timeout: 0 });
    assert.equal(await client.request("a"), 1);
    const { reason, cause } = await rejection(client.request("die"));
    assert.deepEqual([reason, cause.message], ["peer-gone", "no luck"]);
    client.destroy();
  });
});

describe("unreferenced objects that were not destroyed", () => {
  it("are freed by the garbage collector, and so is their memory in wasm", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc");
    const { library, memory } = await copyWithMemory();
    const createAndCollect = async (count) => {
      for (let n = 0; n < count; n++) new library.JSONRPCClient({ send() {}, onMessage() {} });
      collect();
      // The engine reports collected objects to the library in a later task.
      await pause(1);
    };
    for (let n = 0; n < 10; n++) await createAndCollect(200);
    const before = memory.buffer.byteLength;
    for (let n = 0; n < 50; n++) await createAndCollect(200);
    assert.equal(memory.buffer.byteLength, before);
  }).timeout(30_000);
});

describe("a process of Node", () => {
  /**
   * Runs the code in a new process, with imports from the package. Returns the error and the output of the process, and
   * its duration `time` in milliseconds.
   */
  function run(code) {
    const source = `import init, { JSONRPCClient, JSONRPCServer, portTransport } from ${JSON.stringify(packaged("node.js"))};
      await init();
      ${code}`;
    const start = performance.now();
    return new Promise((resolve) => {
      const options = { cwd: fileURLToPath(new URL(".", import.meta.url)), timeout: 9_000 };
      execFile(process.execPath, ["--input-type=module", "--eval", source], options, (error, stdout, stderr) =>
        resolve({ error, stdout, stderr, time: performance.now() - start }),
      );
    });
  }

  it("exits after its client and server are destroyed", async () => {
    const { error, stdout, stderr, time } = await run(`
      const { port1, port2 } = new MessageChannel();
      const server = new JSONRPCServer(portTransport(port1)).method("echo", (params) => params);
      const client = new JSONRPCClient(portTransport(port2));
      console.log(await client.request("echo", [1]));
      client.destroy();
      server.destroy();`);
    assert.deepEqual([error, stdout.trim(), stderr], [null, "[ 1 ]", ""]);
    assert.isBelow(time, 5_000);
  });

  it("exits even if an ended call had a long timeout", async () => {
    const { error, time } = await run(`
      let deliver;
      const client = new JSONRPCClient({
        send: ({ id }) => queueMicrotask(() => deliver({ jsonrpc: "2.0", result: null, id })),
        onMessage: (handler) => (deliver = handler),
      });
      await client.request("a");
      await client.request("b", [], { timeout: 3_600_000 });`);
    assert.isNull(error);
    assert.isBelow(time, 5_000);
  });

  it("prints no warning and exits with 0 after a rejected call that was handled, and a rejected batch that was not", async () => {
    const { error, stderr } = await run(`
      const client = new JSONRPCClient({ send() {}, onMessage() {} });
      client.request("a").catch(() => {});
      client.batch([{ method: "a" }, { method: "b" }]);
      client.destroy();`);
    assert.deepEqual([error, stderr], [null, ""]);
  });
});
