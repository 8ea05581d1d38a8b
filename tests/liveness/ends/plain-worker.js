import init, { JSONRPCPeer, selfTransport } from "/pkg/portway.js";
import { methods } from "./serve.js";

await init();
const peer = new JSONRPCPeer(selfTransport());
for (const [name, handler] of Object.entries(methods)) peer.method(name, handler);
postMessage({ type: "ready" });
