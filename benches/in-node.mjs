// The loopback in Node: a thread for each subject, so that none is compiled for what the others do; the rounds take turns.

import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

/** Gives a cell as the page does. */
export async function measureInNode({ id: workload, size, rounds, subjects }) {
  const threads = new Map();
  const failed = [];
  let running = [...subjects];
  const drop = (id, error) => {
    failed.push(`${id} in Node: ${error}`);
    running = running.filter((other) => other !== id);
  };
  for (const id of subjects) {
    const thread = new Worker(new URL(import.meta.url), { workerData: { id } });
    threads.set(id, thread);
    // One that ends while nobody asks is found when it is asked.
    thread.on("error", () => {});
    await answer(thread).catch((error) => drop(id, error));
  }
  const once = async (id) => {
    try {
      threads.get(id).postMessage(size);
      return await answer(threads.get(id));
    } catch (error) {
      drop(id, error);
    }
  };
  for (const id of [...running]) for (let i = 0; i < 5; i++) if (running.includes(id)) await once(id);
  const results = Object.fromEntries(running.map((id) => [id, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % running.length;
    for (const id of [...running.slice(first), ...running.slice(0, first)]) results[id].push(await once(id));
  }
  for (const thread of threads.values()) await thread.terminate();
  return {
    boundary: "node",
    workload,
    size,
    results: Object.fromEntries(running.map((id) => [id, results[id]])),
    failed,
  };
}

function answer(thread) {
  return new Promise((resolve, reject) => {
    const end = (settle) => (value) => {
      clearTimeout(late);
      thread.off("message", told).off("error", failed);
      settle(value);
    };
    const told = end(({ error, metrics }) => (error === undefined ? resolve(metrics) : reject(new Error(error))));
    const failed = end(reject);
    const late = setTimeout(failed, 60_000, new Error("it does not end"));
    thread.on("message", told).on("error", failed);
  });
}

async function serve({ id }) {
  const { loopback } = await import("./page/loopback.js");
  const subject = await import(`./subjects/${id}.mjs`);
  const caller = await loopback(subject);
  parentPort.on("message", async (size) => {
    try {
      const start = performance.now();
      for (let n = 0; n < size; n++) await caller.call("echo", { n });
      parentPort.postMessage({ metrics: { ns: ((performance.now() - start) * 1e6) / size } });
    } catch (error) {
      parentPort.postMessage({ error: String(error?.stack ?? error) });
    }
  });
  parentPort.postMessage({});
}

if (!isMainThread) serve(workerData).catch((error) => parentPort.postMessage({ error: String(error?.stack ?? error) }));
