// Adapts json-rpc-2.0 to the probes. The adapter uses the channel as the README of json-rpc-2.0 uses a WebSocket. The
// adapter has functions only for features that json-rpc-2.0 has.

import { JSONRPCClient, JSONRPCErrorException, JSONRPCServer, JSONRPCServerAndClient } from "json-rpc-2.0";
import { channelOf } from "./by-hand.mjs";

export const errorClass = JSONRPCErrorException;
/** json-rpc-2.0 has no `close`. Its README names the function that an application calls when the channel closes. */
export const closedByHand = true;

export function failure(code, message, data) {
  return new JSONRPCErrorException(message, code, data);
}

export function serve(endpoint, methods, kind) {
  start(channelOf(endpoint, kind), methods);
}

export async function connectCaller(endpoint, kind) {
  return serveAndCall(endpoint, {}, kind);
}

export async function serveAndCall(endpoint, methods, kind) {
  const channel = channelOf(endpoint, kind);
  const serverAndClient = start(channel, methods);
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
      channel.close();
      serverAndClient.rejectAllPendingRequests("Connection is closed.");
    },
  };
}

function start(channel, methods) {
  const server = new JSONRPCServer();
  // `options` is the last argument of `request`. The adapter passes the transfer list in this argument.
  const client = new JSONRPCClient((message, options) => {
    try {
      channel.post(message, options?.transfer ?? []);
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(error);
    }
  });
  const serverAndClient = new JSONRPCServerAndClient(server, client);
  for (const [method, handler] of Object.entries(methods)) {
    serverAndClient.addMethod(method, (params) => handler(params, {}));
  }
  channel.on((message) => serverAndClient.receiveAndSend(message));
  return serverAndClient;
}
