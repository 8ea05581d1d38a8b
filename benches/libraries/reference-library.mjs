// An adapter for the reference library, which is the code in the document that defines the protocol. Options have their
// defaults, except for the timeout. No workload reaches this timeout.

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
 * Returns a transport. The transport of the reference library supports only ports and workers, so this file has a
 * transport for windows. It checks the member `jsonrpc` in the same way, and also the source and the origin of a
 * message.
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
