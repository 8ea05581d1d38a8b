// Lists the footnotes of the table, by event and library. A footnote explains an observed outcome. An asterisk in place
// of an event marks the footnote of a column.

const forWorkers = { "vscode-jsonrpc": "The connection reports the error to `onError`." };

const limit = "The error names the method. Each client and each call can set another timeout, or none.";

export const notes = {
  "*": {
    penpal:
      "The last argument `new CallOptions({ timeout })` sets the timeout of a call. The option `timeout` of `connect` sets the timeout of connecting.",
    birpc: "The default `timeout` is 60 s. The application connects channels by `post` and `on`.",
    "vscode-jsonrpc": "The library supports workers and ports, but not windows.",
    "json-rpc-2.0":
      "The timeout of a call is set by `client.timeout(ms).request(…)`. The error does not name the method. The application connects channels itself.",
  },
  silence: {
    "portway-connect": limit,
    portway: limit,
  },
  "worker-missing": {
    "post-me": "The handshake fails after five attempts, which take half a second.",
    ...forWorkers,
  },
  "worker-throws": {
    "post-me": "The handshake fails after five attempts, which take half a second.",
    ...forWorkers,
  },
  "other-closes": {
    comlink: "`expose` cannot be undone.",
    "json-rpc-2.0": "The library does not know its channel.",
  },
  "port-closed": {
    "portway-connect": "The session uses its own port and continues. Later calls are answered.",
  },
  "own-close": {
    "json-rpc-2.0": "The application calls `rejectAllPendingRequests`.",
  },
  "after-close": {
    "json-rpc-2.0":
      "A closed `MessagePort` discards messages silently. The send function of the application would have to reject.",
  },
};
