// Opens views in iframes: directly, or behind a proxy as web hosts do.

const query = new URLSearchParams(location.search);
/** The origin of the page, and the origin of proxies. */
const [own, other] = [query.get("own"), query.get("other")];

/** Returns the HTML of a view, as a server would send it. */
export async function viewHtml(name) {
  return (await fetch(`/target/mcp-apps/${name}-view.html`)).text();
}

/** Adds an iframe with the view to the page. `startHost(window, origin)` returns a host that listens to the view. */
export function openDirectly(html, startHost, sandbox = "allow-scripts") {
  const element = document.createElement("iframe");
  element.setAttribute("sandbox", sandbox);
  document.body.append(element);
  const host = startHost(element.contentWindow, sandbox.includes("allow-same-origin") ? own : "null");
  element.srcdoc = html;
  return { element, host };
}

/** Adds an iframe with a proxy of another origin to the page. The proxy waits for the HTML of its view. */
export function openProxy(startHost) {
  const element = document.createElement("iframe");
  element.setAttribute("sandbox", "allow-scripts allow-same-origin");
  document.body.append(element);
  const host = startHost(element.contentWindow, other);
  element.src = `${other}/tests/mcp-apps/support/proxy.html?${new URLSearchParams({ host: own })}`;
  return { element, host };
}

/** Adds an iframe with a proxy to the page. The proxy creates an iframe for the view, with the attribute `sandbox`. */
export async function openBehindProxy(html, startHost, sandbox) {
  const { element, host } = openProxy(startHost);
  await sendToProxy(host, html, sandbox);
  return { element, host };
}

/** Waits for the proxy, and sends it the view. */
export async function sendToProxy(host, html, sandbox) {
  await host.onceSandboxReady;
  host.notify("ui/notifications/sandbox-resource-ready", { html, ...(sandbox && { sandbox }) });
}
