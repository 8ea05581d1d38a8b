// Adapts Penpal to the probes, by `connect` with its defaults. The adapter has functions only for features that Penpal
// has.

import { CallOptions, PortMessenger, Reply, WindowMessenger, WorkerMessenger, connect } from "penpal";

// Penpal is made for pages and calls `window.setTimeout`. Node has no `window`.
globalThis.window ??= globalThis;

/**
 * The error class of Penpal is for the errors of Penpal. This function sets the properties of an `Error`, as an
 * application would.
 */
export function failure(code, message, data) {
  return Object.assign(new Error(message), { code, data });
}

export function serve(endpoint, methods, kind) {
  const connection = start(endpoint, methods, kind);
  return { close: () => connection.destroy() };
}

export async function connectCaller(endpoint, kind, options) {
  return serveAndCall(endpoint, {}, kind, options);
}

export async function serveAndCall(endpoint, methods, kind, options) {
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
