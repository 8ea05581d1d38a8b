// An adapter for json-rpc-2.0. It connects the library to a channel, as the README of json-rpc-2.0 does for a
// WebSocket. Calls have no timeout by default, so `callTimed` sets one.

import { JSONRPCClient, JSONRPCServer } from "json-rpc-2.0";
import { channelOf } from "./channel.mjs";

export function call(side) {
  const { post, listen } = channelOf(side);
  // The library passes the third argument of `request` to this function as `transfer`.
  const client = new JSONRPCClient((message, transfer) => {
    try {
      post(message, transfer);
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(error);
    }
  });
  listen((message) => client.receive(message));
  return {
    call: (method, params, transfer) => client.request(method, params, transfer),
    callTimed: (method, params) => client.timeout(60_000).request(method, params),
    notify: (method, params) => client.notify(method, params),
  };
}

export function serve(side, makeMethods) {
  const { post, listen } = channelOf(side);
  const server = new JSONRPCServer();
  for (const [name, handler] of Object.entries(makeMethods())) server.addMethod(name, (params) => handler(params));
  listen(async (message) => {
    const response = await server.receive(message);
    if (response) post(response);
  });
}
