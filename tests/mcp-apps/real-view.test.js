// The real view of the npm package `@modelcontextprotocol/server-basic-vanillajs`, in a host with Portway. Its requests
// for tools pass through the host to the real server.

import { assert } from "chai";
import { afterThisTest } from "../web/support/cleanup.js";
import { origins } from "../web/support/iframes.js";
import { JSONRPCPeer, windowTransport } from "../web/support/portway.js";
import { until } from "../web/support/outcomes.js";
import { openBehindProxy, openDirectly } from "./support/views.js";
import { HOST_CONTEXT, HOST_INFO, PROTOCOL_VERSION } from "./support/handlers.js";

/** Makes a request to the server. The runner of the suite passes it on. */
async function askServer(method, params = {}) {
  const response = await fetch("/", { method: "POST", body: JSON.stringify({ method, params }) });
  return response.json();
}

/** Returns the tool of the server that has a view, and the HTML of the view. */
async function toolWithView() {
  const { tools } = await askServer("tools/list");
  const tool = tools.find(({ _meta }) => _meta?.ui?.resourceUri);
  const { contents } = await askServer("resources/read", { uri: tool._meta.ui.resourceUri });
  assert.equal(contents[0].mimeType, "text/html;profile=mcp-app");
  return { tool, html: contents[0].text };
}

/** Returns a host that passes the calls of the view to the server, and records all other messages of the view. */
function startRealHost(window, origin) {
  const errors = [];
  const received = [];
  const peer = new JSONRPCPeer(windowTransport(window, { origin }), {
    dialect: "mcp",
    onError: (error) => errors.push(error),
  });
  let [initialized, sandboxReady] = [];
  const onceInitialized = new Promise((resolve) => (initialized = resolve));
  const onceSandboxReady = new Promise((resolve) => (sandboxReady = resolve));
  const note = (method) => (params) => void received.push([method, params]);
  peer
    .method("ui/initialize", () => ({
      protocolVersion: PROTOCOL_VERSION,
      hostInfo: HOST_INFO,
      hostCapabilities: { serverTools: {}, openLinks: {}, logging: {} },
      hostContext: HOST_CONTEXT,
    }))
    .onNotify("ui/notifications/initialized", initialized)
    .onNotify("ui/notifications/sandbox-proxy-ready", sandboxReady)
    .method("tools/call", (params) => {
      received.push(["tools/call", params]);
      return askServer("tools/call", params);
    });
  // These handlers return nothing.
  for (const method of ["ui/message", "ui/open-link"]) peer.method(method, note(method));
  for (const method of ["notifications/message", "ui/notifications/size-changed"]) peer.onNotify(method, note(method));
  afterThisTest(() => {
    peer.destroy();
    assert.deepEqual(errors, []);
  });
  return {
    onceInitialized,
    onceSandboxReady,
    notify: (method, params) => peer.notify(method, params),
    request: (method, params) => peer.request(method, params),
    receives: (method) => until(() => received.some(([name]) => name === method), `the view has not sent ${method}`),
    paramsOf: (wanted) => received.filter(([method]) => method === wanted).map(([, params]) => params),
  };
}

it("the real view initializes itself, and each of its four buttons reaches the host and the server", async () => {
  const { tool, html } = await toolWithView();
  // With `allow-same-origin`, this page can press the buttons of the view.
  const { element, host } = openDirectly(html, startRealHost, "allow-scripts allow-same-origin");
  afterThisTest(() => element.remove());
  await host.onceInitialized;
  host.notify("ui/notifications/tool-input", { arguments: {} });
  const view = element.contentDocument;
  const timeOf = () => view.getElementById("server-time").textContent;
  const first = await askServer("tools/call", { name: tool.name, arguments: {} });
  host.notify("ui/notifications/tool-result", first);
  await until(
    () => first.content[0].text.includes(timeOf()),
    () => `the view must show the time, got ${timeOf()}`,
  );

  const shown = timeOf();
  await until(() => Math.abs(Date.now() - Date.parse(shown)) > 5);
  view.getElementById("get-time-btn").click();
  await until(() => timeOf() !== shown);
  assert.deepEqual(
    host.paramsOf("tools/call").map(({ name }) => name),
    [tool.name],
  );
  assert.approximately(Date.parse(timeOf()), Date.now(), 20_000);

  view.getElementById("send-message-btn").click();
  await host.receives("ui/message");
  assert.equal(host.paramsOf("ui/message")[0].content[0].text, "This is message text.");
  view.getElementById("send-log-btn").click();
  await host.receives("notifications/message");
  assert.deepEqual(host.paramsOf("notifications/message"), [{ level: "info", data: "This is log text." }]);
  view.getElementById("open-link-btn").click();
  await host.receives("ui/open-link");
  assert.deepEqual(host.paramsOf("ui/open-link"), [{ url: "https://modelcontextprotocol.io/" }]);
  assert.deepEqual(await host.request("ui/resource-teardown", {}), {});
});

it("the real view has no origin in a sandboxed iframe, reports its size, and ends", async () => {
  const { html } = await toolWithView();
  const { element, host } = openDirectly(html, startRealHost);
  afterThisTest(() => element.remove());
  await host.onceInitialized;
  await host.receives("ui/notifications/size-changed");
  assert.isAbove(host.paramsOf("ui/notifications/size-changed")[0].height, 0);
  assert.deepEqual(await host.request("ping"), {});
  assert.deepEqual(await host.request("ui/resource-teardown", {}), {});
});

for (const sandbox of [undefined, "allow-scripts"]) {
  it(`the real view works behind a proxy, with the sandbox ${sandbox ?? "of the proxy"}`, async () => {
    const { html } = await toolWithView();
    const { element, host } = await openBehindProxy(html, startRealHost, sandbox);
    afterThisTest(() => element.remove());
    assert.notEqual(origins.own, origins.other);
    await host.onceInitialized;
    await host.receives("ui/notifications/size-changed");
    assert.deepEqual(await host.request("ui/resource-teardown", {}), {});
  });
}
