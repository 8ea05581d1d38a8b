// Tests the types of the whole API inside a worker, where `Window` is not declared.

import init, {
  broadcastTransport,
  JSONRPCPeer,
  JSONRPCServer,
  portTransport,
  selfTransport,
  windowTransport,
  workerTransport,
  type BuildHostApi,
  type BuildWorkerApi,
} from "portway";
import "portway/early";
import { same, type Equal } from "./equal.js";

declare const self: DedicatedWorkerGlobalScope;

export async function start(): Promise<void> {
  await init(new URL("portway_bg.wasm", import.meta.url));
  const page = new JSONRPCPeer<BuildHostApi, BuildWorkerApi>(selfTransport());
  page.method("build", async ({ entry }, context) => {
    same<Equal<typeof context.signal, AbortSignal>>(true);
    const source = await fetch(entry, { signal: context.signal });
    const bytes = new Uint8Array(await source.arrayBuffer());
    context.transfer([bytes.buffer]);
    context.notify("buildProgress", { phase: "done" });
    return { output: [{ path: entry, contents: "", bytes }], warnings: [] };
  });
  page.notify("buildWarning", { message: "slow" });
  self.close();
}

export function channels(nested: Worker, event: MessageEvent): void {
  portTransport(event.ports[0]!);
  workerTransport(nested);
  broadcastTransport(new BroadcastChannel("name"));
  new JSONRPCServer(portTransport(new MessageChannel().port2)).method("draw", (_, context) => {
    context.transfer([new OffscreenCanvas(1, 1)]);
  });
  // @ts-expect-error the scope of a worker is not a window
  windowTransport(self);
}
