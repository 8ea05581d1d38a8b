// The worker of the page.
import "./node_modules/portway/early.js";
import init, { JSONRPCPeer, selfTransport } from "./node_modules/portway/portway.js";

await init();
const peer = new JSONRPCPeer(selfTransport());
peer.method("greet", async () => `worker greets ${await peer.remote.who()}`);
