// Runs the soak in a browser, between this page, its workers and its iframes. Posts the progress to the server.

import { pause, listen } from "./instruments.js";
import * as portway from "/pkg/portway.js";
import { asker } from "./control.js";
import { Reloads } from "./reloads.js";
import { Soak } from "./soak.js";

const hasConnect = typeof portway.connect === "function";
const query = new URLSearchParams(location.search);
const plan = Object.fromEntries(
  ["calls", "cycles", "reloads", "minutes", "seed"].map((name) => [name, Number(query.get(name))]),
);
// The memory of workers can be measured only if the page and its workers are isolated from other origins.
const isolated = query.has("isolated") ? "?isolated" : "";

/** Resolves after a context has posted that it is ready. */
function ready(source, isMine) {
  return new Promise((resolve, reject) => {
    listen(source, "error", ({ message }) => reject(new Error(`a context has failed: ${message}`)));
    listen(source, "message", ({ data, source: sender }) => {
      if (data?.soak === "ready" && isMine(sender)) resolve();
    });
  });
}

async function worker(name, byConnect) {
  const target = new Worker(`worker.js${isolated}`, { type: "module" });
  await ready(target, () => true);
  return {
    name,
    target,
    ask: asker(target, target),
    transport: byConnect ? undefined : () => portway.workerTransport(target),
  };
}

async function frame(name, byConnect) {
  const target = document.createElement("iframe");
  target.src = `frame.html${isolated}`;
  document.body.append(target);
  await ready(window, (sender) => sender === target.contentWindow);
  const { contentWindow } = target;
  const ask = asker(contentWindow, window, location.origin);
  return { name, target, ask, transport: byConnect ? undefined : () => portway.windowTransport(contentWindow) };
}

/**
 * Resolves to the sizes of the heaps after a collection, if the engine reports them. Iframes share the heap of the
 * page. Each worker has its own heap.
 */
async function memory() {
  if (!isolated) return {};
  const { breakdown } = await performance.measureUserAgentSpecificMemory();
  const of = (wanted) =>
    breakdown
      .filter(({ attribution }) => attribution.some(({ scope }) => scope.endsWith("WorkerGlobalScope") === wanted))
      .reduce((sum, { bytes }) => sum + bytes, 0);
  return { heap: of(false), workerHeap: of(true) };
}

/** Posts the progress of the soak to the server. */
async function post(state) {
  await fetch("/soak", { method: "POST", body: JSON.stringify(state) });
}

let soak;
let error;
let isDone = false;
const state = () => {
  const { now, progress, samples, ledgers } = soak ?? {};
  return { now, progress, samples, ledgers, error, done: isDone };
};

async function run() {
  await portway.default();
  const plain = [await worker("worker", false), await frame("frame", false)];
  const connected = hasConnect ? [await worker("connected worker", true), await frame("connected frame", true)] : [];
  const reloads = hasConnect ? new Reloads(portway, isolated) : undefined;
  // Before the server responds, it reads the figures that only the driver can read.
  const onSample = () => post(state());
  soak = new Soak({ portway, plan, plain, connected, reloads, memory, onSample });
  await soak.run();
}

const running = run()
  .catch((thrown) => (error = String(thrown?.stack ?? thrown)))
  .then(() => (isDone = true));
while (!isDone) {
  await Promise.race([running, pause(5_000)]);
  await post(state());
}
