// A host with Portway, in the dialect `mcp`. `support/official-host.js` has the same functions with the official
// classes.

import { JSONRPCPeer, RPCError, windowTransport } from "../../web/support/portway.js";
import { createHandlers, HOST_CONTEXT, HOST_INFO, PROTOCOL_VERSION } from "./handlers.js";

/** Begins to listen to a window. `origin` is the origin of its document. */
export function startHost(window, origin) {
  const errors = [];
  const peer = new JSONRPCPeer(windowTransport(window, { origin }), {
    dialect: "mcp",
    onError: (error) => errors.push(String(error)),
  });
  const { requests, received, onceInitialized, initialized, reasons } = createHandlers((code, message, data) => {
    throw new RPCError(code, message, data);
  });
  let sandboxReady;
  const onceSandboxReady = new Promise((resolve) => (sandboxReady = resolve));
  peer
    .method("ui/initialize", () => ({
      protocolVersion: PROTOCOL_VERSION,
      hostInfo: HOST_INFO,
      hostCapabilities: { serverTools: {}, serverResources: {}, openLinks: {}, logging: {}, updateModelContext: {} },
      hostContext: HOST_CONTEXT,
    }))
    .onNotify("ui/notifications/initialized", initialized)
    .onNotify("ui/notifications/sandbox-proxy-ready", sandboxReady);
  for (const [method, handler] of Object.entries(requests)) peer.method(method, handler);
  for (const name of ["ui/notifications/size-changed", "ui/notifications/request-teardown", "notifications/message"])
    peer.onNotify(name, (params) => received.push([name, params]));
  return {
    errors,
    received,
    reasons,
    onceInitialized,
    onceSandboxReady,
    callTool: (params, options) => peer.request("tools/call", params, options),
    listTools: () => peer.request("tools/list", {}),
    ping: () => peer.request("ping"),
    tearDown: () => peer.request("ui/resource-teardown", {}),
    notify: (method, params) => peer.notify(method, params),
    destroy: () => peer.destroy(),
  };
}
