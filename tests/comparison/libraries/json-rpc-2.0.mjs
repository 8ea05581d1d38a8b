// json-rpc-2.0, as the probes use it: wired to the port as its README wires it to a WebSocket. What it has no call for
// is not there.

import { JSONRPCClient, JSONRPCErrorException, JSONRPCServer, JSONRPCServerAndClient } from "json-rpc-2.0";

export const errorClass = JSONRPCErrorException;
/** It has no `close`; its README says which function to call when the channel closes. */
export const closedByHand = true;

export function failure(code, message, data) {
  return new JSONRPCErrorException(message, code, data);
}

export function serve(endpoint, methods) {
  start(endpoint, methods);
}

export async function call(endpoint) {
  return both(endpoint, {});
}

export async function both(endpoint, methods) {
  const serverAndClient = start(endpoint, methods);
  let lastId = 0;
  return {
    call: (method, params) => serverAndClient.request(method, params),
    callWithTimeout: (method, params, timeout) => serverAndClient.timeout(timeout).request(method, params),
    callWithTransfer: (method, params, transfer) => serverAndClient.request(method, params, { transfer }),
    notify: (method, params) => serverAndClient.notify(method, params),
    async batch(calls) {
      const requests = calls.map(({ notify, ...request }) => {
        return notify ? { jsonrpc: "2.0", ...request } : { jsonrpc: "2.0", id: `b${++lastId}`, ...request };
      });
      const responses = await serverAndClient.requestAdvanced(requests);
      return requests.map(({ id }) => responses.find((response) => id !== undefined && response.id === id)?.result);
    },
    close() {
      endpoint.close();
      serverAndClient.rejectAllPendingRequests("Connection is closed.");
    },
  };
}

function start(endpoint, methods) {
  const server = new JSONRPCServer();
  // The second parameter is what a caller of `request` passes on, so a transfer list can go that way.
  const client = new JSONRPCClient((message, options) => {
    try {
      endpoint.postMessage(message, options?.transfer ?? []);
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(error);
    }
  });
  const serverAndClient = new JSONRPCServerAndClient(server, client);
  for (const [method, handler] of Object.entries(methods)) {
    serverAndClient.addMethod(method, (params) => handler(params, {}));
  }
  endpoint.addEventListener("message", (event) => serverAndClient.receiveAndSend(event.data));
  endpoint.start?.();
  return serverAndClient;
}
