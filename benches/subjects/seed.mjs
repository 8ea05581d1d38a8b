// The library of the document that the protocol comes from, with its defaults but for the timeout, which no workload
// may reach.

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

/** That of its ports does for workers, too; that of windows is written the same way. */
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
    onMessage: (given) => (handler = given),
  };
}
