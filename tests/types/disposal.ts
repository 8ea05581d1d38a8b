// Tests `using`, for projects whose TypeScript library declares `Symbol.dispose`.

import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, type RPCTransport } from "portway";
import { same, type Equal } from "./equal.js";

declare const transport: RPCTransport;

export async function endOfTheBlockDestroys(): Promise<void> {
  using client = new JSONRPCClient(transport);
  using server = new JSONRPCServer<{}>(transport);
  using peer = new JSONRPCPeer(transport);
  server.onNotify;
  peer.remote;
  await client.request("ping");
}

export function isDisposable(client: JSONRPCClient): void {
  const disposable: Disposable = client;
  same<Equal<ReturnType<(typeof client)[typeof Symbol.dispose]>, void>>(true);
  disposable[Symbol.dispose]();
}
