// A host with the official `AppBridge`.

import { ProtocolError } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
import { createHandlers, HOST_CONTEXT, HOST_INFO } from "./handlers.js";

/** `AppBridge` has a member for the handler of each request. */
const handlerNames = {
  "tools/call": "oncalltool",
  "resources/read": "onreadresource",
  "ui/message": "onmessage",
  "ui/open-link": "onopenlink",
  "ui/download-file": "ondownloadfile",
  "ui/request-display-mode": "onrequestdisplaymode",
  "ui/update-model-context": "onupdatemodelcontext",
};
const notificationNames = {
  "ui/notifications/size-changed": "onsizechange",
  "ui/notifications/request-teardown": "onrequestteardown",
  "notifications/message": "onloggingmessage",
};
const senders = {
  "ui/notifications/tool-input": "sendToolInput",
  "ui/notifications/tool-input-partial": "sendToolInputPartial",
  "ui/notifications/tool-result": "sendToolResult",
  "ui/notifications/tool-cancelled": "sendToolCancelled",
  "ui/notifications/host-context-changed": "sendHostContextChange",
  "ui/notifications/sandbox-resource-ready": "sendSandboxResourceReady",
};

/** Begins to listen to a window. `AppBridge` checks only the window of a message, and not its origin. */
export function startHost(window) {
  const errors = [];
  const capabilities = { serverTools: {}, serverResources: {}, openLinks: {}, logging: {}, updateModelContext: {} };
  const bridge = new AppBridge(null, HOST_INFO, capabilities, { hostContext: HOST_CONTEXT });
  bridge.onerror = (error) => errors.push(String(error));
  const { requests, received, onceInitialized, initialized, reasons } = createHandlers((code, message, data) => {
    throw new ProtocolError(code, message, data);
  });
  bridge.oninitialized = () => initialized();
  const onceSandboxReady = new Promise((resolve) => (bridge.onsandboxready = () => resolve()));
  for (const [method, name] of Object.entries(handlerNames)) {
    bridge[name] = async (params, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      const progress = async (value) => {
        if (progressToken === undefined) return;
        await mcpReq.notify({ method: "notifications/progress", params: { ...value, progressToken } });
      };
      // `AppBridge` requires an object.
      return (await requests[method](params, { signal: mcpReq.signal, progress })) ?? {};
    };
  }
  for (const [method, name] of Object.entries(notificationNames))
    bridge[name] = (params) => void received.push([method, params]);
  bridge.connect(new PostMessageTransport(window, window));
  return {
    errors,
    received,
    reasons,
    onceInitialized,
    onceSandboxReady,
    callTool: (params, { onProgress, ...options } = {}) =>
      bridge.callTool(params, { ...options, onprogress: onProgress }),
    listTools: () => bridge.listTools({}),
    ping: () => bridge.request({ method: "ping" }),
    tearDown: () => bridge.teardownResource({}),
    notify: (method, params) => bridge[senders[method]](params),
    destroy: () => bridge.close(),
  };
}
