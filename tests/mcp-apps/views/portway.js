// A view with Portway, in the dialect `mcp`.

import init, { JSONRPCPeer, RPCError, windowTransport } from "portway/inline";
import { createTools } from "./tools.js";

await init();
const errors = [];
const peer = new JSONRPCPeer(windowTransport(parent, { origin: "*" }), {
  dialect: "mcp",
  onError: (error) => errors.push(String(error)),
});
const { notifications, callTool } = createTools({
  errors,
  request: (method, params, options) => peer.request(method, params, options),
  notify: (method, params) => peer.notify(method, params),
  fail(code, message, data) {
    throw new RPCError(code, message, data);
  },
});
for (const name of ["tool-input", "tool-input-partial", "tool-result", "tool-cancelled", "host-context-changed"])
  peer.onNotify(`ui/notifications/${name}`, (params) => notifications.push([name, params]));
peer
  .method("tools/list", () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }))
  .method("tools/call", ({ name, arguments: args }, context) => callTool(name, args, context))
  .method("ui/resource-teardown", () => {});
await peer.request("ui/initialize", {
  protocolVersion: "2026-01-26",
  appInfo: { name: "portway view", version: "1.0.0" },
  appCapabilities: { tools: {} },
});
peer.notify("ui/notifications/initialized");
peer.notify("ui/notifications/size-changed", { width: 300, height: 200 });
