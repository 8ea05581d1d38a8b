// Lists the compared libraries, in the order of the columns of the table. `module` is the name of the adapter in this
// folder and, except for Portway, the name of the package in node_modules.
//
// `typicalImport` has the exports that a page and its worker need for calls. `more` is a larger import. `wasm` is the
// wasm file of the library. `firstImportOfWorker` is a module that a worker imports before it loads the library.
//
// An adapter exports `serve`, `connectCaller` and `serveAndCall`, which use the library over an endpoint: as a server,
// as a client, and as both. `kind` is the kind of the endpoint: `port`, `worker`, `self` (in a worker), `frame` (the
// element of an iframe) or `parent` (in an iframe).

export const catalogue = [
  {
    module: "portway",
    title: "Portway",
    isPortway: true,
    typicalImport: `export { default, JSONRPCPeer, workerTransport } from "portway";`,
    more: { has: "`connect`", typicalImport: `export { default, connect } from "portway";` },
    wasm: "portway_bg.wasm",
    firstImportOfWorker: "portway/early",
  },
  {
    module: "comlink",
    title: "Comlink",
    typicalImport: `export { wrap, expose } from "comlink";`,
  },
  {
    module: "penpal",
    title: "Penpal",
    typicalImport: `export { connect, WorkerMessenger } from "penpal";`,
  },
  {
    module: "post-me",
    title: "post-me",
    typicalImport: `export { ParentHandshake, ChildHandshake, WorkerMessenger } from "post-me";`,
  },
  {
    module: "birpc",
    title: "birpc",
    typicalImport: `export { createBirpc } from "birpc";`,
  },
  {
    module: "vscode-jsonrpc",
    title: "vscode-jsonrpc",
    typicalImport: `export { createMessageConnection, BrowserMessageReader, BrowserMessageWriter }
      from "vscode-jsonrpc/browser";`,
  },
  {
    module: "json-rpc-2.0",
    title: "json-rpc-2.0",
    typicalImport: `export { JSONRPCServerAndClient, JSONRPCServer, JSONRPCClient } from "json-rpc-2.0";`,
  },
];
