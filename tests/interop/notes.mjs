// The footnotes of the table, by death and library. They explain outcomes that were seen; an asterisk in place of a
// death is for the column.

const forWorkers = { "vscode-jsonrpc": "The `onError` of the connection hears of it." };

const limit = "With an error that names the method; each client and call can have another limit, or none.";

export const notes = {
  "*": {
    penpal:
      "A call gets a timeout by `new CallOptions({ timeout })` as its last argument, connecting by `timeout` of `connect`.",
    birpc: "Its `timeout` is 60 s unless one gives another. Channels are wired by hand, by `post` and `on`.",
    "vscode-jsonrpc": "For workers and ports; it has nothing for windows.",
    "json-rpc-2.0":
      "A call gets a timeout by `client.timeout(ms).request(…)`; the error does not name the method. Channels are wired by hand.",
  },
  silence: {
    "portway-connect": limit,
    portway: limit,
  },
  "worker-missing": {
    "post-me": "Its handshake gives up after five attempts, half a second.",
    ...forWorkers,
  },
  "worker-throws": {
    "post-me": "Its handshake gives up after five attempts, half a second.",
    ...forWorkers,
  },
  "other-closes": {
    comlink: "Nothing takes back `expose`.",
    "json-rpc-2.0": "It does not know its channel.",
  },
  "port-closed": {
    "portway-connect": "The session has a port of its own and goes on: later calls are answered.",
  },
  "own-close": {
    "json-rpc-2.0": "One calls `rejectAllPendingRequests`.",
  },
  "after-close": {
    "json-rpc-2.0":
      "A closed `MessagePort` takes messages in silence; one's own function that sends would have to refuse.",
  },
};
