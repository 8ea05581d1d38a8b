// An adapter for vscode-jsonrpc with its reader and writer for browsers. The reader and the writer support only ports
// and workers. vscode-jsonrpc has no timeouts.

import { BrowserMessageReader, BrowserMessageWriter, createMessageConnection } from "vscode-jsonrpc/browser";

export function call(side) {
  const connection = start(side);
  connection.listen();
  return {
    call: (method, params) => connection.sendRequest(method, params),
    notify: (method, params) => void connection.sendNotification(method, params),
  };
}

export function serve(side, makeMethods) {
  const connection = start(side);
  const { tick, ...methods } = makeMethods();
  for (const [name, handler] of Object.entries(methods)) connection.onRequest(name, (params) => handler(params));
  connection.onNotification("tick", tick);
  connection.listen();
}

function start({ target }) {
  return createMessageConnection(new BrowserMessageReader(target), new BrowserMessageWriter(target));
}
