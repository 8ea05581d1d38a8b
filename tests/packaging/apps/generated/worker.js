// The worker of the page, with a package that wasm-pack has built.
import init, { JSONRPCPeer, RPCError, selfTransport } from "./pkg/portway.js";

await init();
const peer = new JSONRPCPeer(selfTransport());
peer
  .method("greet", async () => `worker greets ${await peer.remote.who()}`)
  .method("refuse", () => {
    throw new RPCError(-32001, "not today");
  });
postMessage("ready");
