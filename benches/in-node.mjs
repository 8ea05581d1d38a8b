// Runs the workload `loopback` in Node. Each library runs in a separate thread, so that libraries do not affect each
// other's compilation. In each round, every library runs once, and each round starts with the next library.

import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

/** Measures one workload for each of its libraries. Returns results in the form that page/main.js posts. */
export async function measureInNode({ id: workload, size, rounds, libraries }) {
  const threads = new Map();
  const failed = [];
  let running = [...libraries];
  const exclude = (id, error) => {
    failed.push(`${id} in Node: ${error}`);
    running = running.filter((other) => other !== id);
  };
  for (const id of libraries) {
    const thread = new Worker(new URL(import.meta.url), { workerData: { id } });
    threads.set(id, thread);
    // Without a listener, the event `error` of a thread would end this process. The next request to the ended thread
    // times out.
    thread.on("error", () => {});
    await nextMetrics(thread).catch((error) => exclude(id, error));
  }
  const runOnce = async (id) => {
    try {
      threads.get(id).postMessage(size);
      return await nextMetrics(threads.get(id));
    } catch (error) {
      exclude(id, error);
    }
  };
  // The engine must have compiled the code before the measurement.
  for (const id of [...running]) for (let i = 0; i < 5; i++) if (running.includes(id)) await runOnce(id);
  const results = Object.fromEntries(running.map((id) => [id, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % running.length;
    for (const id of [...running.slice(first), ...running.slice(0, first)]) results[id].push(await runOnce(id));
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

/** Returns the metrics in the next message of a thread. Rejects if the thread reports an error, or after 60 s. */
function nextMetrics(thread) {
  return new Promise((resolve, reject) => {
    const end = (settle) => (value) => {
      clearTimeout(timer);
      thread.off("message", onMessage).off("error", onFailure);
      settle(value);
    };
    const onMessage = end(({ error, metrics }) => (error === undefined ? resolve(metrics) : reject(new Error(error))));
    const onFailure = end(reject);
    const timer = setTimeout(onFailure, 60_000, new Error("the thread must answer within 60 s"));
    thread.on("message", onMessage).on("error", onFailure);
  });
}

/**
 * Runs in a thread: starts the client and the server of a library, and then measures each requested number of calls.
 */
async function serve({ id }) {
  const { loopback } = await import("./page/loopback.js");
  const library = await import(`./libraries/${id}.mjs`);
  const caller = await loopback(library);
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
