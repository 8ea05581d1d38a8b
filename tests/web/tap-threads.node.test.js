// Taps between a Node program and its worker threads.

import { assert } from "chai";
import { Worker } from "node:worker_threads";
import { JSONRPCPeer, workerTransport } from "./support/portway.js";
import { collected, randomCalls, randomOf, readTaps, sessionTap, tap } from "./support/taps.js";
import { connected } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { until } from "./support/outcomes.js";

function thread(file, workerData) {
  const started = new Worker(new URL(`fixtures/${file}`, import.meta.url), { workerData });
  afterThisTest(() => started.terminate());
  return started;
}

describe("a tapped thread", () => {
  it('is recorded, with the transport "worker"', async () => {
    const found = collected();
    const peer = new JSONRPCPeer(tap(workerTransport(thread("node-worker.mjs")), { sink: found.recorder }));
    afterThisTest(() => peer.destroy());
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    await found.untilMessages(2);
    assert.equal(found.records[0].transport, "worker");
  });

  it("and its program record the same messages in their sessions", async () => {
    const name = `tap ${Math.random()}`;
    const far = [];
    afterThisTest(readTaps(name, (batch) => void far.push(...batch)));
    const found = collected({ maxBytes: 2 ** 26 });
    const started = thread("connect-thread.mjs", String(new URLSearchParams({ tap: name })));
    const peer = await connected(started, { tap: sessionTap({ sink: found.recorder }) });
    const random = randomOf(5);
    for (let n = 0; n < 10; n++) await randomCalls(peer, random, 100);
    const texts = (records, direction) =>
      records
        .filter((record) => record.kind === "message" && record.direction === direction)
        .map(({ text }) => text)
        .filter((text) => !text.includes('"rpc.hello"'));
    for (const [sender, receiver] of [
      [found.records, far],
      [far, found.records],
    ]) {
      await until(() => texts(receiver, "received").length === texts(sender, "sent").length, "a message is missing");
      assert.isAbove(texts(sender, "sent").length, 500);
      assert.deepEqual(texts(receiver, "received"), texts(sender, "sent"));
    }
  }).timeout(30_000);
});
