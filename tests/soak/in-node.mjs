// Runs the soak in Node. This thread has links to two other threads.

import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";
import "./instruments.js";
import { asker } from "./control.js";
import { Soak } from "./soak.js";

export async function soakInNode(plan) {
  setFlagsFromString("--expose-gc");
  globalThis.gc = runInNewContext("gc");
  const portway = await import("../../pkg/node.js");
  await portway.default();
  const soak = new Soak({
    portway,
    plan: { ...plan, reloads: 0 },
    plain: [await thread(portway, "thread", false)],
    connected: typeof portway.connect === "function" ? [await thread(portway, "connected thread", true)] : [],
    memory,
    onSample: (samples) => console.error(`  ${samples.length * 10} %: ${samples.at(-1).calls} calls`),
  });
  let error;
  await soak.run().catch((thrown) => (error = String(thrown.stack ?? thrown)));
  const { samples, ledgers } = soak;
  return { samples, ledgers, error };
}

async function thread(portway, name, byConnect) {
  const worker = new Worker(new URL("node-worker.mjs", import.meta.url));
  await once(worker, "message");
  // control.js needs an `EventTarget`, as in browsers.
  const events = new EventTarget();
  worker.on("message", (data) => events.dispatchEvent(new MessageEvent("message", { data })));
  const ask = asker(worker, events);
  return { name, ask, target: worker, transport: byConnect ? undefined : () => portway.workerTransport(worker) };
}

/** Returns the heap of this thread, the heaps of the other threads, and the memory of the process, in bytes. */
function memory(peerFigures) {
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed, workerHeap: peerFigures.reduce((sum, { heap }) => sum + heap, 0), resident: rss };
}
