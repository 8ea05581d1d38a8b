// Tests the types in Node without DOM types.

import { fork } from "node:child_process";
import { EventEmitter } from "node:events";
import { readFile } from "node:fs/promises";
import { MessageChannel as NodeChannel, Worker as NodeWorker } from "node:worker_threads";
import init, { connect, initSync, JSONRPCPeer, portTransport, workerTransport, type RPCTransport } from "portway";
import { same, type Equal } from "./equal.js";

export async function start(): Promise<void> {
  await init();
  initSync(await readFile("portway_bg.wasm"));
  await init(new URL("portway_bg.wasm", import.meta.url));
  portTransport(new MessageChannel().port1);
  portTransport(new NodeChannel().port1);
  // @ts-expect-error a port is not a worker
  workerTransport(new NodeChannel().port1);
}

export async function processes(): Promise<void> {
  workerTransport(fork("child.mjs"));
  workerTransport(process);
  await connect(fork("child.mjs"));
  await connect(process);
  // @ts-expect-error an emitter is not a process
  await connect(new EventEmitter());
}

export function threads(worker: NodeWorker): RPCTransport {
  workerTransport(worker);
  return {
    send: (message, transfer) => worker.postMessage(message, transfer),
    onMessage: (handler) => worker.on("message", handler),
  };
}

export function context(transport: RPCTransport): void {
  const peer = new JSONRPCPeer(transport);
  peer.method("read", async (params: { path: string }, context) => {
    same<Equal<typeof context.signal, AbortSignal>>(true);
    const { buffer } = new Uint8Array(await readFile(params.path, { signal: context.signal }));
    context.transfer([buffer]);
    return buffer;
  });
  void peer.request("x", undefined, { signal: AbortSignal.timeout(5) });
}
