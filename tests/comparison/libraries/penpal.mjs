// Penpal, as the probes use it: `connect` with its defaults. Features without a call are left out.

import { CallOptions, PortMessenger, Reply, WindowMessenger, WorkerMessenger, connect } from "penpal";

// It is made for pages: its timeouts are those of `window`.
globalThis.window ??= globalThis;

/** Its class of errors is for its own; the properties are set as on any error of an application. */
export function failure(code, message, data) {
  return Object.assign(new Error(message), { code, data });
}

export function serve(endpoint, methods, kind) {
  const connection = start(endpoint, methods, kind);
  return { close: () => connection.destroy() };
}

export async function call(endpoint, kind, options) {
  return both(endpoint, {}, kind, options);
}

export async function both(endpoint, methods, kind, options) {
  const connection = start(endpoint, methods, kind, options);
  const remote = await connection.promise;
  return {
    call: (method, params) => remote[method](params),
    callWithTimeout: (method, params, timeout) => remote[method](params, new CallOptions({ timeout })),
    callWithTransfer: (method, params, transferables) => remote[method](params, new CallOptions({ transferables })),
    notify: (method, params) => remote[method](params),
    close: () => connection.destroy(),
  };
}

const messengers = {
  port: (port) => new PortMessenger({ port }),
  worker: (worker) => new WorkerMessenger({ worker }),
  self: (worker) => new WorkerMessenger({ worker }),
  frame: ({ contentWindow }) => new WindowMessenger({ remoteWindow: contentWindow }),
  parent: (remoteWindow) => new WindowMessenger({ remoteWindow }),
};

function start(endpoint, methods, kind = "port", { timeout } = {}) {
  const exposed = {};
  for (const [method, handler] of Object.entries(methods)) {
    exposed[method] = (params) =>
      handler(params, { transfer: (value, transferables) => new Reply(value, { transferables }) });
  }
  return connect({ messenger: messengers[kind](endpoint), methods: exposed, timeout });
}
