// The library of the document that the protocol comes from, with its defaults, but with a timeout that no workload
// reaches.

import { DocumentClient, DocumentServer, documentPortTransport } from "../../tests/web/fixtures/reference-library.js";

export function call(side) {
  const client = new DocumentClient(transportOf(side), { timeout: 60_000 });
  return {
    call: (method, params) => client.request(method, params),
    notify: (method, params) => client.notify(method, params),
  };
}

export function serve(side, makeMethods) {
  const server = new DocumentServer(transportOf(side));
  const { tick, ...methods } = makeMethods();
  for (const [name, handler] of Object.entries(methods)) server.method(name, handler);
  server.onNotify("tick", tick);
}

/**
 * Returns a transport. The library's own one for ports also supports workers; the one for windows is written in the
 * same way.
 */
function transportOf({ kind, target, origin }) {
  if (kind !== "frame" && kind !== "parent") return documentPortTransport(target);
  let handler;
  globalThis.addEventListener("message", (event) => {
    if (event.source !== target || event.origin !== origin) return;
    if (event.data?.jsonrpc !== "2.0") return;
    handler?.(event.data);
  });
  return {
    send: (message) => target.postMessage(message, origin),
    onMessage: (listener) => (handler = listener),
  };
}
