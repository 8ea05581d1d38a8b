// Real module workers.

import { afterThisTest } from "./cleanup.js";

/** Starts a worker, and does not wait until it is ready. */
export function worker(file, query = {}) {
  const url = new URL(`../fixtures/${file}?${new URLSearchParams(query)}`, import.meta.url);
  const worker = new Worker(url, { type: "module" });
  afterThisTest(() => worker.terminate());
  return worker;
}

/** Starts a worker, and waits until it has posted that it is ready. */
export async function readyWorker(file, query) {
  const started = worker(file, query);
  await nextMessage(started, "ready");
  return started;
}

/** Waits for a message whose member `type` has this value, and returns the message. */
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
