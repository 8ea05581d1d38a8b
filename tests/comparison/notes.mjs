// The footnotes of the table, by behaviour and library. They explain outcomes that the probes have seen (`saw` in
// expected.json); an asterisk in place of a library is for the row.

export const notes = {
  unanswered: {
    portway: "After 10 s, with an error that names the method; each client and call can have another limit, or none.",
    penpal: "With `new CallOptions({ timeout })` as the last argument.",
    "json-rpc-2.0": "With `client.timeout(ms).request(…)`; the error does not name the method.",
  },
  close: {
    "json-rpc-2.0": "It does not know its channel: one calls `rejectAllPendingRequests`.",
  },
  "after-close": {
    "json-rpc-2.0": "A closed `MessagePort` takes messages in silence; one's own function that sends would have to refuse.",
  },
  "uncloneable-result": {
    "json-rpc-2.0": "Sending the reply fails where the handler runs; the caller waits.",
  },
  errors: {
    comlink: "As an `Error`, with its name and the stack of the other side.",
    penpal: "As an `Error`, with its name and the stack of the other side.",
    "vscode-jsonrpc": "If the handler throws a `ResponseError`.",
    "json-rpc-2.0": "If the handler throws a `JSONRPCErrorException`.",
  },
  cancel: {
    portway: "By an `AbortSignal`.",
    "vscode-jsonrpc": "By a `CancellationToken`: the handler is told, and the call waits for what it answers.",
  },
  progress: {
    comlink: "By a callback among the arguments, in `Comlink.proxy`.",
    "vscode-jsonrpc": "By `ProgressType` and a token that goes with the params.",
  },
  transfer: {
    "vscode-jsonrpc": "Its writer for browsers has no list of what to transfer; one can write another.",
    "json-rpc-2.0": "Through the function that sends, which one writes oneself.",
  },
  foreign: {
    "vscode-jsonrpc": "It sets `onmessage` of the port, and answers what looks like a call.",
    "json-rpc-2.0": "It complains of each message that is not its own, unless one filters them first.",
  },
  "slow-worker": {
    portway: "With `portway/early` as the first import of the worker.",
    penpal: "By its handshake, which either side may begin.",
  },
  size: {
    "*": "What joins a page to its worker, bundled by esbuild for a browser, gzip -9; Portway with its wasm.",
  },
};
