// An adapter for the classes `JSONRPCClient` and `JSONRPCServer` of Portway, with or without coalescing.

import init, {
  JSONRPCClient,
  JSONRPCServer,
  portTransport,
  selfTransport,
  windowTransport,
  workerTransport,
} from "../../pkg/node.js";

export const transports = {
  port: ({ target }) => portTransport(target),
  worker: ({ target }) => workerTransport(target),
  self: () => selfTransport(),
  frame: ({ target, origin }) => windowTransport(target, { origin }),
  parent: ({ target, origin }) => windowTransport(target, { origin }),
};

await init();

export const TIMEOUT = 60_000;
/** The workload `pending` has 10 000 requests in flight; the default limit is 1 024. */
export const LIMITS = { inFlight: 1_000_000 };

export function caller(client) {
  return {
    call: (method, params, transfer) => client.request(method, params, transfer && { transfer }),
    notify: (method, params) => client.notify(method, params),
    async drain({ count, bytes, window }) {
      let sum = 0;
      for await (const { byteLength } of client.stream("chunks", { count, bytes }, { window })) sum += byteLength;
      return sum;
    },
  };
}

export function transferred(value, list, context) {
  context.transfer(list);
  return value;
}

export function plain(coalesce) {
  return {
    call: (side) => caller(new JSONRPCClient(transports[side.kind](side), { coalesce, timeout: TIMEOUT })),
    serve(side, makeMethods) {
      const server = new JSONRPCServer(transports[side.kind](side), { coalesce, limits: LIMITS });
      const { tick, ...methods } = makeMethods(transferred);
      for (const [name, handler] of Object.entries(methods)) server.method(name, handler);
      server.onNotify("tick", tick);
    },
  };
}
