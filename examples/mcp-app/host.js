// A host of MCP Apps. It shows a view in an iframe, and answers the requests of the view.

// This import must be the first. It buffers the messages of the view until the host listens.
import "portway/early";
import init, { JSONRPCPeer, RPCError, windowTransport } from "portway";
import { countPrimes, resultOf } from "./tool.js";

const element = (id) => document.getElementById(id);
const iframe = element("view");

/** The arguments with which the model has called the tool. */
const toolInput = { limit: 100_000 };

// In a real host, this text is the result of `resources/read` of an MCP server. The view runs at once, and sends
// `ui/initialize`.
iframe.srcdoc = await (await fetch("dist/view.html")).text();
await Promise.all([init(), otherWork()]);

// The origin of an iframe without `allow-same-origin` is "null".
const view = new JSONRPCPeer(windowTransport(iframe.contentWindow, { origin: "null" }), { dialect: "mcp" });
view
  .method("ui/initialize", ({ appInfo }) => {
    log(`ui/initialize of ${appInfo.name}`);
    return {
      protocolVersion: "2026-01-26",
      hostInfo: { name: "Portway's host", version: "1.0.0" },
      hostCapabilities: { serverTools: {} },
      hostContext: { theme: "light", displayMode: "inline" },
    };
  })
  .onNotify("ui/notifications/initialized", () => showTool().catch(showError))
  .onNotify("ui/notifications/size-changed", ({ height }) => {
    iframe.style.height = `${height + 2}px`; // the border has 2 px
  })
  // In a real host, this handler passes the call to an MCP server.
  .method("tools/call", async ({ name, arguments: { limit } }, context) => {
    if (name !== "count-primes") throw new RPCError(-32602, `unknown tool: ${name}`);
    log(`tools/call up to ${limit}`);
    context.signal.addEventListener("abort", () => log(`cancelled: ${context.signal.reason.message}`));
    const count = await countPrimes(limit, (progress) => {
      context.progress({ progress, total: limit });
      return context.yield(); // rejects if the view has cancelled the request
    });
    return resultOf(limit, count);
  })
  // The handler returns nothing, so the result is `{}`.
  .method("ui/update-model-context", ({ content: [{ text }] }) => log(`ui/update-model-context: ${text}`));
element("state").textContent = "The host listens.";

/**
 * Sends the view the arguments and the result of the tool. A host must not send them before the view is initialized.
 */
async function showTool() {
  element("state").textContent = "The view is initialized.";
  element("close").disabled = false;
  view.notify("ui/notifications/tool-input", { arguments: toolInput });
  const count = await countPrimes(toolInput.limit);
  view.notify("ui/notifications/tool-result", resultOf(toolInput.limit, count));
}

/** Asks the view to end, and removes the view. If the view does not answer, it is removed after 1 s. */
async function close() {
  element("close").disabled = true;
  await view.request("ui/resource-teardown", {}, { timeout: 1_000 }).catch(showError);
  view.destroy();
  iframe.remove();
  element("state").textContent = "The view is closed.";
}

/** Stands for work that delays a host, so that the host listens late. */
function otherWork() {
  return new Promise((resolve) => setTimeout(resolve, 1_000));
}

function log(text) {
  const item = document.createElement("li");
  item.textContent = text;
  element("log").append(item);
}

function showError({ message }) {
  log(message);
}

element("close").addEventListener("click", () => close());
