// The methods of the worker.
import { JSONRPCPeer, RPCError, selfTransport } from "portway";

/** Serves the methods of the worker. The wasm must have been loaded before this call. */
export function serve() {
  const peer = new JSONRPCPeer(selfTransport());
  peer
    .method("add", (terms) => terms.reduce((sum, term) => sum + term))
    .method("greet", async ({ id }) => `hello, ${await peer.request("nameOf", { id })}`)
    .method("refuse", () => {
      throw new RPCError(-32001, "not today", { until: "tomorrow" });
    })
    .method("reverse", ({ bytes }, context) => {
      context.transfer([bytes.buffer]);
      return bytes.reverse();
    })
    .method("count", ({ to }, context) => {
      for (let step = 1; step <= to; step += 1) context.progress(step);
    });
}
