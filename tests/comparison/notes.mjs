// Lists the footnotes of the table, by behaviour and library. A footnote explains the outcome of a probe.
// The outcomes are the values of `saw` in expected.json. An asterisk in place of a library marks the footnote of a row.

export const notes = {
  "uncloneable-result": {
    birpc: "The realm of the handler fails to send the response. The call stays pending.",
    "json-rpc-2.0": "The realm of the handler fails to send the response. The call stays pending.",
  },
  "thrown-nothing": {
    "post-me": "If a handler throws `undefined`, the call resolves.",
    birpc: "If a handler throws any of the values in this row, the call resolves.",
  },
  errors: {
    comlink: "The caller receives an `Error` with its name and its original stack.",
    penpal: "The caller receives an `Error` with its name and its original stack.",
    "post-me": "The caller receives an object with `name` and `message`.",
    birpc: "The caller receives the error as the browser clones it.",
    "vscode-jsonrpc": "The handler must throw a `ResponseError`.",
    "json-rpc-2.0": "The handler must throw a `JSONRPCErrorException`.",
  },
  disclosure: {
    "*": "The HTTP request of the handler had an `Authorization` header, and its response had a cookie.",
  },
  "two-clients": {
    "post-me": "The handshake of the second client fails.",
    "vscode-jsonrpc":
      "Each client sets `onmessage` of the port. The second client replaces the first client, whose call stays pending.",
    "json-rpc-2.0":
      "Both clients number their calls from 1. The first client receives the response to the second client.",
  },
  cancel: {
    portway: "An `AbortSignal` cancels the call.",
    "vscode-jsonrpc": "A `CancellationToken` notifies the handler. The call stays pending until the handler responds.",
  },
  progress: {
    comlink: "The caller passes a callback in `Comlink.proxy` as an argument.",
    "post-me": "The caller passes a callback as an argument.",
    "vscode-jsonrpc": "The caller uses `ProgressType`, and sends a token with the params.",
  },
  transfer: {
    "vscode-jsonrpc": "The writer for browsers has no transfer list. An application can implement another writer.",
    "json-rpc-2.0": "The send function of the application must pass the transfer list.",
  },
  foreign: {
    birpc: "The library logs each foreign message that the application does not filter.",
    "vscode-jsonrpc": "The library sets `onmessage` of the port, and answers foreign messages that resemble calls.",
    "json-rpc-2.0": "The library logs each foreign message that the application does not filter.",
  },
  notification: {
    "post-me": "The function `emit` sends events.",
  },
  "slow-worker": {
    portway: "The worker must import `portway/early` first.",
    penpal: "Either peer may begin the handshake.",
  },
  size: {
    "*": "The size of the code that connects a page to its worker, after esbuild and gzip -9. Portway includes its wasm.",
  },
};
