// Measures the cost of each kind of message: the bytes in both directions, the blocking of the event loop, and the
// bytes that stay allocated. The time of blocking excludes the deserialization by the engine. The table in SECURITY.md
// has a row for each kind of message.

import { assert } from "chai";
import { connected } from "../web/support/connections.js";
import { afterThisTest } from "../web/support/cleanup.js";
import { pause } from "../web/support/outcomes.js";
import { check, rowsOf } from "./support/amplification.js";
import { longestTask } from "./support/measure.js";
import { engine, origins, party } from "./support/parties.js";
import { progress } from "./support/settings.js";

const TRIES = 20;
const { gc, performance } = globalThis;

/** Returns the size of the heap in bytes after garbage collection. Only Chromium reports this size. */
async function heap() {
  if (gc === undefined || performance.memory === undefined) return undefined;
  for (let n = 0; n < 3; n++) {
    gc();
    await pause(20);
  }
  return performance.memory.usedJSHeapSize;
}

/** Connects the page to an iframe whose document sends the hostile messages. */
async function connectAttacker() {
  const frame = await party("friend");
  await frame.run(() => {
    const script = document.createElement("script");
    script.src = "/tests/hostile/page/messages.js";
    return new Promise((resolve) => {
      script.onload = () => resolve();
      document.head.append(script);
    });
  });
  const connecting = connected(frame.element, {
    origin: origins.friend,
    connectTimeout: 30_000,
    onError() {},
    methods: {
      swallow: () => null,
      async *ticks() {
        for (let n = 0; n < 300; n++) yield n;
      },
    },
  });
  await frame.run(() => sendHello(parent).then(countBack));
  return { frame, peer: await connecting };
}

/** Returns the milliseconds for which messages of one kind block the event loop if their listener only reads them. */
async function measureBare(frame, kind) {
  const { port1, port2 } = new MessageChannel();
  const last = new Promise((resolve) => {
    port1.onmessage = ({ data }) => data === "last" && resolve();
  });
  const task = longestTask();
  await frame.run((kind, port) => postBare(kind, port), kind, port2);
  await last;
  const ms = task.stop();
  port1.close();
  return ms;
}

describe("the cost of one message of a peer for a page", function () {
  this.timeout(60_000);

  for (const row of rowsOf("page")) {
    it(row.what, async () => {
      const { frame, peer } = await connectAttacker();
      afterThisTest(() => peer.destroy());
      let ms = Infinity;
      let counts;
      let bareMs = 0;
      const before = await heap();
      // A busy machine delays some tries at random. So the smallest time of all tries counts.
      for (let n = 0; n < TRIES && ms > row.blocks; n++) {
        bareMs = await measureBare(frame, row.id);
        const task = longestTask();
        counts = await frame.run((kind) => postKind(kind), row.id);
        ms = Math.min(ms, Math.max(0, task.stop() - bareMs));
        progress(`${row.id} ${n}`);
      }
      // Open streams need memory until the session ends.
      if (row.id === "streams") peer.destroy();
      const after = await heap();
      const retainedBytes = after === undefined ? undefined : after - before;
      check(row, { ...counts, ms, retainedBytes }, engine === "chromium");
      assert.equal(peer.pending, 0);
    });
  }
});
