// Streams from workers, and a result that is async iterable but not a stream.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer, workerTransport } from "./support/portway.js";
import { channel } from "./support/transports.js";
import { readyWorker } from "./support/workers.js";

describe("a directory handle", () => {
  it("is sent as a result, although it is async iterable", async () => {
    const { near, far } = channel();
    let directory;
    try {
      directory = await navigator.storage.getDirectory();
      structuredClone(directory);
    } catch {
      // This engine has no directory handles, or cannot clone them.
      return;
    }
    new JSONRPCServer(far).method("directory", () => directory);
    assert.equal((await new JSONRPCClient(near).request("directory")).kind, "directory");
  });
});

describe("a stream of a worker", () => {
  it("returns the items of its handler, and ends after break", async () => {
    const client = new JSONRPCClient(workerTransport(await readyWorker("worker.js")));
    const received = [];
    for await (const bytes of client.stream("count", {})) {
      received.push(bytes[0]);
      if (received.length === 50) break;
    }
    assert.deepEqual(
      received,
      Array.from({ length: 50 }, (_, i) => i + 1),
    );
    assert.equal(client.pending, 0);
    assert.deepEqual(await client.request("echo", [1]), [1]);
  });

  it("transfers 100 MB in buffers of 64 KiB", async function () {
    this.timeout(60_000);
    const client = new JSONRPCClient(workerTransport(await readyWorker("worker.js")));
    const size = 65_536;
    const count = Math.ceil(1e8 / size);
    let bytes = 0;
    for await (const chunk of client.stream("chunks", { count, size }, { timeout: 30_000 })) bytes += chunk.byteLength;
    assert.equal(bytes, count * size);
  });
});
