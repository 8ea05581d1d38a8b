import init, { JSONRPCPeer, windowTransport } from "/pkg/portway.js";
import { methods } from "./serve.js";

addEventListener("message", ({ data }) => data?.type === "reload" && location.reload());
await init();
const peer = new JSONRPCPeer(windowTransport(parent));
for (const [name, handler] of Object.entries(methods)) peer.method(name, handler);
parent.postMessage({ type: "ready" });
