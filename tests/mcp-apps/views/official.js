// A view with the official `App`.

import { App } from "@modelcontextprotocol/ext-apps";
import { ProtocolError } from "@modelcontextprotocol/client";
import { createTools } from "./tools.js";

const errors = [];
const app = new App({ name: "official view", version: "1.0.0" }, { tools: {} });
app.onerror = (error) => errors.push(String(error));

/** `App` has a method for each request. */
const methods = {
  "tools/call": "callServerTool",
  "resources/read": "readServerResource",
  "ui/message": "sendMessage",
  "ui/open-link": "openLink",
  "ui/download-file": "downloadFile",
  "ui/request-display-mode": "requestDisplayMode",
  "ui/update-model-context": "updateModelContext",
};
const senders = {
  "notifications/message": "sendLog",
  "ui/notifications/size-changed": "sendSizeChanged",
  "ui/notifications/request-teardown": "requestTeardown",
};

const { notifications, callTool } = createTools({
  errors,
  request: (method, params, { signal, timeout, onProgress }) =>
    app[methods[method]](params, { signal, timeout, onprogress: onProgress }),
  notify: (method, params) => app[senders[method]](params),
  fail(code, message, data) {
    throw new ProtocolError(code, message, data);
  },
});
for (const name of ["tool-input", "tool-input-partial", "tool-result", "tool-cancelled", "host-context-changed"])
  app.addEventListener(name.replaceAll(/-|-context-/g, ""), (params) => notifications.push([name, params]));
app.onlisttools = async () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] });
app.oncalltool = async ({ name, arguments: args }, { mcpReq }) => {
  const progressToken = mcpReq._meta?.progressToken;
  const progress = async (value) => {
    if (progressToken === undefined) return;
    await mcpReq.notify({ method: "notifications/progress", params: { ...value, progressToken } });
  };
  return callTool(name, args, { signal: mcpReq.signal, progress });
};
app.onteardown = async () => ({});
await app.connect();
