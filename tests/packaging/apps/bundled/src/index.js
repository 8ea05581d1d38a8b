// A page and its worker, in a form that every bundler supports.
import init, { ErrorCode, JSONRPCPeer, RPCError, workerTransport } from "portway";

async function runCalls() {
  await init();
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  const peer = new JSONRPCPeer(workerTransport(worker));
  peer.method("nameOf", ({ id }) => `user ${id}`);

  // The worker is still loading now.
  const sum = await peer.request("add", [1, 2, 3]);
  const greeting = await peer.request("greet", { id: 7 });
  const refusal = await peer.request("refuse").catch((error) => error);
  const unknown = await peer.remote.nobody().catch((error) => error);
  const bytes = new Uint8Array([1, 2, 3]);
  const reversed = await peer.request("reverse", { bytes }, { transfer: [bytes.buffer] });
  const steps = [];
  await peer.request("count", { to: 3 }, { onProgress: (step) => steps.push(step) });
  peer.destroy();
  return {
    sum,
    greeting,
    refusal: refusal instanceof RPCError && [refusal.code, refusal.message, refusal.data],
    unknown: unknown instanceof RPCError && unknown.code === ErrorCode.MethodNotFound,
    moved: [bytes.byteLength, ...reversed],
    steps,
  };
}

runCalls().then(
  (outcome) => (globalThis.outcome = outcome),
  (error) => (globalThis.outcome = { error: String(error) }),
);
