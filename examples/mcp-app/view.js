// A view of MCP Apps, for any host. It calls the tool `count-primes` of the host's server.

import init, { JSONRPCPeer, windowTransport } from "portway/inline";

const element = (id) => document.getElementById(id);

await init();
// A view does not know the origin of its host, so it accepts any origin. But it accepts only messages of its parent
// window.
const host = new JSONRPCPeer(windowTransport(parent, { origin: "*" }), { dialect: "mcp" });
let controller;

host
  .onNotify("ui/notifications/tool-input", ({ arguments: { limit } }) => {
    element("limit").value = limit;
  })
  .onNotify("ui/notifications/tool-result", showResult)
  .method("ui/resource-teardown", () => {
    controller?.abort(new Error("the view is closed"));
  });

const { hostInfo } = await host.request("ui/initialize", {
  protocolVersion: "2026-01-26",
  appInfo: { name: "prime view", version: "1.0.0" },
  appCapabilities: {},
});
host.notify("ui/notifications/initialized");
element("state").textContent = `connected to ${hostInfo.name}`;
setRunning(false);

async function count() {
  const limit = element("limit").valueAsNumber;
  controller = new AbortController();
  setRunning(true);
  try {
    const result = await host.request(
      "tools/call",
      { name: "count-primes", arguments: { limit } },
      { signal: controller.signal, timeout: 60_000, onProgress: showProgress },
    );
    showResult(result);
    // Adds the new result to the context of the host's model. The response is empty.
    await host.request("ui/update-model-context", { content: result.content });
  } catch (error) {
    element("result").textContent = error.message;
  } finally {
    setRunning(false);
  }
}

function showProgress({ progress, total }) {
  element("progress").value = progress / total;
}

function showResult({ content: [{ text }] }) {
  element("result").textContent = text;
}

function setRunning(isRunning) {
  element("count").disabled = isRunning;
  element("stop").disabled = !isRunning;
  element("progress").value = 0;
}

element("count").addEventListener("click", () => count());
element("stop").addEventListener("click", () => controller.abort(new Error("the user has stopped the call")));

// The host sets the height of the iframe to the height of the view.
new ResizeObserver(() => {
  host.notify("ui/notifications/size-changed", {
    height: Math.ceil(document.documentElement.getBoundingClientRect().height),
  });
}).observe(document.documentElement);
