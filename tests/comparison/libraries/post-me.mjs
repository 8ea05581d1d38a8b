// Adapts post-me to the probes. The adapter connects by the handshakes of post-me, with the default options. The caller
// is the parent of the handshake. The adapter has functions only for features that post-me has.

import { ChildHandshake, ParentHandshake, PortMessenger, WindowMessenger, WorkerMessenger } from "post-me";

/** post-me has no error class. This function sets the properties of an `Error`, as an application would. */
export function failure(code, message, data) {
  return Object.assign(new Error(message), { code, data });
}

export function serve(endpoint, methods, kind) {
  const connection = accept(endpoint, methods, kind);
  return { close: () => connection.then((connection) => connection.close()) };
}

export async function connectCaller(endpoint, kind) {
  return serveAndCall(endpoint, {}, kind);
}

export async function serveAndCall(endpoint, methods, kind) {
  return caller(await ParentHandshake(messenger(endpoint, kind), exposed(methods)));
}

/**
 * Like `serveAndCall`, but as the child of the handshake. Two peers can connect only if one is a parent and one is a
 * child.
 */
export async function serveAndCallAsChild(endpoint, methods, kind) {
  return caller(await accept(endpoint, methods, kind));
}

async function accept(endpoint, methods, kind) {
  const connection = await ChildHandshake(messenger(endpoint, kind), exposed(methods));
  for (const [method, handler] of Object.entries(methods)) {
    connection.remoteHandle().addEventListener(method, (params) => handler(params, {}));
    connection.localHandle().setReturnTransfer(method, (result) => transfers.get(result) ?? []);
  }
  return connection;
}

/** The transfer list of each result. post-me requests this list after the handler has returned the result. */
const transfers = new WeakMap();

function exposed(methods) {
  const exposed = {};
  for (const [method, handler] of Object.entries(methods)) {
    exposed[method] = (params, progress) =>
      handler(params, {
        progress,
        transfer(value, list) {
          transfers.set(value, list);
          return value;
        },
      });
  }
  return exposed;
}

function caller(connection) {
  const remote = connection.remoteHandle();
  return {
    call: (method, params) => remote.call(method, params),
    callForProgress: (method, params, onProgress) => remote.call(method, params, onProgress),
    callWithTransfer: (method, params, transfer) => remote.customCall(method, [params], { transfer }),
    notify: (method, params) => connection.localHandle().emit(method, params),
    close: () => connection.close(),
  };
}

const messengers = {
  port: (port) => new PortMessenger({ port }),
  worker: (worker) => new WorkerMessenger({ worker }),
  self: (worker) => new WorkerMessenger({ worker }),
  frame: ({ contentWindow }) => new WindowMessenger({ remoteWindow: contentWindow, remoteOrigin: location.origin }),
  parent: (remoteWindow) => new WindowMessenger({ remoteWindow, remoteOrigin: location.origin }),
};

function messenger(endpoint, kind = "port") {
  return messengers[kind](endpoint);
}
