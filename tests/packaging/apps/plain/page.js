// A page with a worker and an iframe of its own origin. All scripts are modules that no bundler has changed.
import init, { JSONRPCPeer, windowTransport, workerTransport } from "./node_modules/portway/portway.js";

async function runCalls() {
  await init();

  const worker = new Worker("worker.js", { type: "module" });
  const workerPeer = new JSONRPCPeer(workerTransport(worker));
  workerPeer.method("who", () => "page");
  // The worker is still loading now.
  const workerGreeting = workerPeer.request("greet");

  const frame = document.createElement("iframe");
  frame.src = "frame.html";
  const loaded = new Promise((done) => frame.addEventListener("load", done));
  document.documentElement.append(frame);
  await loaded;
  const framePeer = new JSONRPCPeer(windowTransport(frame.contentWindow));
  framePeer.method("who", () => "page");

  return { worker: await workerGreeting, frame: await framePeer.request("greet") };
}

runCalls().then(
  (outcome) => (globalThis.outcome = outcome),
  (error) => (globalThis.outcome = { error: `${error.name}: ${error.message}` }),
);
