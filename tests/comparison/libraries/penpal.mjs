// Penpal, as the probes use it: `connect` with its defaults. What it has no call for is not there.

import { CallOptions, PortMessenger, Reply, WorkerMessenger, connect } from "penpal";

// It is made for pages: its timeouts are those of `window`.
globalThis.window ??= globalThis;

/** Its class of errors is for its own; the properties are set as on any error of an application. */
export function failure(code, message, data) {
  return Object.assign(new Error(message), { code, data });
}

export function serve(endpoint, methods, kind) {
  start(endpoint, methods, kind);
}

export async function call(endpoint, kind) {
  return both(endpoint, {}, kind);
}

export async function both(endpoint, methods, kind) {
  const connection = start(endpoint, methods, kind);
  const remote = await connection.promise;
  return {
    call: (method, params) => remote[method](params),
    callWithTimeout: (method, params, timeout) => remote[method](params, new CallOptions({ timeout })),
    callWithTransfer: (method, params, transferables) => remote[method](params, new CallOptions({ transferables })),
    notify: (method, params) => remote[method](params),
    close: () => connection.destroy(),
  };
}

function start(endpoint, methods, kind = "port") {
  const messenger = kind === "port" ? new PortMessenger({ port: endpoint }) : new WorkerMessenger({ worker: endpoint });
  const exposed = {};
  for (const [method, handler] of Object.entries(methods)) {
    exposed[method] = (params) =>
      handler(params, { transfer: (value, transferables) => new Reply(value, { transferables }) });
  }
  return connect({ messenger, methods: exposed });
}
