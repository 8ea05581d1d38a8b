// A thread of Node, which threads.js starts.
import { parentPort } from "node:worker_threads";
import init, { JSONRPCPeer, portTransport } from "portway";

await init();
const peer = new JSONRPCPeer(portTransport(parentPort));
peer
  .method("greet", async () => `thread greets ${await peer.remote.who()}`)
  .method("reverse", ({ bytes }, context) => {
    context.transfer([bytes.buffer]);
    return bytes.reverse();
  });
