// The footnotes of the table, by behaviour and library. They explain outcomes that the probes have seen (`saw` in
// expected.json); an asterisk in place of a library is for the row.

export const notes = {
  "uncloneable-result": {
    birpc: "Sending the reply fails where the handler runs; the caller waits.",
    "json-rpc-2.0": "Sending the reply fails where the handler runs; the caller waits.",
  },
  "thrown-nothing": {
    "post-me": "`undefined` counts as no error: the call is fulfilled.",
    birpc: "All of them count as no error: the call is fulfilled.",
  },
  errors: {
    comlink: "As an `Error`, with its name and the stack of the other side.",
    penpal: "As an `Error`, with its name and the stack of the other side.",
    "post-me": "As an object with `name` and `message`.",
    birpc: "As the browser clones errors.",
    "vscode-jsonrpc": "If the handler throws a `ResponseError`.",
    "json-rpc-2.0": "If the handler throws a `JSONRPCErrorException`.",
  },
  disclosure: {
    "*": "The request of the handler had an `Authorization` header, and its answer a cookie.",
  },
  "two-clients": {
    "post-me": "The handshake of the second fails.",
    "vscode-jsonrpc":
      "It sets `onmessage` of the port: the second client takes the place of the first, whose call waits.",
    "json-rpc-2.0": "Both count their calls from 1: the first gets the answer of the second.",
  },
  cancel: {
    portway: "By an `AbortSignal`.",
    "vscode-jsonrpc": "By a `CancellationToken`: the handler is told, and the call waits for what it answers.",
  },
  progress: {
    comlink: "By a callback among the arguments, in `Comlink.proxy`.",
    "post-me": "By a callback among the arguments.",
    "vscode-jsonrpc": "By `ProgressType` and a token that goes with the params.",
  },
  transfer: {
    "vscode-jsonrpc": "Its writer for browsers has no list of what to transfer; one can write another.",
    "json-rpc-2.0": "Through the function that sends, which one writes oneself.",
  },
  foreign: {
    birpc: "It complains of each message that is not its own, unless one filters them first.",
    "vscode-jsonrpc": "It sets `onmessage` of the port, and answers what looks like a call.",
    "json-rpc-2.0": "It complains of each message that is not its own, unless one filters them first.",
  },
  notification: {
    "post-me": "By its events, `emit`.",
  },
  "slow-worker": {
    portway: "With `portway/early` as the first import of the worker.",
    penpal: "By its handshake, which either side may begin.",
  },
  size: {
    "*": "What joins a page to its worker, bundled by esbuild for a browser, gzip -9; Portway with its wasm.",
  },
};
