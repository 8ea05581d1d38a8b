// The script of the sandboxed iframe. The page replaces PAGE by its own origin.
import init, { JSONRPCPeer, windowTransport } from "./node_modules/portway/inline.js";

await init();
const peer = new JSONRPCPeer(windowTransport(parent, { origin: "PAGE" }));
peer.method("greet", async () => `${origin} frame greets ${await peer.remote.who()}`);
parent.postMessage("ready", "PAGE");
