// Real module workers.

import { afterThisTest } from "./cleanup.js";

/** A worker, started and perhaps not ready yet. */
export function worker(file, query = {}) {
  const url = new URL(`../fixtures/${file}?${new URLSearchParams(query)}`, import.meta.url);
  const worker = new Worker(url, { type: "module" });
  afterThisTest(() => worker.terminate());
  return worker;
}

/** A worker that has posted that it is ready. */
export async function readyWorker(file, query) {
  const started = worker(file, query);
  await nextMessage(started, "ready");
  return started;
}

/** The next ad-hoc message of this type. */
export function nextMessage(worker, type) {
  return new Promise((resolve, reject) => {
    worker.addEventListener("error", (event) => reject(new Error(`the worker has failed: ${event.message}`)));
    worker.addEventListener("message", function listener({ data }) {
      if (data?.type !== type) return;
      worker.removeEventListener("message", listener);
      resolve(data);
    });
  });
}
