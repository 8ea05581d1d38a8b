// post-me, as the probes use it: the handshakes with their defaults; the caller is the parent. Features without a call
// are left out.

import { ChildHandshake, ParentHandshake, PortMessenger, WindowMessenger, WorkerMessenger } from "post-me";

/** It has no class of errors; the properties are set as on any error of an application. */
export function failure(code, message, data) {
  return Object.assign(new Error(message), { code, data });
}

export function serve(endpoint, methods, kind) {
  const connection = accept(endpoint, methods, kind);
  return { close: () => connection.then((connection) => connection.close()) };
}

export async function call(endpoint, kind) {
  return both(endpoint, {}, kind);
}

export async function both(endpoint, methods, kind) {
  return caller(await ParentHandshake(messenger(endpoint, kind), exposed(methods)));
}

/** The other end of `both`. */
export async function bothAsChild(endpoint, methods, kind) {
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

/** The library asks for a transfer list by method; these are stored by result. */
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
