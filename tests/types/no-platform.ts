// Tests a project without DOM, worker or Node types. Such a project must write its own transport. All other items of
// the package compile.

import init, { initSync, JSONRPCPeer, type RPCTransport, type TransferItem } from "portway";
import { same, type Equal } from "./equal.js";

interface Api {
  add: { params: [number, number]; result: number };
}
declare const pipe: { write(message: unknown, transfer: readonly object[]): void };

const transport: RPCTransport = {
  send: (message, transfer) => pipe.write(message, transfer ?? []),
  onMessage: () => {},
};

export async function run(bytes: Uint8Array): Promise<number> {
  await init(bytes);
  initSync(bytes);
  same<Equal<TransferItem, object>>(true);
  const peer = new JSONRPCPeer<Api, Api>(transport);
  peer.method("add", ([a, b], { signal }) => (signal.aborted ? 0 : a + b));
  return peer.remote.add([1, 2]);
}
