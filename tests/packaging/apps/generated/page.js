// A page that calls its worker, with a package that wasm-pack has built.
import init, { JSONRPCPeer, RPCError, workerTransport } from "./pkg/portway.js";

async function runCalls() {
  await init();
  const worker = new Worker("worker.js", { type: "module" });
  await new Promise((done) => worker.addEventListener("message", done, { once: true }));
  const peer = new JSONRPCPeer(workerTransport(worker));
  peer.method("who", () => "page");
  const greeting = await peer.request("greet");
  const refusal = await peer.request("refuse").catch((error) => error);
  return { greeting, refusal: refusal instanceof RPCError && refusal.code };
}

runCalls().then(
  (outcome) => (globalThis.outcome = outcome),
  (error) => (globalThis.outcome = { error: String(error) }),
);
