// Adapts Portway to the probes, as the README of the package recommends, with the default options.

import init, {
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  RPCError,
  portTransport,
  selfTransport,
  windowTransport,
  workerTransport,
} from "../../../pkg/node.js";

await init();

const transports = {
  port: portTransport,
  worker: workerTransport,
  self: selfTransport,
  frame: ({ contentWindow }) => windowTransport(contentWindow),
  parent: windowTransport,
};

export const errorClass = RPCError;

export function failure(code, message, data) {
  return new RPCError(code, message, data);
}

export function serve(endpoint, methods, kind = "port") {
  const server = new JSONRPCServer(transports[kind](endpoint));
  register(server, methods);
  return { close: () => server.destroy() };
}

export async function connectCaller(endpoint, kind = "port") {
  return caller(new JSONRPCClient(transports[kind](endpoint)));
}

export async function serveAndCall(endpoint, methods) {
  const peer = new JSONRPCPeer(portTransport(endpoint));
  register(peer, methods);
  return caller(peer);
}

function register(server, methods) {
  for (const [method, handler] of Object.entries(methods)) {
    server.method(method, (params, context) =>
      handler(params, {
        onCancel: (onAbort) => context.signal.addEventListener("abort", onAbort),
        progress: context.progress,
        transfer(value, list) {
          context.transfer(list);
          return value;
        },
      }),
    );
  }
}

function caller(client) {
  return {
    call: (method, params, options) => client.request(method, params, options),
    callWithTimeout: (method, params, timeout) => client.request(method, params, { timeout }),
    callForProgress: (method, params, onProgress) => client.request(method, params, { onProgress }),
    callAndCancel: (method, params, signal) => client.request(method, params, { signal }),
    callWithTransfer: (method, params, transfer) => client.request(method, params, { transfer }),
    notify: (method, params) => client.notify(method, params),
    batch: async (calls) => (await client.batch(calls)).map(({ value }) => value),
    close: () => client.destroy(),
  };
}
