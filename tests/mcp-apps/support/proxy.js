// The proxy of web hosts, as the specification of MCP Apps describes it. The proxy and the host have different origins.
// The proxy creates an iframe for the view, and passes on all messages except `ui/notifications/sandbox-*`.

const hostOrigin = new URLSearchParams(location.search).get("host");
const isOfSandbox = (data) => String(data?.method).startsWith("ui/notifications/sandbox-");
let view;

addEventListener("message", ({ source, origin, data }) => {
  if (source === parent && origin === hostOrigin) {
    if (data.method === "ui/notifications/sandbox-resource-ready") showView(data.params);
    else if (!isOfSandbox(data)) view?.contentWindow.postMessage(data, "*");
  } else if (source !== null && source === view?.contentWindow && !isOfSandbox(data)) {
    parent.postMessage(data, hostOrigin);
  }
});

function showView({ html, sandbox = "allow-scripts allow-same-origin" }) {
  view = document.createElement("iframe");
  view.setAttribute("sandbox", sandbox);
  document.body.append(view);
  // With `allow-same-origin`, web hosts write the document, so that the view has the origin of the proxy.
  if (sandbox.includes("allow-same-origin")) {
    view.contentDocument.open();
    view.contentDocument.write(html);
    view.contentDocument.close();
  } else {
    view.srcdoc = html;
  }
}

parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, hostOrigin);
