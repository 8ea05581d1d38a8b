// A worker thread of Node and its owner call each other.
import { Worker } from "node:worker_threads";
import init, { JSONRPCPeer, workerTransport } from "portway";

await init();
const worker = new Worker(new URL("./thread.js", import.meta.url));
const peer = new JSONRPCPeer(workerTransport(worker));
peer.method("who", () => "main thread");
// The thread is still loading now.
const greeting = await peer.request("greet");
const bytes = new Uint8Array([1, 2, 3]);
const reversed = await peer.request("reverse", { bytes }, { transfer: [bytes.buffer] });
peer.destroy();
await worker.terminate();
console.log(JSON.stringify({ greeting, moved: [bytes.byteLength, ...reversed] }));
