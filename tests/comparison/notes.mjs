// The footnotes of the table, by behaviour and library. They explain outcomes of the probes (`saw` in
// expected.json). An asterisk in place of a library marks the note of a row.

export const notes = {
  "uncloneable-result": {
    birpc: "Sending the response fails in the realm of the handler; the call stays pending.",
    "json-rpc-2.0": "Sending the response fails in the realm of the handler; the call stays pending.",
  },
  "thrown-nothing": {
    "post-me": "`undefined` does not count as an error: the call resolves.",
    birpc: "None of them counts as an error: the call resolves.",
  },
  errors: {
    comlink: "An `Error` with its name and its original stack.",
    penpal: "An `Error` with its name and its original stack.",
    "post-me": "An object with `name` and `message`.",
    birpc: "The error as the browser clones it.",
    "vscode-jsonrpc": "If the handler throws a `ResponseError`.",
    "json-rpc-2.0": "If the handler throws a `JSONRPCErrorException`.",
  },
  disclosure: {
    "*": "The HTTP request of the handler had an `Authorization` header, and its response had a cookie.",
  },
  "two-clients": {
    "post-me": "The handshake of the second client fails.",
    "vscode-jsonrpc":
      "It sets `onmessage` of the port: the second client replaces the first, whose call stays pending.",
    "json-rpc-2.0": "Both clients number their calls from 1: the first receives the response of the second.",
  },
  cancel: {
    portway: "By an `AbortSignal`.",
    "vscode-jsonrpc": "By a `CancellationToken`: the handler is notified, and the call waits for its response.",
  },
  progress: {
    comlink: "By a callback among the arguments, in `Comlink.proxy`.",
    "post-me": "By a callback among the arguments.",
    "vscode-jsonrpc": "By `ProgressType` and a token that is sent with the params.",
  },
  transfer: {
    "vscode-jsonrpc": "Its writer for browsers has no transfer list. An application can write another writer.",
    "json-rpc-2.0": "By the send function that the application writes.",
  },
  foreign: {
    birpc: "It logs each foreign message, unless the application filters them.",
    "vscode-jsonrpc": "It sets `onmessage` of the port, and answers foreign messages that look like calls.",
    "json-rpc-2.0": "It logs each foreign message, unless the application filters them.",
  },
  notification: {
    "post-me": "By its events, `emit`.",
  },
  "slow-worker": {
    portway: "With `portway/early` as the first import of the worker.",
    penpal: "By its handshake, which may begin on either side.",
  },
  size: {
    "*": "The code that connects a page to its worker, bundled by esbuild for a browser, gzip -9. Portway includes its wasm.",
  },
};
