import init, { JSONRPCPeer, windowTransport } from "/pkg/portway.js";
import { methods } from "./serve.js";

// By itself: where its parent does that, WebKit at times loads nothing any more.
addEventListener("message", ({ data }) => data?.type === "reload" && location.reload());
await init();
const peer = new JSONRPCPeer(windowTransport(parent));
for (const [name, handler] of Object.entries(methods)) peer.method(name, handler);
parent.postMessage({ type: "ready" });
