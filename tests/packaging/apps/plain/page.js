// A page with a worker and an iframe of its own origin. All scripts are modules that no bundler has changed.
import init, { JSONRPCPeer, windowTransport, workerTransport } from "./node_modules/portway/portway.js";

async function runCalls() {
  await init();

  const worker = new Worker("worker.js", { type: "module" });
  const toWorker = new JSONRPCPeer(workerTransport(worker));
  toWorker.method("who", () => "page");
  // The worker is still loading now.
  const fromWorker = toWorker.request("greet");

  const frame = document.createElement("iframe");
  frame.src = "frame.html";
  const loaded = new Promise((done) => frame.addEventListener("load", done));
  document.documentElement.append(frame);
  await loaded;
  const toFrame = new JSONRPCPeer(windowTransport(frame.contentWindow));
  toFrame.method("who", () => "page");

  return { worker: await fromWorker, frame: await toFrame.request("greet") };
}

runCalls().then(
  (outcome) => (globalThis.outcome = outcome),
  (error) => (globalThis.outcome = { error: `${error.name}: ${error.message}` }),
);
