// The footnotes of the table, by death and library. They explain observed outcomes. An asterisk in place of a
// death marks the note of a column.

const forWorkers = { "vscode-jsonrpc": "The connection reports the error to its `onError`." };

const limit = "The error names the method. Each client and each call can set another timeout, or none.";

export const notes = {
  "*": {
    penpal:
      "The timeout of a call is `new CallOptions({ timeout })` as its last argument, that of connecting is `timeout` of `connect`.",
    birpc: "Its `timeout` is 60 s by default. The application connects channels by `post` and `on`.",
    "vscode-jsonrpc": "It supports workers and ports, but not windows.",
    "json-rpc-2.0":
      "The timeout of a call is set by `client.timeout(ms).request(…)`. The error does not name the method. The application connects channels itself.",
  },
  silence: {
    "portway-connect": limit,
    portway: limit,
  },
  "worker-missing": {
    "post-me": "Its handshake fails after five attempts, which take half a second.",
    ...forWorkers,
  },
  "worker-throws": {
    "post-me": "Its handshake fails after five attempts, which take half a second.",
    ...forWorkers,
  },
  "other-closes": {
    comlink: "`expose` cannot be undone.",
    "json-rpc-2.0": "The library does not know its channel.",
  },
  "port-closed": {
    "portway-connect": "The session uses a port of its own and continues: later calls are answered.",
  },
  "own-close": {
    "json-rpc-2.0": "The application calls `rejectAllPendingRequests`.",
  },
  "after-close": {
    "json-rpc-2.0":
      "A closed `MessagePort` discards messages silently. The send function of the application would have to reject.",
  },
};
