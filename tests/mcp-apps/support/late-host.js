// A host that listens only after the first message has arrived from its iframe. In the query, `host` is the kind of the
// host, `view` is the kind of the view, and `place` is "directly" or "proxy". With `early`, the host imports
// `portway/early` before it opens the iframe.

import { openDirectly, openProxy, sendToProxy, viewHtml } from "./views.js";

const query = new URLSearchParams(location.search);
const report = (state) => parent.postMessage({ type: "late host", state }, "*");
const hostModules = { portway: "./portway-host.js", official: "/target/mcp-apps/official-host.js" };
const hasProxy = query.get("place") === "proxy";

try {
  if (query.has("early")) await import("/pkg/early.js");
  const html = await viewHtml(query.get("view"));
  let opened;
  // Instead of a host, this function only keeps the window and its origin.
  const keep = (window, origin) => {
    opened = { window, origin };
  };
  const arrived = new Promise((resolve) =>
    addEventListener("message", ({ data }) => data?.jsonrpc === "2.0" && resolve()),
  );
  if (hasProxy) openProxy(keep);
  else openDirectly(html, keep);
  await arrived;
  const { startHost } = await import(hostModules[query.get("host")]);
  const host = startHost(opened.window, opened.origin);
  report("listens");
  if (hasProxy) await sendToProxy(host, html);
  await host.onceInitialized;
  report("initialized");
} catch (error) {
  report(`${error.name}: ${error.message}`);
}
