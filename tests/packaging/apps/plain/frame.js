// The iframe of the page.
import "./node_modules/portway/early.js";
import init, { JSONRPCPeer, windowTransport } from "./node_modules/portway/portway.js";

await init();
const peer = new JSONRPCPeer(windowTransport(parent));
peer.method("greet", async () => `frame greets ${await peer.remote.who()}`);
